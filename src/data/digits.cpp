// The digits that are shipped with the program: 1,797 handwritten digits of 8x8 pixels
// (data/README.md has the attribution).

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/whole_number.h"
#include "data/byte_stream.h"
#include "data/datasets.h"
#include "data/embedded_digits.h"
#include "ringside/error.h"

namespace ringside {
namespace {

constexpr std::int64_t kPixels = 64;
constexpr int kLargestPixel = 16;
constexpr int kLargestLabel = 9;
constexpr std::int64_t kRows = 1797;
constexpr std::int64_t kTrainRows = 1536;

/// The number in one cell, if it is one from 0 to `largest`.
std::optional<int> parse_cell(std::string_view cell, int largest) {
  const std::optional<int> value = whole_number<int>(cell);
  return value && *value >= 0 && *value <= largest ? value : std::nullopt;
}

void parse_row(const std::string& name, std::int64_t line, std::string_view row, Dataset& dataset) {
  const std::int64_t cells = std::count(row.begin(), row.end(), ',') + 1;
  if (cells != kPixels + 1) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: line {}: {} values; a row is {} pixels and a label", name, line,
                            cells, kPixels));
  }
  for (std::int64_t column = 0; column <= kPixels; ++column) {
    const bool is_label = column == kPixels;
    const int largest = is_label ? kLargestLabel : kLargestPixel;
    const std::size_t comma = row.find(',');
    const std::string_view cell = row.substr(0, comma);
    const std::optional<int> value = parse_cell(cell, largest);
    if (!value) {
      throw Error(ErrorKind::kInvalidInput,
                  fmt::format("{}: line {}, column {}: '{}' is not a whole number from 0 to {}",
                              name, line, column + 1, cell, largest));
    }
    if (is_label) {
      dataset.targets.push_back(*value);
    } else {
      dataset.samples.push_back(static_cast<float>(*value) / kLargestPixel);
      row.remove_prefix(comma + 1);
    }
  }
}

Dataset rows_of(const Dataset& all, std::int64_t begin, std::int64_t end) {
  Dataset part{all.name, all.sample_shape, all.classes, {}, {}};
  part.samples.assign(all.samples.begin() + begin * kPixels, all.samples.begin() + end * kPixels);
  part.targets.assign(all.targets.begin() + begin, all.targets.begin() + end);
  return part;
}

}  // namespace

Dataset parse_digits_csv(const std::string& name, std::string_view text) {
  Dataset dataset{"digits", Shape{kPixels}, kLargestLabel + 1, {}, {}};
  for (std::int64_t line = 1; !text.empty(); ++line) {
    const std::size_t newline = text.find('\n');
    std::string_view row = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (row.ends_with('\r')) row.remove_suffix(1);
    parse_row(name, line, row, dataset);
  }
  return dataset;
}

TrainTest load_digits() {
  const std::string name = "digits.csv.gz (built in)";
  const std::vector<unsigned char> bytes =
      ByteStream::of_gzip(name, embedded_digits_gz()).read_rest(std::uint64_t{1} << 24);
  const Dataset all =
      parse_digits_csv(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (all.size() != kRows) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: {} rows instead of {}", name, all.size(), kRows));
  }
  return {rows_of(all, 0, kTrainRows), rows_of(all, kTrainRows, kRows)};
}

}  // namespace ringside
