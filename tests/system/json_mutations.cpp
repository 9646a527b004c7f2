#include "system/json_mutations.h"

#include <span>
#include <stdexcept>

#include "core/fnv1a.h"

namespace ringside::test {
namespace {

using Places = std::map<FieldPath, std::vector<Json::json_pointer>>;

void collect(const Json& value, const FieldPath& path, const Json::json_pointer& place,
             Places& places) {
  places[value.is_null() ? path + "=null" : path].push_back(place);
  if (value.is_object()) {
    for (const auto& [field, inner] : value.items()) {
      const bool names_a_tensor = field.find('.') != std::string::npos;
      collect(inner, path + '/' + (names_a_tensor ? "*" : field), place / field, places);
    }
  }
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      collect(value[i], path + "/*", place / i, places);
    }
  }
}

Json other_value(const FieldPath& path, const Json& value, const ChangeFraction& change_fraction) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_string()) return value.get<std::string>() + "x";
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() + 1;
  if (value.is_number_integer()) return value.get<std::int64_t>() + 1;
  return change_fraction(path, value.get<double>());
}

Json other_kind(const Json& value) {
  if (value.is_number()) return value.dump();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_string() || value.is_null()) return 7;
  return "a text";
}

}  // namespace

const char* name_of(Change change) {
  switch (change) {
    case Change::kValue:
      return "another value";
    case Change::kKind:
      return "another kind";
    case Change::kShorter:
      return "a list shortened";
    case Change::kLonger:
      return "a list extended";
    case Change::kUnknown:
      return "an unknown field";
    case Change::kRemoved:
      return "removed";
  }
  throw std::logic_error("no such change");
}

Places field_paths(const Json& document) {
  Places places;
  collect(document, "", Json::json_pointer(), places);
  return places;
}

std::vector<Change> changes_of(const Json& document, const Json::json_pointer& place) {
  const Json& value = document.at(place);
  std::vector<Change> changes{Change::kKind};
  if (value.is_primitive() && !value.is_null()) changes.push_back(Change::kValue);
  if (value.is_array()) changes.push_back(Change::kLonger);
  if (value.is_array() && !value.empty()) changes.push_back(Change::kShorter);
  if (value.is_object()) changes.push_back(Change::kUnknown);
  if (!place.empty() && document.at(place.parent_pointer()).is_object()) {
    changes.push_back(Change::kRemoved);
  }
  return changes;
}

Json changed(Json document, const FieldPath& path, const Json::json_pointer& place, Change change,
             const ChangeFraction& change_fraction) {
  Json& value = document.at(place);
  switch (change) {
    case Change::kValue:
      value = other_value(path, value, change_fraction);
      break;
    case Change::kKind:
      value = other_kind(value);
      break;
    case Change::kShorter:
      value.erase(value.size() - 1);
      break;
    case Change::kLonger:
      value.push_back(value.empty() ? Json(0) : Json(value.back()));
      break;
    case Change::kUnknown:
      value["unknown_field"] = 1;
      break;
    case Change::kRemoved:
      document.at(place.parent_pointer()).erase(place.back());
      break;
  }
  return document;
}

std::size_t choice(const FieldPath& path, std::size_t count) {
  Fnv1a hash;
  hash.add(std::as_bytes(std::span(path)));
  return hash.value() % count;
}

}  // namespace ringside::test
