// MNIST's files in the IDX format: a magic number, the sizes (32 bits, big-endian), then one byte
// per value. Plain or gzip.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "data/byte_stream.h"
#include "data/datasets.h"
#include "ringside/error.h"

namespace ringside {
namespace {

constexpr std::int64_t kClasses = 10;
constexpr std::uint32_t kUnsignedBytes = 0x0800;  // the magic number, less the number of dimensions

struct Idx {
  std::string path;
  std::vector<std::int64_t> sizes;
  std::vector<unsigned char> values;
};

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

Idx read_idx(const std::string& path, std::size_t dimensions) {
  ByteStream stream = ByteStream::of_file(path);
  const auto expected = static_cast<std::uint32_t>(kUnsignedBytes + dimensions);
  const std::vector<unsigned char> head = stream.read_exactly(4, "the magic number");
  if (big_endian(head.data()) != expected) {
    const bool gzip = head[0] == 0x1f && head[1] == 0x8b;
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: begins with {:#010x}; an IDX file of bytes with {} dimension{} "
                            "begins with {:#010x}",
                            path, big_endian(head.data()), dimensions, dimensions == 1 ? "" : "s",
                            expected),
                gzip ? "it is gzip data: give the file a name that ends in .gz" : "");
  }
  Idx idx{path, {}, {}};
  const std::vector<unsigned char> sizes = stream.read_exactly(4 * dimensions, "the sizes");
  for (std::size_t i = 0; i < dimensions; ++i) idx.sizes.push_back(big_endian(&sizes[4 * i]));
  std::int64_t count = 1;
  for (const std::int64_t size : idx.sizes) {
    if (size == 0 || size > kMaxDatasetValues / count) {
      throw Error(ErrorKind::kInvalidInput,
                  fmt::format("{}: its header claims {} values: must be 1 to {}", path,
                              fmt::join(idx.sizes, "x"), kMaxDatasetValues));
    }
    count *= size;
  }
  idx.values = stream.read_exactly(static_cast<std::uint64_t>(count),
                                   fmt::format("{} values", fmt::join(idx.sizes, "x")));
  stream.expect_end();
  return idx;
}

/// The file in `directory` with one of the names that are in use for `part` ("train-images") and
/// `kind` ("idx3-ubyte").
std::string find_file(const std::string& directory, const std::string& part,
                      const std::string& kind) {
  const std::vector<std::string> names = {part + "-" + kind, part + "-" + kind + ".gz",
                                          part + "." + kind, part + "." + kind + ".gz"};
  for (const std::string& name : names) {
    const std::filesystem::path path = std::filesystem::path(directory) / name;
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path.string();
  }
  throw Error(
      ErrorKind::kInvalidInput,
      fmt::format("mnist:{}: none of {} is there", directory, fmt::join(names, ", ")),
      "put MNIST's four files there (images and labels of the parts 'train' and 't10k'), plain or "
      "gzip");
}

Dataset load_part(const std::string& directory, const std::string& part) {
  const Idx images = read_idx(find_file(directory, part + "-images", "idx3-ubyte"), 3);
  const Idx labels = read_idx(find_file(directory, part + "-labels", "idx1-ubyte"), 1);
  if (images.sizes[0] != labels.sizes[0]) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{} has {} images but {} has {} labels", images.path, images.sizes[0],
                            labels.path, labels.sizes[0]));
  }
  Dataset dataset{"mnist", Shape{1, images.sizes[1], images.sizes[2]}, kClasses, {}, {}};
  dataset.samples.resize(images.values.size());
  std::transform(images.values.begin(), images.values.end(), dataset.samples.begin(),
                 [](unsigned char pixel) { return static_cast<float>(pixel) / 255; });
  for (std::size_t i = 0; i < labels.values.size(); ++i) {
    if (labels.values[i] >= kClasses) {
      throw Error(ErrorKind::kInvalidInput,
                  fmt::format("{}: label {} of sample {} (byte {}): must be 0 to {}", labels.path,
                              labels.values[i], i, 8 + i, kClasses - 1));
    }
    dataset.targets.push_back(labels.values[i]);
  }
  return dataset;
}

}  // namespace

TrainTest load_mnist(const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("mnist:{}: there is no such directory", directory));
  }
  TrainTest data{load_part(directory, "train"), load_part(directory, "t10k")};
  if (data.train.sample_shape != data.test.sample_shape) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("mnist:{}: training images are {} but test images {}", directory,
                            to_string(data.train.sample_shape), to_string(data.test.sample_shape)));
  }
  return data;
}

}  // namespace ringside
