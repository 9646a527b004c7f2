// Bodies of dtype.h.
#include "ringside/dtype.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "core/names.h"

namespace ringside {
namespace {

constexpr NameTable<DType, 7> kDTypeNames{{{DType::kFloat32, "float32"},
                                           {DType::kFloat64, "float64"},
                                           {DType::kInt32, "int32"},
                                           {DType::kInt64, "int64"},
                                           {DType::kFloat16, "float16"},
                                           {DType::kBFloat16, "bfloat16"},
                                           {DType::kUInt8, "uint8"}}};

}  // namespace

std::size_t size_of(DType dtype) {
  return visit_dtype(dtype, []<typename T>() { return sizeof(T); });
}

std::string_view to_string(DType dtype) { return name_of(kDTypeNames, dtype); }

DType parse_dtype(std::string_view name) { return parse_name(kDTypeNames, "dtype", name); }

bool is_floating(DType dtype) {
  return is_trainable(dtype) || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

bool is_trainable(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; }

Shape::Shape(std::initializer_list<std::int64_t> sizes)
    : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const std::int64_t> sizes) : rank_(sizes.size()) {
  if (sizes.size() > kMaxRank) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("shape [{}]: {} dimensions, at most {} are supported",
                            fmt::join(sizes, ", "), sizes.size(), kMaxRank));
  }
  std::int64_t total = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("shape [{}]: dimension {} is negative", fmt::join(sizes, ", "), i));
    }
    // Keeps numel() and byte sizes from overflowing, also for hostile files.
    constexpr std::int64_t kLimit = std::numeric_limits<std::int64_t>::max() / 16;
    if (sizes[i] > 0 && total > kLimit / sizes[i]) {
      throw Error(
          ErrorKind::kInvalidArgument,
          fmt::format("shape [{}]: more elements than can be counted", fmt::join(sizes, ", ")));
    }
    if (sizes[i] > 0) total *= sizes[i];
    sizes_[i] = sizes[i];
  }
}

std::int64_t Shape::operator[](std::int64_t dim) const {
  const auto rank = static_cast<std::int64_t>(rank_);
  if (dim < -rank || dim >= rank) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("dimension {} of shape {}: must be in [{}, {}]", dim, to_string(*this),
                            -rank, rank - 1));
  }
  return sizes_[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)];
}

std::int64_t Shape::numel() const {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < rank_; ++i) product *= sizes_[i];
  return product;
}

Shape Shape::with(std::int64_t dim, std::int64_t size) const {
  (*this)[dim];  // checks the dimension
  Shape result = *this;
  const auto rank = static_cast<std::int64_t>(rank_);
  result.sizes_[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)] = size;
  return Shape(result.sizes());
}

std::string to_string(const Shape& shape) {
  if (shape.rank() == 0) return "scalar";
  return fmt::format("{}", fmt::join(shape.sizes(), "x"));
}

}  // namespace ringside
