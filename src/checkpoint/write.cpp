// From header and data to a file.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "checkpoint/entry_checks.h"
#include "checkpoint/header_reader.h"
#include "core/clean_text.h"
#include "core/files.h"
#include "core/state_keys.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"

namespace ringside {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kAlignment = 8;

/// The entries' names are UTF-8, and each is there once.
std::string header_json(const SafetensorsMetadata& metadata,
                        const std::vector<SafetensorsEntry>& entries) {
  ordered_json::object_t json;  // emplace_back: operator[] looks at all keys before it adds one
  if (!metadata.empty()) json.emplace_back(kMetadataName, metadata);
  for (const SafetensorsEntry& entry : entries) {
    json.emplace_back(entry.name, ordered_json{{"dtype", entry.dtype},
                                               {"shape", entry.shape},
                                               {"data_offsets", {entry.begin, entry.end}}});
  }
  std::string text =
      ordered_json(std::move(json)).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  if (text.size() <= kLongestSafetensorsHeader) return text;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("safetensors: the header would have {} bytes, at most {} are read",
                          text.size(), kLongestSafetensorsHeader),
              "write fewer tensors into one file");
}

[[noreturn]] void refuse(const std::string& problem) {
  throw Error(ErrorKind::kInvalidArgument, "safetensors: " + problem);
}

bool is_utf8(const std::string& text) {
  try {
    ordered_json(text).dump();
    return true;
  } catch (const ordered_json::exception&) {
    return false;
  }
}

void check_name(const std::string& name) {
  if (name.empty()) refuse("a name is empty, which no key of a state_dict is");
  if (name == kMetadataName)
    refuse(fmt::format("the name '{}' is taken already", shown_name(name)));
  if (!is_utf8(name)) {
    refuse(fmt::format(
        "the name {} is not UTF-8",
        ordered_json(name).dump(-1, ' ', true, ordered_json::error_handler_t::replace)));
  }
  if (name.find('\0') != std::string::npos)
    refuse(fmt::format("the name '{}' has a NUL", shown_name(name)));
}

void check_bytes(const std::string& name, std::string_view dtype,
                 std::span<const std::int64_t> shape, std::size_t bytes) {
  const auto needed = bytes_of_shape(dtype, shape);
  if (needed && *needed == bytes) return;
  refuse(fmt::format("'{}', {} of shape {}, cannot have {} bytes", shown_name(name), dtype,
                     shape_text(shape), bytes));
}

/// Entries may have been made by hand.
void check(const SafetensorsFile& file) {
  std::unordered_set<std::string_view> names;
  for (const SafetensorsEntry& entry : file.header.entries) {
    check_name(entry.name);
    if (!names.insert(entry.name).second) {
      refuse(fmt::format("the name '{}' is taken already", shown_name(entry.name)));
    }
    if (entry.begin > entry.end || entry.end > file.data.size()) {
      refuse(fmt::format("'{}' at bytes {} to {} does not lie in the data, which have {}",
                         shown_name(entry.name), entry.begin, entry.end, file.data.size()));
    }
    check_bytes(entry.name, entry.dtype, entry.shape, entry.bytes());
  }
}

}  // namespace

void SafetensorsFile::add(std::string name, std::string_view dtype,
                          std::span<const std::int64_t> shape, std::span<const std::byte> bytes) {
  if (names_.size() != header.entries.size()) {  // some were not added here
    names_.clear();
    for (const SafetensorsEntry& entry : header.entries) names_.insert(entry.name);
  }
  check_name(name);
  check_bytes(name, dtype, shape, bytes.size());
  if (!names_.insert(name).second)
    refuse(fmt::format("the name '{}' is taken already", shown_name(name)));
  const std::size_t begin = data.size();
  header.entries.push_back({std::move(name),
                            std::string(dtype),
                            {shape.begin(), shape.end()},
                            begin,
                            begin + bytes.size()});
  data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string to_safetensors(const SafetensorsFile& file) {
  check(file);
  std::vector<SafetensorsEntry> entries = file.header.entries;
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return safetensors_element_bytes(a.dtype) > safetensors_element_bytes(b.dtype);
  });
  std::string data;
  data.reserve(file.data.size());
  for (SafetensorsEntry& entry : entries) {
    const std::size_t begin = data.size();
    data.append(file.data, entry.begin, entry.bytes());
    entry.end = begin + entry.bytes();
    entry.begin = begin;
  }
  const std::string json = header_json(file.header.metadata, entries);
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) {
    bytes += static_cast<char>((json.size() >> (8 * i)) & 0xffU);
  }
  return bytes + json + data;
}

void write_safetensors(const SafetensorsFile& file, const std::string& path) {
  write_whole_file(path, to_safetensors(file), Durability::kSynced);
}

}  // namespace ringside
