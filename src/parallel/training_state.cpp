#include "parallel/training_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <type_traits>
#include <variant>

#include "core/fnv1a.h"
#include "core/split.h"
#include "core/whole_number.h"
#include "ringside/error.h"
#include "scenario/options.h"
#include "scenario/values.h"

namespace ringside {
namespace {

constexpr std::string_view kForm = "ringside";  // the form of these texts: its version
constexpr std::string_view kFormVersion = "1";
constexpr std::string_view kStep = "ringside.step";
constexpr std::string_view kEpoch = "ringside.epoch";
constexpr std::string_view kBatches = "ringside.batches";
constexpr std::string_view kBuckets = "ringside.buckets";
constexpr std::string_view kEvents = "ringside.events";
constexpr std::string_view kData = "ringside.data";
constexpr std::string_view kOption = "ringside.option.";

// They change how long or where a run computes, or what it writes, but none of its numbers.
constexpr std::string_view kWithoutEffect =
    "epochs steps backend memory sim-workers stepwise loader-workers pin-memory non-blocking save "
    "save-every save-wrapped resume load strip-prefix add-prefix rename-prefix verify verify-step";

bool counts(const ScenarioOption& option) {
  return option.get != nullptr && !is_listed(option.name, kWithoutEffect);
}

std::string text_of(const OptionValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<Held, std::vector<std::int64_t>>) {
          return fmt::format("{}", fmt::join(held, ","));
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

std::string text_of(const std::vector<ScenarioEvent>& events) {
  std::vector<std::string> texts;
  for (const ScenarioEvent& event : events) {
    texts.push_back(fmt::format("{} {} {} '{}' {} {}", to_string(event.kind), event.rank,
                                event.step, event.parameter, event.amount,
                                to_string(event.operation)));
    if (!event.model.empty()) texts.back() += fmt::format(" '{}'", event.model);
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string text_of(const BucketNames& buckets) {
  std::vector<std::string> texts;
  for (const std::vector<std::string>& names : buckets) {
    texts.push_back(fmt::format("{}", fmt::join(names, ",")));
  }
  return fmt::format("{}", fmt::join(texts, ";"));
}

std::string key_of(const ScenarioOption& option) {
  return fmt::format("{}{}", kOption, option.name);
}

/// Of an option that the file does not have: it is younger than the file, which had its default.
std::string then_of(const SafetensorsMetadata& metadata, const ScenarioOption& option) {
  const auto found = metadata.find(key_of(option));
  return found == metadata.end() ? text_of(option.get(Scenario{})) : found->second;
}

std::string shown(const std::string& value) { return value.empty() ? "not given" : value; }

std::string text_at(const SafetensorsMetadata& metadata, std::string_view key) {
  const auto found = metadata.find(std::string(key));
  return found == metadata.end() ? std::string() : found->second;
}

std::int64_t number_at(const SafetensorsMetadata& metadata, std::string_view key, std::int64_t most,
                       const std::string& path) {
  const std::string text = text_at(metadata, key);
  const auto number = whole_number<std::int64_t>(text);
  if (number && *number >= 0 && *number <= most) return *number;
  throw Error(ErrorKind::kInvalidInput,
              fmt::format("{}: metadata {} '{}': must be a whole number from 0 to {}", path, key,
                          text, most),
              "the file is damaged or was changed by hand; take another checkpoint");
}

/// For a shell: a file's texts may be anything.
std::string quoted(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string result = "'";
  for (const char letter : text) {
    result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return result + "'";
}

}  // namespace

std::string checksum_of(const TrainTest& data) {
  Fnv1a checksum;
  for (const Dataset* part : {&data.train, &data.test}) {
    checksum.add(std::as_bytes(std::span(part->samples)));
    checksum.add(std::as_bytes(std::span(part->targets)));
    checksum.add(std::as_bytes(std::span(part->text)));
  }
  return fmt::format("{:016x}", checksum.value());
}

SafetensorsMetadata to_metadata(const Scenario& scenario, const TrainingState& state) {
  SafetensorsMetadata metadata{{"format", "pt"},
                               {std::string(kForm), std::string(kFormVersion)},
                               {std::string(kStep), fmt::format("{}", state.step)},
                               {std::string(kEpoch), fmt::format("{}", state.epoch)},
                               {std::string(kBatches), fmt::format("{}", state.batches)},
                               {std::string(kBuckets), text_of(state.buckets)},
                               {std::string(kEvents), text_of(scenario.events)},
                               {std::string(kData), state.data}};
  for (const ScenarioOption& option : scenario_options()) {
    if (counts(option)) metadata[key_of(option)] = text_of(option.get(scenario));
  }
  return metadata;
}

bool has_events(const SafetensorsMetadata& metadata) { return !text_at(metadata, kEvents).empty(); }

bool has_training_state(const SafetensorsMetadata& metadata) {
  return metadata.contains(std::string(kForm));
}

TrainingState training_state_of(const SafetensorsMetadata& metadata, const std::string& path) {
  if (!has_training_state(metadata)) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: holds tensors, but no state of a training", path),
                "start a new training from its values with --load");
  }
  if (const std::string version = text_at(metadata, kForm); version != kFormVersion) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: its training state has form {}, this program reads form {}", path,
                            version, kFormVersion),
                "take its values alone with --load");
  }
  TrainingState state;
  state.step = number_at(metadata, kStep, kMaxSteps, path);
  state.epoch = number_at(metadata, kEpoch, kMaxSteps, path);
  state.batches = number_at(metadata, kBatches, kMaxSteps, path);
  for (const std::string& bucket : split<std::string>(text_at(metadata, kBuckets), ';')) {
    state.buckets.push_back(split<std::string>(bucket, ','));
  }
  state.data = text_at(metadata, kData);
  return state;
}

void check_same_training(const SafetensorsMetadata& metadata, const Scenario& scenario,
                         const std::string& path) {
  std::vector<std::string> differences;
  const auto compare = [&](std::string_view name, const std::string& then, const std::string& now) {
    if (then == now) return;
    differences.push_back(fmt::format("{} was {}, is {}", name, shown(then), shown(now)));
  };
  for (const ScenarioOption& option : scenario_options()) {
    if (!counts(option)) continue;
    compare(option.name, then_of(metadata, option), text_of(option.get(scenario)));
  }
  compare("events", text_at(metadata, kEvents), text_of(scenario.events));
  if (!differences.empty()) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: is of another training: {}", path, fmt::join(differences, "; ")),
                has_events(metadata) && scenario.events.empty()
                    ? "give the scenario file that has the events, with --config"
                    : "give the options of then, or start a new training from its values with "
                      "--load");
  }
  for (const auto& [key, value] : metadata) {
    if (!key.starts_with(kOption) || find_scenario_option(key.substr(kOption.size())) != nullptr)
      continue;
    throw Error(
        ErrorKind::kInvalidInput,
        fmt::format("{}: metadata {} '{}': this program has no such option", path, key, value),
        "resume it with the program that wrote it, or take its values alone with --load");
  }
}

std::string options_of_then(const SafetensorsMetadata& metadata) {
  std::vector<std::string> options;
  for (const ScenarioOption& option : scenario_options()) {
    if (!counts(option)) continue;
    const std::string then = then_of(metadata, option);
    if (then == text_of(option.get(Scenario{}))) continue;
    options.push_back(option.form == ValueForm::kFlag
                          ? fmt::format("--{}={}", option.name, quoted(then))
                          : fmt::format("--{} {}", option.name, quoted(then)));
  }
  return fmt::format("{}", fmt::join(options, " "));
}

}  // namespace ringside
