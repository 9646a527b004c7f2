#include "checkpoint/entry_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/clean_text.h"
#include "core/state_keys.h"
#include "ringside/error.h"

namespace ringside {
namespace {

[[noreturn]] void fail_as_damaged(const std::string& source_name, const std::string& what) {
  throw Error(ErrorKind::kInvalidInput, fmt::format("{}: {}", source_name, what),
              "the file is damaged, cut off, or was made by hand; write it again");
}

void check_size(const SafetensorsEntry& entry, const std::string& source_name) {
  const auto element = safetensors_element_bytes(entry.dtype);
  if (!element) {
    fail_as_damaged(source_name, fmt::format("'{}': dtype '{}' does not exist in the format",
                                             shown_name(entry.name), shown_name(entry.dtype)));
  }
  if (entry.begin > entry.end) {
    fail_as_damaged(source_name, fmt::format("'{}': its bytes begin at {} and end before it, at {}",
                                             shown_name(entry.name), entry.begin, entry.end));
  }
  const auto needed = bytes_of_shape(entry.dtype, entry.shape);
  if (needed && *needed == entry.bytes()) return;
  fail_as_damaged(
      source_name,
      fmt::format("'{}': {} of shape {} needs {}, but its place has {} bytes",
                  shown_name(entry.name), entry.dtype, shape_text(entry.shape),
                  needed ? fmt::format("{} bytes", *needed) : "more bytes than can be counted",
                  entry.bytes()));
}

}  // namespace

std::optional<std::size_t> bytes_of_shape(std::string_view dtype,
                                          std::span<const std::int64_t> shape) {
  const auto element = safetensors_element_bytes(dtype);
  if (!element) return std::nullopt;
  std::size_t bytes = *element;
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

void check_entries(SafetensorsHeader& header, std::size_t data_bytes,
                   const std::string& source_name) {
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::size_t filled = 0;
  const SafetensorsEntry* before = nullptr;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.name.empty()) {
      fail_as_damaged(source_name,
                      "the name of a tensor is empty, which no key of a state_dict is");
    }
    check_size(entry, source_name);
    if (entry.begin < filled) {
      fail_as_damaged(source_name,
                      fmt::format("'{}' at bytes {} to {} overlaps '{}' at {} to {}",
                                  shown_name(entry.name), entry.begin, entry.end,
                                  shown_name(before->name), before->begin, before->end));
    }
    if (entry.begin > filled) {
      fail_as_damaged(source_name,
                      fmt::format("bytes {} to {}, before '{}', belong to no tensor: a hole",
                                  filled, entry.begin, shown_name(entry.name)));
    }
    if (entry.end > data_bytes) {
      fail_as_damaged(source_name,
                      fmt::format("'{}' at bytes {} to {} lies outside of the file, which has {} "
                                  "bytes after its header: cut off?",
                                  shown_name(entry.name), entry.begin, entry.end, data_bytes));
    }
    filled = entry.end;
    before = &entry;
  }
  if (filled != data_bytes) {
    fail_as_damaged(source_name,
                    fmt::format("{} bytes at the end belong to no tensor", data_bytes - filled));
  }
}

}  // namespace ringside
