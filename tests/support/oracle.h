// Numbers that a real PyTorch computed (tests/oracles/*.json), read so that nothing in a file goes
// unnoticed: a field that no test asks for is a failure.
//
// The folder is tests/oracles, or the one that the environment variable RINGSIDE_ORACLES names:
// files of the same names and form, with any number of cases of any size.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringside/dtype.h"
#include "ringside/nn.h"

namespace ringside::test {

using Json = nlohmann::json;

template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;

/// What `json` holds, which must be of just this kind: a fraction is no whole number, a number no
/// truth value, and nothing is cut to fit. Throws std::runtime_error with what it is instead.
template <typename T>
T exactly(const Json& json) {
  const auto require = [&](bool holds, const char* kind) {
    if (!holds) throw std::runtime_error("'" + json.dump() + "' is not " + kind);
  };
  if constexpr (kIsVector<T>) {
    require(json.is_array(), "a list");
    T values;
    for (const Json& entry : json) values.push_back(exactly<typename T::value_type>(entry));
    return values;
  } else if constexpr (std::same_as<T, bool>) {
    require(json.is_boolean(), "true or false");
  } else if constexpr (std::integral<T>) {
    require(json.is_number_integer(), "a whole number");
    require(json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                      : std::in_range<T>(json.get<std::int64_t>()),
            "a whole number in range");
  } else if constexpr (std::floating_point<T>) {
    require(json.is_number(), "a number");
  } else {
    require(json.is_string(), "a text");
  }
  return json.get<T>();
}

/// `json`, which must be a list of `length` entries; else std::runtime_error that names `what`.
const Json& list_of(std::size_t length, const Json& json, const std::string& what);

/// One object of an oracle file. When it goes, every field that was neither read nor left is
/// reported as a test failure. Missing fields and wrong types throw std::runtime_error that names
/// the place ("optim.json cases[3]") and the field.
class Record {
 public:
  /// `object` must outlive the record.
  Record(const Json& object, std::string place);
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  ~Record();

  const std::string& place() const { return place_; }
  /// Does not count as reading.
  bool has(std::string_view field) const { return object_.contains(field); }
  /// All of them, in alphabetical order.
  std::vector<std::string> fields() const;
  const Json& operator[](std::string_view field);
  template <typename T>
  T get(std::string_view field) {
    return converted<T>(field, (*this)[field]);
  }
  /// The list `field`, which must have just so many entries.
  const Json& list(std::string_view field, std::size_t length);
  template <typename T>
  T get_or(std::string_view field, T fallback) {
    return has(field) ? get<T>(field) : fallback;
  }
  /// A 64-bit seed; negative ones stand for 2^64 less.
  std::uint64_t seed(std::string_view field);
  DType dtype(std::string_view field = "dtype");
  /// Fields that this test has no business with: another one reads them, or they are words for
  /// people.
  void leave(std::initializer_list<std::string_view> fields);
  /// Visits every object of the list `field`, of which there must be one. What a visit throws is
  /// one failure that names the place, and the next one follows.
  void for_each(std::string_view field, const std::function<void(Record&)>& visit);

 private:
  [[noreturn]] void fail(std::string_view field, std::string_view fault) const;
  template <typename T>
  T converted(std::string_view field, const Json& value) const {
    try {
      return exactly<T>(value);
    } catch (const std::exception& error) {
      fail(field, error.what());
    }
  }

  const Json& object_;
  std::string place_;
  std::set<std::string, std::less<>> read_;
};

/// The folder that holds the files.
std::string oracle_folder();
/// Reads the file, and calls `check` with its outermost object; explanations ("how", "..._how",
/// "made_by"), which are texts, are left.
void with_oracle(const std::string& file, const std::function<void(Record&)>& check);

/// How far two numbers may be apart: relative * |expected| + absolute. Nothing: bit for bit.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};
/// Of training runs, whose sums BLAS may order in its own way: float32 to 2e-5 relative and 2e-6
/// absolute, float64 to 1e-11.
Tolerance training_tolerance(DType dtype);
/// Of one parameter's steps: float32 to 1e-6 relative and 1e-7 absolute, float64 to 1e-13.
Tolerance optimizer_tolerance(DType dtype);

/// A number or a flat list of them, of a tensor of `dtype`: float32's are rounded to it. "inf",
/// "-inf" and "nan" are words in JSON.
std::vector<double> oracle_values(const Json& json, DType dtype);

/// Compares with a list, with one number, or with a digest: {n, sum, abs_sum, sq_sum, first, last},
/// of integers {n, first, last, sum_i_times_v}; first and last are as many as make_oracles.py takes
/// (8 or 16), sums are added as torch.sum adds and held to the same tolerance as elements. Returns
/// the first difference in words, or an empty string.
std::string difference(std::span<const double> values, const Json& expected, DType dtype,
                       Tolerance tolerance);
void expect_values(std::span<const double> values, const Json& expected, DType dtype,
                   Tolerance tolerance, const std::string& what);
/// The tensors by name, neither more nor fewer than `expected` (an object) has; null = undefined.
void expect_tensors(const std::vector<NamedTensor>& tensors, const Json& expected,
                    Tolerance tolerance, const std::string& what);

}  // namespace ringside::test
