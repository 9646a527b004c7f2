// A small safetensors file, and files made by hand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/checkpoint.h"

namespace ringside::test {

/// Any JSON and any bytes as a file.
inline std::string file_of(std::string_view json, std::string_view data = {}) {
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes += static_cast<char>((json.size() >> (8 * i)) & 0xffU);
  return bytes.append(json).append(data);
}

/// Two matrices of float32, a counter of int64, a scalar, an empty tensor; with metadata.
inline SafetensorsFile small_file() {
  SafetensorsFile file;
  file.header.metadata = {{"format", "pt"}, {"ringside.step", "7"}};
  const std::array<float, 6> weight = {0.5F, -1, 2, 3.25F, 1e-30F, -0.0F};
  const std::array<std::int64_t, 1> counter = {1'000'000'000'000};
  const std::array<double, 1> scalar = {0.1};
  const auto add = [&](std::string name, std::string_view dtype, std::vector<std::int64_t> shape,
                       std::span<const std::byte> bytes) {
    file.add(std::move(name), dtype, shape, bytes);
  };
  add("0.weight", "F32", {2, 3}, std::as_bytes(std::span(weight)));
  add("1.num_batches_tracked", "I64", {}, std::as_bytes(std::span(counter)));
  add("0.bias", "F32", {3}, std::as_bytes(std::span(weight)).subspan(12));
  add("scalar", "F64", {}, std::as_bytes(std::span(scalar)));
  add("empty", "F32", {0, 4}, {});
  return file;
}

}  // namespace ringside::test
