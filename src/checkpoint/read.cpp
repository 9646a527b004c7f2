// From a file to its header and data.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <utility>

#include "checkpoint/entry_checks.h"
#include "checkpoint/header_reader.h"
#include "core/files.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"

namespace ringside {
namespace {

static_assert(std::endian::native == std::endian::little, "the bytes are used as they are");

constexpr std::size_t kLengthBytes = 8;

/// Other files that are taken for checkpoints, by how they begin.
std::string_view format_of(std::string_view bytes) {
  if (bytes.starts_with("PK\x03\x04")) return "a zip archive, such as torch.save writes";
  const bool is_pickle = bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
  if (is_pickle) return "a Python pickle";
  if (bytes.starts_with("\x89HDF")) return "an HDF5 file";
  return {};
}

[[noreturn]] void fail_reading(const std::string& source_name, const std::string& what,
                               std::string hint = {}) {
  if (hint.empty()) hint = "check that this is the file you mean, and that it was copied whole";
  throw Error(ErrorKind::kInvalidInput, fmt::format("{}: {}", source_name, what), std::move(hint));
}

/// The length of the header that the first bytes of a file tell.
std::uint64_t told_length(std::string_view start) {
  std::uint64_t length = 0;
  for (std::size_t i = std::min(start.size(), kLengthBytes); i-- > 0;) {
    length = (length << 8U) | static_cast<unsigned char>(start[i]);
  }
  return length;
}

/// The same, checked against the file's.
std::size_t header_length(std::string_view start, std::size_t file_bytes,
                          const std::string& source_name) {
  const std::uint64_t length = told_length(start);
  // Only now: a header of 640 bytes begins as a pickle does.
  const bool impossible = start.size() < kLengthBytes || length > kLongestSafetensorsHeader ||
                          length > file_bytes - kLengthBytes;
  if (const std::string_view other = format_of(start); impossible && !other.empty()) {
    fail_reading(source_name, fmt::format("is {}, not in the safetensors format", other),
                 "load it in PyTorch and write it with safetensors.torch.save_file");
  }
  if (start.size() < kLengthBytes) {
    fail_reading(source_name,
                 fmt::format("has {} bytes: a safetensors file begins with 8 for the length of "
                             "its header",
                             file_bytes));
  }
  if (length > kLongestSafetensorsHeader) {
    fail_reading(source_name, fmt::format("its header would have {} bytes, at most {} are read",
                                          length, kLongestSafetensorsHeader));
  }
  if (length > file_bytes - kLengthBytes) {
    fail_reading(source_name,
                 fmt::format("its header would have {} bytes, but the file ends after {}: cut "
                             "off?",
                             length, file_bytes - kLengthBytes));
  }
  return length;
}

SafetensorsHeader checked_header(std::string_view json, std::size_t file_bytes,
                                 const std::string& source_name) {
  if (!json.starts_with('{')) fail_reading(source_name, "its header does not begin with '{'");
  SafetensorsHeader header = read_header_json(json, source_name);
  check_entries(header, file_bytes - kLengthBytes - json.size(), source_name);
  header.file_bytes = file_bytes;
  return header;
}

/// Its size. What is no regular file may never end, or cannot be read twice.
std::size_t size_of_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) {
    read_whole_file(path);  // throws with the reason
  }
  if (!S_ISREG(status.st_mode)) fail_reading(path, "is not a regular file");
  return static_cast<std::size_t>(status.st_size);
}

/// Up to `count` bytes from the stream's place on.
std::string read_some(std::ifstream& in, std::size_t count) {
  std::string bytes(count, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

/// The header's JSON; the stream then stands behind it.
std::string read_header_bytes(std::ifstream& in, std::size_t file_bytes, const std::string& path) {
  const std::string start = read_some(in, kLengthBytes);
  const std::size_t length = header_length(start, file_bytes, path);
  std::string json = read_some(in, length);
  if (json.size() != length) fail_reading(path, "became shorter while it was read");
  return json;
}

std::ifstream open_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) read_whole_file(path);  // throws with the reason
  return in;
}

}  // namespace

const SafetensorsEntry* SafetensorsHeader::find(std::string_view name) const {
  for (const SafetensorsEntry& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

FileForm form_of_file(std::string_view start, std::size_t file_bytes) {
  const bool is_safetensors = start.size() > kLengthBytes && start[kLengthBytes] == '{' &&
                              told_length(start) <= kLongestSafetensorsHeader &&
                              told_length(start) <= file_bytes - kLengthBytes;
  if (is_safetensors) return FileForm::kSafetensors;
  return format_of(start).empty() ? FileForm::kOther : FileForm::kOtherCheckpoint;
}

FileForm form_of_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return FileForm::kOther;
  std::ifstream in(path, std::ios::binary);
  constexpr std::size_t kEnough = 16;
  return form_of_file(read_some(in, kEnough), static_cast<std::size_t>(status.st_size));
}

SafetensorsHeader read_safetensors_header(const std::string& path) {
  const std::size_t file_bytes = size_of_file(path);
  std::ifstream in = open_file(path);
  const std::string json = read_header_bytes(in, file_bytes, path);
  return checked_header(json, file_bytes, path);
}

SafetensorsFile read_safetensors(const std::string& path) {
  const std::size_t file_bytes = size_of_file(path);
  std::ifstream in = open_file(path);
  const std::string json = read_header_bytes(in, file_bytes, path);
  SafetensorsFile file;
  file.header = checked_header(json, file_bytes, path);
  const std::size_t data_bytes = file_bytes - kLengthBytes - json.size();
  file.data = read_some(in, data_bytes);
  if (file.data.size() != data_bytes) fail_reading(path, "became shorter while it was read");
  return file;
}

SafetensorsFile parse_safetensors(std::string_view bytes, const std::string& source_name) {
  const std::size_t length =
      header_length(bytes.substr(0, kLengthBytes), bytes.size(), source_name);
  SafetensorsFile file;
  file.header = checked_header(bytes.substr(kLengthBytes, length), bytes.size(), source_name);
  file.data = bytes.substr(kLengthBytes + length);
  return file;
}

}  // namespace ringside
