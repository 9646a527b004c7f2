// The format's element types. [safetensors/src/tensor.rs, Dtype]
#include <algorithm>
#include <array>
#include <utility>

#include "ringside/checkpoint.h"

namespace ringside {
namespace {

struct Row {
  std::string_view name;
  std::size_t bytes;
  std::optional<DType> dtype;
};

constexpr auto kRows = std::to_array<Row>({
    {"F32", 4, DType::kFloat32},
    {"F64", 8, DType::kFloat64},
    {"F16", 2, DType::kFloat16},
    {"BF16", 2, DType::kBFloat16},
    {"I64", 8, DType::kInt64},
    {"I32", 4, DType::kInt32},
    {"U8", 1, DType::kUInt8},
    {"BOOL", 1, std::nullopt},
    {"I8", 1, std::nullopt},
    {"I16", 2, std::nullopt},
    {"U16", 2, std::nullopt},
    {"U32", 4, std::nullopt},
    {"U64", 8, std::nullopt},
    {"F8_E4M3", 1, std::nullopt},
    {"F8_E5M2", 1, std::nullopt},
    {"F8_E8M0", 1, std::nullopt},
    {"C64", 8, std::nullopt},
});

const Row* row_of(std::string_view name) {
  const auto* const found =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.name == name; });
  return found == kRows.end() ? nullptr : found;
}

}  // namespace

std::string_view safetensors_dtype(DType dtype) {
  const auto* const found =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.dtype == dtype; });
  return found->name;
}

std::optional<DType> dtype_of_safetensors(std::string_view name) {
  const Row* const row = row_of(name);
  return row == nullptr ? std::nullopt : row->dtype;
}

std::optional<std::size_t> safetensors_element_bytes(std::string_view dtype) {
  const Row* const row = row_of(dtype);
  if (row == nullptr) return std::nullopt;
  return row->bytes;
}

}  // namespace ringside
