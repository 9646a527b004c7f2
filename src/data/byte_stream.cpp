#include "data/byte_stream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ringside/error.h"

namespace ringside {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, and a gzip header is required

[[noreturn]] void fail(const std::string& name, const std::string& fault, std::string hint = {}) {
  throw Error(ErrorKind::kInvalidInput, name + ": " + fault, std::move(hint));
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

struct ByteStream::Impl {
  ~Impl() {
    if (gzip) inflateEnd(&zlib);
  }

  std::unique_ptr<std::FILE, CloseFile> file;  // null: all input is in `input` from the beginning
  std::array<unsigned char, std::size_t{1} << 16> buffer{};
  std::span<const unsigned char> input;  // read, not yet given out or inflated
  std::uint64_t input_bytes = 0;         // read in all
  std::uint64_t output_bytes = 0;        // given out in all
  bool gzip = false;
  bool member_ended = false;
  z_stream zlib{};

  void begin_gzip(const std::string& name) {
    if (input.size() < 2 || input[0] != 0x1f || input[1] != 0x8b) {
      fail(name, fmt::format("is not gzip data: it begins with {:02x}, not with 1f8b",
                             fmt::join(input.first(std::min<std::size_t>(2, input.size())), "")));
    }
    if (inflateInit2(&zlib, kGzipWindow) != Z_OK) fail(name, "zlib cannot start");
    gzip = true;
  }

  // False at the end of the input.
  bool more_input(const std::string& name) {
    if (!input.empty()) return true;
    if (!file) return false;
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get());
    if (std::ferror(file.get()) != 0) {
      fail(name, fmt::format("cannot be read beyond byte {}: {}", input_bytes,
                             std::generic_category().message(errno)));
    }
    input = std::span(buffer).first(count);
    input_bytes += count;
    return count > 0;
  }

  std::size_t read_plain(std::span<unsigned char> out) {
    const std::size_t count = std::min(out.size(), input.size());
    std::copy_n(input.begin(), count, out.begin());
    input = input.subspan(count);
    return count;
  }

  // Inflates what it can of the present input.
  std::size_t read_gzip(const std::string& name, std::span<unsigned char> out) {
    if (member_ended) {  // another gzip member follows the last one
      inflateReset(&zlib);
      member_ended = false;
    }
    out = out.first(std::min(out.size(), kChunk));
    zlib.next_in = const_cast<unsigned char*>(input.data());  // zlib only reads it
    zlib.avail_in = static_cast<uInt>(std::min(input.size(), kChunk));
    zlib.next_out = out.data();
    zlib.avail_out = static_cast<uInt>(out.size());
    const uInt available = zlib.avail_in;
    const int status = inflate(&zlib, Z_NO_FLUSH);
    input = input.subspan(available - zlib.avail_in);
    if (status == Z_STREAM_END) {
      member_ended = true;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail(name, fmt::format("the gzip data is damaged after {} decompressed bytes: {}",
                             output_bytes + out.size() - zlib.avail_out,
                             zlib.msg != nullptr ? zlib.msg : fmt::format("error {}", status)));
    }
    return out.size() - zlib.avail_out;
  }
};

ByteStream::ByteStream(std::string name, std::unique_ptr<Impl> impl)
    : name_(std::move(name)), impl_(std::move(impl)) {}
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream::~ByteStream() = default;

ByteStream ByteStream::of_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) fail(path, "there is no such file");
  if (std::filesystem::is_directory(status)) fail(path, "is a directory, not a file");
  // A pipe could let the program wait for ever, a device could never end.
  if (!std::filesystem::is_regular_file(status)) fail(path, "is not a regular file");
  auto impl = std::make_unique<Impl>();
  impl->file.reset(std::fopen(path.c_str(), "rb"));
  if (!impl->file) {
    fail(path, fmt::format("cannot be opened: {}", std::generic_category().message(errno)));
  }
  if (!impl->more_input(path)) fail(path, "is empty");
  if (path.ends_with(".gz")) impl->begin_gzip(path);
  return ByteStream(path, std::move(impl));
}

ByteStream ByteStream::of_gzip(std::string name, std::span<const unsigned char> bytes) {
  auto impl = std::make_unique<Impl>();
  impl->input = bytes;
  impl->input_bytes = bytes.size();
  impl->begin_gzip(name);
  return ByteStream(std::move(name), std::move(impl));
}

std::size_t ByteStream::read(std::span<unsigned char> out) {
  std::size_t count = 0;
  while (count < out.size()) {
    if (!impl_->more_input(name_)) {
      if (impl_->gzip && !impl_->member_ended) {
        fail(name_, fmt::format("ends in the middle of its gzip data, after {} bytes ({} "
                                "decompressed): it is truncated",
                                impl_->input_bytes, impl_->output_bytes));
      }
      break;
    }
    const std::span<unsigned char> rest = out.subspan(count);
    const std::size_t part = impl_->gzip ? impl_->read_gzip(name_, rest) : impl_->read_plain(rest);
    count += part;
    impl_->output_bytes += part;
  }
  return count;
}

std::vector<unsigned char> ByteStream::read_exactly(std::uint64_t count, const std::string& what) {
  const std::uint64_t begin = impl_->output_bytes;
  std::vector<unsigned char> bytes;
  while (bytes.size() < count) {
    const std::size_t before = bytes.size();
    const std::size_t part = std::min<std::uint64_t>(count - before, kChunk);
    bytes.resize(before + part);
    const std::size_t got = read(std::span(bytes).subspan(before));
    if (got < part) {
      fail(name_, fmt::format("{} should take {} bytes from byte {} on, but only {} are there",
                              what, count, begin, before + got));
    }
  }
  return bytes;
}

std::vector<unsigned char> ByteStream::read_rest(std::uint64_t limit) {
  std::vector<unsigned char> bytes;
  while (true) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kChunk);
    const std::size_t got = read(std::span(bytes).subspan(before));
    bytes.resize(before + got);
    if (bytes.size() > limit) fail(name_, fmt::format("has more than {} bytes", limit));
    if (got < kChunk) return bytes;
  }
}

void ByteStream::expect_end() {
  std::array<unsigned char, 1> byte{};
  const std::uint64_t end = impl_->output_bytes;
  if (read(byte) != 0) fail(name_, fmt::format("goes on after byte {}, where it should end", end));
}

}  // namespace ringside
