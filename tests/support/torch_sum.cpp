#include "support/torch_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace ringside::test {
namespace {

constexpr std::size_t kLanes = 4;    // doubles of a vector
constexpr std::size_t kVectors = 4;  // added independently of each other
constexpr std::size_t kColumns = kLanes * kVectors;
constexpr std::size_t kLevels = 4;

using Columns = std::array<double, kColumns>;

void add(Columns& sums, const double* values) {
  for (std::size_t column = 0; column < kColumns; ++column) sums[column] += values[column];
}

/// ceil(log2(rows)), 1 for less than 3.
std::size_t ceil_log2(std::size_t rows) {
  return rows <= 2 ? 1 : static_cast<std::size_t>(std::bit_width(rows - 1));
}

/// Every column of `rows` rows. A level takes 2^power sums of the one below it.
Columns column_sums(const double* values, std::size_t rows) {
  const std::size_t power = std::max<std::size_t>(4, ceil_log2(rows) / kLevels);
  const std::size_t step = std::size_t{1} << power;
  std::array<Columns, kLevels> levels{};
  std::size_t row = 0;
  while (row + step <= rows) {
    for (std::size_t i = 0; i < step; ++i) add(levels[0], values + kColumns * row++);
    for (std::size_t level = 1; level < kLevels; ++level) {
      add(levels[level], levels[level - 1].data());
      levels[level - 1] = {};
      if ((row & ((step - 1) << (level * power))) != 0) break;
    }
  }
  for (; row < rows; ++row) add(levels[0], values + kColumns * row);
  for (std::size_t level = 1; level < kLevels; ++level) add(levels[0], levels[level].data());
  return levels[0];
}

}  // namespace

double torch_sum(std::span<const double> values) {
  const std::size_t vectors = values.size() / kLanes;
  const std::size_t rows = vectors / kVectors;
  Columns sums = column_sums(values.data(), rows);
  for (std::size_t i = rows * kColumns; i < vectors * kLanes; ++i) sums[i % kLanes] += values[i];
  for (std::size_t i = kLanes; i < kColumns; ++i) sums[i % kLanes] += sums[i];
  double sum = 0;
  for (std::size_t i = vectors * kLanes; i < values.size(); ++i) sum += values[i];
  for (std::size_t lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  return sum;
}

}  // namespace ringside::test
