#include "support/oracle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace ringside::test {

// ---------------------------------------------------------------- reading

Record::Record(const Json& object, std::string place) : object_(object), place_(std::move(place)) {
  if (!object.is_object()) throw std::runtime_error(place_ + " is not an object");
}

Record::~Record() {
  if (std::uncaught_exceptions() != 0) return;  // whoever threw has read only a part
  for (const auto& [field, value] : object_.items()) {
    if (!read_.contains(field)) ADD_FAILURE() << place_ << ": unknown field '" << field << "'";
  }
}

const Json& Record::operator[](std::string_view field) {
  const auto found = object_.find(field);
  if (found == object_.end()) fail(field, "is missing");
  read_.emplace(field);
  return *found;
}

std::vector<std::string> Record::fields() const {
  std::vector<std::string> names;
  for (const auto& [field, value] : object_.items()) names.push_back(field);
  return names;
}

std::uint64_t Record::seed(std::string_view field) {
  const Json& value = (*this)[field];
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  return static_cast<std::uint64_t>(get<std::int64_t>(field));
}

DType Record::dtype(std::string_view field) { return parse_dtype(get<std::string>(field)); }

void Record::leave(std::initializer_list<std::string_view> fields) {
  for (const std::string_view field : fields) read_.emplace(field);
}

int Record::for_each(std::string_view field, const std::function<void(Record&)>& visit) {
  const Json& list = (*this)[field];
  if (!list.is_array()) fail(field, "is not a list");
  int count = 0;
  for (const Json& entry : list) {
    const std::string place = fmt::format("{} {}[{}]", place_, field, count++);
    SCOPED_TRACE(place);
    try {
      Record record(entry, place);
      visit(record);
    } catch (const std::exception& error) {
      ADD_FAILURE() << place << ": " << error.what();
    }
  }
  return count;
}

void Record::fail(std::string_view field, std::string_view fault) const {
  throw std::runtime_error(fmt::format("{}: field '{}': {}", place_, field, fault));
}

std::string oracle_folder() {
  const char* folder = std::getenv("RINGSIDE_ORACLES");
  return folder != nullptr && *folder != '\0' ? folder : RINGSIDE_ORACLE_FOLDER;
}

void with_oracle(const std::string& file, const std::function<void(Record&)>& check) {
  const std::string path = oracle_folder() + "/" + file;
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot open " + path);
  const Json json = Json::parse(stream);
  Record record(json, file);
  for (const auto& [field, value] : json.items()) {
    if (field == "how" || field.ends_with("_how") || field == "made_by") record.leave({field});
  }
  check(record);
}

// ---------------------------------------------------------------- comparing

namespace {

/// Sums over a tensor, as the digests have them.
struct Sums {
  explicit Sums(std::span<const double> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += values[i];
      absolute += std::abs(values[i]);
      squares += values[i] * values[i];
      weighted += static_cast<double>(i) * values[i];
    }
  }
  double sum = 0, absolute = 0, squares = 0, weighted = 0;
};

double number(const Json& json, DType dtype) {
  if (json.is_string()) {
    const auto word = json.get<std::string>();
    const double infinity = std::numeric_limits<double>::infinity();
    if (word == "inf") return infinity;
    if (word == "-inf") return -infinity;
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    throw std::runtime_error("'" + word + "' is not a number");
  }
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  const auto value = json.get<double>();
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

std::string sum_difference(const char* name, double value, double expected, double tolerance) {
  if (std::abs(value - expected) <= tolerance) return {};
  return fmt::format("{} is {}, not {}", name, value, expected);
}

std::string first_of(std::initializer_list<std::string> differences) {
  for (const std::string& difference : differences) {
    if (!difference.empty()) return difference;
  }
  return {};
}

std::string digest_difference(std::span<const double> values, Record& digest, DType dtype,
                              Tolerance tolerance) {
  const auto n = digest.get<std::size_t>("n");
  const std::vector<double> first = oracle_values(digest["first"], dtype);
  const std::vector<double> last = oracle_values(digest["last"], dtype);
  if (values.size() != n || first.size() > n || last.size() > n) {
    digest.leave({"sum", "abs_sum", "sq_sum", "sum_i_times_v"});
    return fmt::format("{} values, not {}", values.size(), n);
  }
  const std::string ends = first_of({part_difference(values, 0, first, tolerance),
                                     part_difference(values, n - last.size(), last, tolerance)});
  const Sums sums(values);
  if (digest.has("sum_i_times_v")) {
    // Whole numbers are exact in double up to 2^53.
    const auto expected = digest.get<double>("sum_i_times_v");
    const double rounding = expected < 0x1p53 ? 0 : 1e-12 * expected;
    return first_of({ends, sum_difference("sum of i * v", sums.weighted, expected, rounding)});
  }
  const auto absolute = digest.get<double>("abs_sum");
  const auto squares = digest.get<double>("sq_sum");
  constexpr double kOrderOfAdditions = 1e-12;
  const double relative = tolerance.relative + kOrderOfAdditions;
  const double of_sum = relative * absolute + static_cast<double>(n) * tolerance.absolute;
  return first_of({ends, sum_difference("sum", sums.sum, digest.get<double>("sum"), of_sum),
                   sum_difference("sum of absolute values", sums.absolute, absolute, of_sum),
                   sum_difference("sum of squares", sums.squares, squares,
                                  2 * (relative * squares + tolerance.absolute * absolute))});
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
      expect_values(host_values(entry.tensor), *found, entry.tensor.dtype(), tolerance,
                    what + ' ' + entry.name);
    }
  }
}

}  // namespace ringside::test
