// Scenario files: TOML whose keys are the names of the options of `ringside run`, and [[events]].
// The one source that sees toml++.
#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "core/nearest_name.h"
#include "ringside/error.h"
#include "scenario/events.h"
#include "scenario/key_depth.h"
#include "scenario/options.h"

namespace ringside {
namespace {

std::string place(const std::string& source_name, const toml::source_position& position) {
  return fmt::format("{}:{}:{}: ", source_name, position.line, position.column);
}

// Runs `body`; an error of it is bad input at `node`'s place.
template <typename Body>
void at(const std::string& source_name, const toml::node& node, Body body) {
  try {
    body();
  } catch (const Error& error) {
    throw Error(ErrorKind::kInvalidInput, place(source_name, node.source().begin) + error.what(),
                error.hint());
  }
}

[[noreturn]] void throw_unknown_key(const std::string& source_name, const toml::key& key,
                                    const std::vector<std::string_view>& known) {
  const std::string nearest = nearest_name(key.str(), known);
  throw Error(ErrorKind::kInvalidInput,
              fmt::format("{}unknown key '{}'", place(source_name, key.source().begin), key.str()),
              nearest.empty() ? fmt::format("the keys are {}", fmt::join(known, ", "))
                              : fmt::format("did you mean {}?", nearest));
}

[[noreturn]] void throw_type(std::string_view name, std::string_view wanted) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: must be {}", name, wanted));
}

// A value of the wanted TOML type as the text of the command line, so that both are read alike.
std::string text_of(const toml::node& node, std::string_view name, ValueForm form) {
  const auto* text = node.as_string();
  const auto* integer = node.as_integer();
  const auto* number = node.as_floating_point();
  switch (form) {
    case ValueForm::kText:
      if (text == nullptr) throw_type(name, "a text in quotes");
      // A path would end there.
      if (text->get().find('\0') != std::string::npos) throw_type(name, "a text without NUL");
      return text->get();
    case ValueForm::kInteger:
      if (integer == nullptr) throw_type(name, "a whole number");
      return fmt::format("{}", integer->get());
    case ValueForm::kNumber:
      if (integer != nullptr) return fmt::format("{}", integer->get());
      if (number == nullptr) throw_type(name, "a number");
      return fmt::format("{}", number->get());
    case ValueForm::kFlag:
      if (node.as_boolean() == nullptr) throw_type(name, "true or false");
      return node.as_boolean()->get() ? "true" : "false";
    case ValueForm::kBytes:
      if (integer != nullptr) return fmt::format("{}", integer->get());
      if (text == nullptr) throw_type(name, "a size such as \"64MB\", or a number of bytes");
      return text->get();
    case ValueForm::kIntegers:
      break;
  }
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty() || !array->is_homogeneous<std::int64_t>()) {
    throw_type(name, "a list of whole numbers such as [0, 1]");
  }
  std::vector<std::int64_t> values;
  for (const toml::node& item : *array) values.push_back(item.as_integer()->get());
  return fmt::format("{}", fmt::join(values, ","));
}

int count_of(const toml::node& node, std::string_view name) {
  const auto value = node.value_exact<std::int64_t>();
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (!value) throw_type(name, "a whole number of 0 or more");
  if (*value < 0 || *value > kMost) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} {}: must be from 0 to {}", name, *value, kMost));
  }
  return static_cast<int>(*value);
}

void set_event_key(ScenarioEvent& event, std::string_view key, const toml::node& node) {
  if (key == "kind") event.kind = parse_event_kind(text_of(node, key, ValueForm::kText));
  if (key == "rank") event.rank = count_of(node, key);
  if (key == "step") event.step = count_of(node, key);
  if (key == "parameter") event.parameter = text_of(node, key, ValueForm::kText);
  if (key == "amount") {
    const auto value = node.value<double>();
    if (!value || node.is_boolean()) throw_type(key, "a number");
    event.amount = *value;
  }
  if (key == "model") event.model = text_of(node, key, ValueForm::kText);
  if (key == "operation") event.operation = parse_operation(text_of(node, key, ValueForm::kText));
}

ScenarioEvent read_event(const std::string& source_name, const toml::node& node) {
  static constexpr std::string_view kKeys[] = {"kind",   "rank",      "step", "parameter",
                                               "amount", "operation", "model"};
  ScenarioEvent event;
  const toml::table* table = node.as_table();
  at(source_name, node, [&] {
    if (table == nullptr) throw_type("events", "tables, each headed [[events]]");
    if (!table->contains("kind")) throw_type("event", "of some kind: kind = \"...\"");
  });
  for (const auto& [key, value] : *table) {
    const std::vector<std::string_view> known(std::begin(kKeys), std::end(kKeys));
    if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
      throw_unknown_key(source_name, key, known);
    }
    at(source_name, value,
       [&, &name = key, &given = value] { set_event_key(event, name.str(), given); });
  }
  at(source_name, node, [&] {
    const EventRule& rule = rule_of(event.kind);
    if (rule.amount && !table->contains("amount")) {
      throw_type(fmt::format("event {}: amount", rule.name), "given");
    }
    if (rule.operation != table->contains("operation")) {
      throw_type(fmt::format("event {}: operation", rule.name),
                 rule.operation ? "given" : "left out, it has no meaning here");
    }
  });
  return event;
}

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> names;
  for (const ScenarioOption& option : scenario_options()) names.push_back(option.name);
  names.emplace_back("events");
  return names;
}

void read_table(const toml::table& table, const std::string& source_name, RunRequest& request) {
  for (const auto& [key, value] : table) {
    if (key.str() == "events") continue;
    const ScenarioOption* option = find_scenario_option(key.str());
    if (option == nullptr) throw_unknown_key(source_name, key, known_keys());
    at(source_name, value, [&, &node = value] {
      set_option(request, *option, text_of(node, option->name, option->form));
    });
  }
  // What an option depends on may stand below it.
  for (const auto& [key, value] : table) {
    if (const ScenarioOption* option = find_scenario_option(key.str())) {
      at(source_name, value, [&] { check_option(request.scenario, *option); });
    }
  }
  const toml::node* events = table.get("events");
  if (events == nullptr) return;
  at(source_name, *events, [&] {
    if (!events->is_array()) throw_type("events", "tables, each headed [[events]]");
  });
  for (const toml::node& node : *events->as_array()) {
    ScenarioEvent event = read_event(source_name, node);
    at(source_name, node, [&] { check_event(request.scenario, event); });
    request.scenario.events.push_back(std::move(event));
  }
}

// What keys must agree on has no place of its own but the file.
void check_together(RunRequest request, const std::string& source_name) {
  try {
    complete_scenario(request);
  } catch (const Error& error) {
    throw Error(ErrorKind::kInvalidInput, fmt::format("{}: {}", source_name, error.what()),
                error.hint());
  }
}

constexpr std::size_t kLongestFile = std::size_t{1} << 20U;  // thousands of events

}  // namespace

void read_scenario_text(std::string_view text, const std::string& source_name,
                        RunRequest& request) {
  refuse_deep_keys(text, source_name);
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}{}", place(source_name, error.source().begin), error.description()),
                "scenario files are TOML: docs/scenario.md has an example");
  }
  read_table(table, source_name, request);
  check_together(request, source_name);
}

void read_scenario_file(const std::string& path, RunRequest& request) {
  read_scenario_text(read_whole_file(path, kLongestFile), path, request);
}

}  // namespace ringside
