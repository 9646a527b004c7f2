// Reads the reference numbers in tests/oracles: lines of words; '#' begins a comment line.

#pragma once

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace ringside::test {

using OracleLine = std::vector<std::string>;

/// The lines of tests/oracles/`name`, comments and empty lines left out. Throws if it is not there.
inline std::vector<OracleLine> oracle_lines(const std::string& name) {
  const std::string path = std::string(RINGSIDE_TEST_DATA_DIR) + "/oracles/" + name;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<OracleLine> lines;
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    OracleLine line;
    for (std::string word; words >> word;) line.push_back(word);
    if (!line.empty() && line[0][0] != '#') lines.push_back(std::move(line));
  }
  return lines;
}

/// Words from `first` on (up to `last`, if given) as integers.
inline std::vector<std::int64_t> oracle_integers(const OracleLine& line, std::size_t first,
                                                 std::size_t last = SIZE_MAX) {
  std::vector<std::int64_t> values;
  for (std::size_t i = first; i < line.size() && i < last; ++i) {
    values.push_back(std::stoll(line[i]));
  }
  return values;
}

/// Words from `first` on (up to `last`, if given) as numbers; those of float32 must be read as
/// such, since their decimals are the shortest that round-trip through float32.
inline std::vector<double> oracle_numbers(const OracleLine& line, std::size_t first, bool float32,
                                          std::size_t last = SIZE_MAX) {
  std::vector<double> values;
  for (std::size_t i = first; i < line.size() && i < last; ++i) {
    values.push_back(float32 ? std::strtof(line[i].c_str(), nullptr)
                             : std::strtod(line[i].c_str(), nullptr));
  }
  return values;
}

/// A check of values against "full V...", "digest N SUM ABS_SUM SQUARE_SUM V...", or
/// "integer-digest SUM V..." from word `at` on; empty if they agree.
inline std::string compare_with_oracle(const std::vector<double>& values, const OracleLine& line,
                                       std::size_t at, bool float32) {
  const std::string& kind = line.at(at);
  const auto expect_part = [&](const std::vector<double>& expected, std::size_t offset) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (values.at(offset + i) == expected[i]) continue;
      std::ostringstream text;
      text.precision(17);
      text << "element " << offset + i << " is " << values[offset + i] << ", not " << expected[i];
      return text.str();
    }
    return std::string();
  };
  if (kind == "full") {
    const std::vector<double> expected = oracle_numbers(line, at + 1, float32);
    if (expected.size() != values.size()) return "another number of values";
    return expect_part(expected, 0);
  }
  const std::size_t sums = kind == "digest" ? 4 : 1;
  const std::vector<double> ends = oracle_numbers(line, at + 1 + sums, float32);
  const std::size_t half = ends.size() / 2;
  const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(half);
  std::string difference = expect_part({ends.begin(), middle}, 0);
  if (difference.empty()) {
    difference = expect_part({middle, ends.end()}, values.size() - (ends.size() - half));
  }
  if (!difference.empty()) return difference;

  double sum = 0;
  double absolute_sum = 0;
  double square_sum = 0;
  double index_sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    absolute_sum += values[i] < 0 ? -values[i] : values[i];
    square_sum += values[i] * values[i];
    index_sum += static_cast<double>(i) * values[i];
  }
  const std::vector<double> expected = oracle_numbers(line, at + 1, false, at + 1 + sums);
  const std::vector<double> found =
      kind == "digest"
          ? std::vector<double>{static_cast<double>(values.size()), sum, absolute_sum, square_sum}
          : std::vector<double>{index_sum};
  for (std::size_t i = 0; i < found.size(); ++i) {
    // Only the order of additions may differ.
    const double tolerance = kind == "digest" ? 1e-12 * expected[sums / 2] : 0;
    const double error = found[i] - expected[i];
    if (error > tolerance || error < -tolerance) return "sum " + std::to_string(i) + " differs";
  }
  return {};
}

}  // namespace ringside::test
