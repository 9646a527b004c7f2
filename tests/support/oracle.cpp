#include "support/oracle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>

namespace ringside::test {

const Json& list_of(std::size_t length, const Json& json, const std::string& what) {
  if (!json.is_array()) throw std::runtime_error(what + " is not a list");
  if (json.size() != length) {
    throw std::runtime_error(
        fmt::format("{} has {} entries, and must have {}", what, json.size(), length));
  }
  return json;
}

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
  if ((*this)[field].is_number_unsigned()) return get<std::uint64_t>(field);
  return static_cast<std::uint64_t>(get<std::int64_t>(field));
}

const Json& Record::list(std::string_view field, std::size_t length) {
  return list_of(length, (*this)[field], fmt::format("{} {}", place_, field));
}

DType Record::dtype(std::string_view field) { return parse_dtype(get<std::string>(field)); }

void Record::leave(std::initializer_list<std::string_view> fields) {
  for (const std::string_view field : fields) read_.emplace(field);
}

void Record::for_each(std::string_view field, const std::function<void(Record&)>& visit) {
  const Json& list = (*this)[field];
  if (!list.is_array()) fail(field, "is not a list");
  if (list.empty()) fail(field, "has no case");
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
    const bool explains = field == "how" || field.ends_with("_how") || field == "made_by";
    if (explains && value.is_string()) record.leave({field});
  }
  check(record);
}

}  // namespace ringside::test
