// From header and data to a file.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint/entry_checks.h"
#include "core/clean_text.h"
#include "core/files.h"
#include "core/state_keys.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"

namespace ringside {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kAlignment = 8;

std::string header_json(const SafetensorsMetadata& metadata,
                        const std::vector<SafetensorsEntry>& entries) {
  ordered_json json = ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  for (const SafetensorsEntry& entry : entries) {
    json[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  return text;
}

}  // namespace

void SafetensorsFile::add(std::string name, std::string_view dtype,
                          std::span<const std::int64_t> shape, std::span<const std::byte> bytes) {
  if (header.find(name) != nullptr || name == "__metadata__") {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("safetensors: the name '{}' is taken already", shown_name(name)));
  }
  const auto needed = bytes_of_shape(dtype, shape);
  if (!needed || *needed != bytes.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("safetensors: '{}', {} of shape {}, cannot have {} bytes",
                            shown_name(name), dtype, shape_text(shape), bytes.size()));
  }
  const std::size_t begin = data.size();
  header.entries.push_back({std::move(name),
                            std::string(dtype),
                            {shape.begin(), shape.end()},
                            begin,
                            begin + bytes.size()});
  data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string to_safetensors(const SafetensorsFile& file) {
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
