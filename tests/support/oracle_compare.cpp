// Comparing with the numbers of oracle files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "support/oracle.h"
#include "support/torch_sum.h"

namespace ringside::test {
namespace {

double number(const Json& json, DType dtype) {
  if (json.is_string()) {
    const auto word = json.get<std::string>();
    const double infinity = std::numeric_limits<double>::infinity();
    if (word == "inf") return infinity;
    if (word == "-inf") return -infinity;
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    throw std::runtime_error("'" + word + "' is not a number");
  }
  const auto value = exactly<double>(json);
  return dtype == DType::kFloat32 ? static_cast<double>(static_cast<float>(value)) : value;
}

bool agree(double value, double expected, Tolerance tolerance) {
  if (value == expected || (std::isnan(value) && std::isnan(expected))) return true;
  return std::abs(value - expected) <= tolerance.relative * std::abs(expected) + tolerance.absolute;
}

/// Of `expected` against the values from `offset` on.
std::string part_difference(std::span<const double> values, std::size_t offset,
                            std::span<const double> expected, Tolerance tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (agree(values[offset + i], expected[i], tolerance)) continue;
    return fmt::format("element {} is {}, not {}", offset + i, values[offset + i], expected[i]);
  }
  return {};
}

std::string first_of(std::initializer_list<std::string> differences) {
  for (const std::string& difference : differences) {
    if (!difference.empty()) return difference;
  }
  return {};
}

/// Of the numbers that stand for a whole tensor: `values`' own against the digest's `field`. As
/// elements may each be off by their tolerance, what is strictly right allows a sum
/// relative * abs_sum + n * absolute. One element's tolerance is stricter, and errors of both signs
/// leave room for it; nearer to zero than `absolute` a sum says nothing.
std::string sum_difference(Record& digest, const char* field, double value, Tolerance tolerance) {
  const auto expected = digest.get<double>(field);
  if (agree(value, expected, tolerance)) return {};
  return fmt::format("{} is {}, not {}", field, value, expected);
}

/// sum(i * values[i]) of whole numbers, modulo 2^64 as int64 tensors have it.
std::int64_t weighted_sum(std::span<const double> values) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += i * static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i]));
  }
  return static_cast<std::int64_t>(sum);
}

std::string ends_difference(std::span<const double> values, Record& digest, DType dtype,
                            Tolerance tolerance) {
  const std::vector<double> first = oracle_values(digest["first"], dtype);
  const std::vector<double> last = oracle_values(digest["last"], dtype);
  const auto n = digest.get<std::size_t>("n");
  if (values.size() != n) return fmt::format("{} values, not {}", values.size(), n);
  const auto whole = [&](std::size_t ends) { return std::min(ends, n); };
  if (first.size() != last.size() || (first.size() != whole(8) && first.size() != whole(16))) {
    return fmt::format("{} first and {} last values in a digest of {}", first.size(), last.size(),
                       n);
  }
  return first_of({part_difference(values, 0, first, tolerance),
                   part_difference(values, n - last.size(), last, tolerance)});
}

std::string digest_difference(std::span<const double> values, Record& digest, DType dtype,
                              Tolerance tolerance) {
  std::string ends = ends_difference(values, digest, dtype, tolerance);
  if (dtype == DType::kInt64) {
    const auto expected = digest.get<std::int64_t>("sum_i_times_v");
    const std::int64_t weighted = weighted_sum(values);
    if (!ends.empty() || weighted == expected) return ends;
    return fmt::format("sum of i * v is {}, not {}", weighted, expected);
  }
  std::vector<double> absolutes, squares;
  for (const double value : values) {
    absolutes.push_back(std::abs(value));
    squares.push_back(value * value);
  }
  return first_of({ends, sum_difference(digest, "sum", torch_sum(values), tolerance),
                   sum_difference(digest, "abs_sum", torch_sum(absolutes), tolerance),
                   sum_difference(digest, "sq_sum", torch_sum(squares), tolerance)});
}

}  // namespace

Tolerance training_tolerance(DType dtype) {
  return dtype == DType::kFloat32 ? Tolerance{2e-5, 2e-6} : Tolerance{1e-11, 1e-11};
}

Tolerance optimizer_tolerance(DType dtype) {
  return dtype == DType::kFloat32 ? Tolerance{1e-6, 1e-7} : Tolerance{1e-13, 1e-13};
}

std::vector<double> oracle_values(const Json& json, DType dtype) {
  if (!json.is_array()) return {number(json, dtype)};
  std::vector<double> values;
  values.reserve(json.size());
  for (const Json& entry : json) values.push_back(number(entry, dtype));
  return values;
}

std::string difference(std::span<const double> values, const Json& expected, DType dtype,
                       Tolerance tolerance) {
  if (expected.is_object()) {
    Record digest(expected, "digest");
    return digest_difference(values, digest, dtype, tolerance);
  }
  const std::vector<double> wanted = oracle_values(expected, dtype);
  if (values.size() != wanted.size()) {
    return fmt::format("{} values, not {}", values.size(), wanted.size());
  }
  return part_difference(values, 0, wanted, tolerance);
}

void expect_values(std::span<const double> values, const Json& expected, DType dtype,
                   Tolerance tolerance, const std::string& what) {
  EXPECT_EQ(difference(values, expected, dtype, tolerance), "") << what;
}

void expect_tensors(const std::vector<NamedTensor>& tensors, const Json& expected,
                    Tolerance tolerance, const std::string& what) {
  EXPECT_EQ(tensors.size(), expected.size()) << what;
  for (const NamedTensor& entry : tensors) {
    const auto found = expected.find(entry.name);
    if (found == expected.end()) {
      ADD_FAILURE() << what << ": PyTorch has no " << entry.name;
    } else if (found->is_null() || !entry.tensor.defined()) {
      EXPECT_EQ(found->is_null(), !entry.tensor.defined()) << what << ' ' << entry.name;
    } else {
      const DType dtype = entry.tensor.dtype();
      expect_values(host_values(entry.tensor), *found, dtype,
                    dtype == DType::kInt64 ? Tolerance{} : tolerance, what + ' ' + entry.name);
    }
  }
}

}  // namespace ringside::test
