// Changes to a JSON document, one at a time, that whoever reads it with care must notice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ringside::test {

using Json = nlohmann::json;

enum class Change : std::uint8_t {
  kValue,    ///< another number, text or truth value
  kKind,     ///< a number as a text, a text as a number, a list as a text and the like
  kShorter,  ///< a list without its last entry
  kLonger,   ///< a list with its last entry twice
  kUnknown,  ///< an object with a field that nobody knows
  kRemoved,  ///< an object without this field
};

const char* name_of(Change change);

/// A place by the fields that lead to it: entries of lists, and fields whose names have a dot,
/// which are names of tensors, are a '*'. A null is a place of its own, with "=null" at its end.
using FieldPath = std::string;

/// All places of a document, each with where it occurs. The document itself is "".
std::map<FieldPath, std::vector<Json::json_pointer>> field_paths(const Json& document);

/// What can be done to the value at `place`.
std::vector<Change> changes_of(const Json& document, const Json::json_pointer& place);

/// How a number with a fraction at `path` is changed.
using ChangeFraction = std::function<double(const FieldPath& path, double value)>;

/// `document` with one change. Whole numbers become one more.
Json changed(Json document, const FieldPath& path, const Json::json_pointer& place, Change change,
             const ChangeFraction& change_fraction);

/// One of `count`: always the same for a path, and spread over them.
std::size_t choice(const FieldPath& path, std::size_t count);

}  // namespace ringside::test
