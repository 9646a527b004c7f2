// The bytes of an input, one after the other: a file or memory, plain or gzip.
//
// Nothing is read ahead but one small buffer, so that what a header claims costs nothing until the
// bytes are there. Every fault is an Error(kInvalidInput) that names the input and the place.
// Threads: used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ringside {

class ByteStream {
 public:
  /// A regular file; gzip if its name ends in ".gz". Throws for a missing file, a directory, a file
  /// that cannot be opened.
  static ByteStream of_file(const std::string& path);
  /// gzip data in memory that outlives the stream; `name` is for messages.
  static ByteStream of_gzip(std::string name, std::span<const unsigned char> bytes);
  ByteStream(ByteStream&&) noexcept;
  ~ByteStream();

  /// Fills `out` with the next bytes and returns how many they were: fewer than asked for only at
  /// the end. Throws for damaged or truncated gzip data.
  std::size_t read(std::span<unsigned char> out);
  /// The next `count` bytes. Throws if there are fewer, saying how many; `what` names them
  /// ("60000 images of 28x28").
  std::vector<unsigned char> read_exactly(std::uint64_t count, const std::string& what);
  /// All that is left. Throws beyond `limit` bytes.
  std::vector<unsigned char> read_rest(std::uint64_t limit);
  /// Throws if anything is left.
  void expect_end();

  const std::string& name() const { return name_; }

 private:
  struct Impl;
  ByteStream(std::string name, std::unique_ptr<Impl> impl);
  std::string name_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ringside
