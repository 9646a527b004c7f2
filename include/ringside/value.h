// Value: what a module is called with and what it returns, as Python has it: tensors, containers of
// them, and anything else.
//
// DataParallel takes such values apart for its replicas and joins what they return
// (data_parallel.h). Plain data; copies of a tensor or an object share it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ringside/tensor.h"

namespace ringside {

struct Value;

/// A name and its value: an entry of a dict, a field of a namedtuple, a keyword argument.
using NamedValue = std::pair<std::string, Value>;

struct TupleValue {
  std::vector<Value> items;
};
struct ListValue {
  std::vector<Value> items;
};
/// Entries in the order in which they were put in.
struct DictValue {
  std::vector<NamedValue> entries;
};
/// collections.namedtuple: a tuple whose items have names.
struct NamedTupleValue {
  std::string type;  ///< "Output"
  std::vector<NamedValue> fields;
};
/// An object of the user's that is neither tensor nor container: every replica gets the same one.
struct ObjectValue {
  std::shared_ptr<const void> object;
};

struct Value {
  /// monostate: None.
  using Held = std::variant<std::monostate, Tensor, bool, std::int64_t, double, std::string,
                            ObjectValue, TupleValue, ListValue, DictValue, NamedTupleValue>;
  Held held;

  // NOLINTBEGIN(google-explicit-constructor): a Value is what it holds.
  Value() = default;
  Value(Tensor tensor) : held(std::move(tensor)) {}
  Value(bool flag) : held(flag) {}
  Value(int number) : held(std::int64_t{number}) {}
  Value(std::int64_t number) : held(number) {}
  Value(double number) : held(number) {}
  Value(std::string text) : held(std::move(text)) {}
  Value(const char* text) : held(std::string(text)) {}
  Value(ObjectValue object) : held(std::move(object)) {}
  Value(TupleValue tuple) : held(std::move(tuple)) {}
  Value(ListValue list) : held(std::move(list)) {}
  Value(DictValue dict) : held(std::move(dict)) {}
  Value(NamedTupleValue tuple) : held(std::move(tuple)) {}
  // NOLINTEND(google-explicit-constructor)

  template <typename Alternative>
  bool is() const {
    return std::holds_alternative<Alternative>(held);
  }
  /// Throws Error(kInvalidArgument) with both names where the value is of another type.
  template <typename Alternative>
  const Alternative& get() const {
    if (const auto* value = std::get_if<Alternative>(&held)) return *value;
    Value wanted;
    wanted.held = Alternative{};
    throw_other_type(wanted);
  }
  bool is_none() const { return is<std::monostate>(); }

 private:
  [[noreturn]] void throw_other_type(const Value& wanted) const;
};

/// Python's name of the type: "Tensor", "NoneType", "float", "dict", "Output" of a namedtuple.
std::string_view type_name(const Value& value);

/// Of one call: forward(*positional, **keywords).
struct Arguments {
  std::vector<Value> positional;
  std::vector<NamedValue> keywords;
};

}  // namespace ringside
