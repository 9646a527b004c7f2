// Checkpoints: files in the safetensors format, which PyTorch reads and writes through the library
// of that name. [huggingface/safetensors, README "Format"]
//
// A file is eight bytes (the header's length N, little-endian), N bytes of JSON and the tensors'
// bytes. The header has for each tensor its dtype, shape and place; the places follow each other
// without holes. Reading believes nothing: what is not exactly so is an error that names the place.
// Everything here is host memory; docs/checkpoints.md says what a run writes. Threads: free
// functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ringside/dtype.h"

namespace ringside {

/// What the header says of a tensor.
struct SafetensorsEntry {
  std::string name;                 ///< "0.weight"
  std::string dtype;                ///< the format's name: "F32"
  std::vector<std::int64_t> shape;  ///< of any number of dimensions; a scalar has none
  std::size_t begin = 0;            ///< bytes, counted from the end of the header
  std::size_t end = 0;

  std::size_t bytes() const { return end - begin; }
};

using SafetensorsMetadata = std::map<std::string, std::string>;

/// A header: what there is to know of a file without its numbers.
struct SafetensorsHeader {
  SafetensorsMetadata metadata;           ///< "__metadata__"; texts alone
  std::vector<SafetensorsEntry> entries;  ///< in the order of their bytes
  std::size_t file_bytes = 0;

  /// Null if there is none.
  const SafetensorsEntry* find(std::string_view name) const;
};

/// A file with its numbers.
struct SafetensorsFile {
  SafetensorsHeader header;
  std::string data;  ///< little-endian, one tensor after the other

  std::span<const std::byte> bytes_of(const SafetensorsEntry& entry) const {
    return std::as_bytes(std::span(data)).subspan(entry.begin, entry.bytes());
  }
  /// Appends a tensor. Throws Error(kInvalidArgument) for a second one of that name, a name that is
  /// not UTF-8 or has a NUL, a dtype that the format does not have, or bytes that are not the
  /// shape's.
  void add(std::string name, std::string_view dtype, std::span<const std::int64_t> shape,
           std::span<const std::byte> bytes);

 private:
  std::unordered_set<std::string> names_;  // of the entries, as far as add() knows
};

/// The longest header that is read, as in the Rust library.
inline constexpr std::size_t kLongestSafetensorsHeader = 100'000'000;

/// "F32" of float32 and so on; the dtypes that Ringside does not have ("BOOL", "F8_E4M3", "I16")
/// are none.
std::string_view safetensors_dtype(DType dtype);
std::optional<DType> dtype_of_safetensors(std::string_view name);
/// Bytes of one element; none for a name that the format does not have.
std::optional<std::size_t> safetensors_element_bytes(std::string_view dtype);

/// What a file is, as its beginning tells.
enum class FileForm : std::uint8_t {
  kSafetensors,
  kOtherCheckpoint,  ///< a zip archive as of torch.save, a pickle, HDF5: reading it says which
  kOther             ///< anything else, such as a text
};
/// `start` has at least the first 16 bytes of a file of `file_bytes`, or all.
FileForm form_of_file(std::string_view start, std::size_t file_bytes);
/// kOther for what is no regular file, or cannot be read.
FileForm form_of_file(const std::string& path);

/// Reads a header alone, whatever the size of the file. Throws Error(kInvalidInput) with the file,
/// the place and what is wrong there: no such file, no regular file, truncated, a header that is
/// too long, no JSON, not UTF-8, with a key twice, with an unknown dtype, a negative or too large
/// size, a place that overlaps another's, leaves a hole, or lies outside of the file.
SafetensorsHeader read_safetensors_header(const std::string& path);
/// The same with the tensors' bytes.
SafetensorsFile read_safetensors(const std::string& path);
/// Of a file's bytes; `source_name` stands for the path in messages.
SafetensorsFile parse_safetensors(std::string_view bytes, const std::string& source_name);

/// The file as bytes: the header is padded with blanks, so that the tensors begin at a multiple of
/// eight; those with the larger elements come first, so that all are aligned. Of the metadata, what
/// is not UTF-8 becomes U+FFFD. Throws Error(kInvalidArgument) for entries made by hand that add()
/// would refuse or whose place is not in the data, and for a header that is too long to be read.
std::string to_safetensors(const SafetensorsFile& file);
/// Writes the whole file or nothing: to a temporary name, synced to the disk, then renamed. Throws
/// Error(kIo), and as to_safetensors.
void write_safetensors(const SafetensorsFile& file, const std::string& path);

}  // namespace ringside
