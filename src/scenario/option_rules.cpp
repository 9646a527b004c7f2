#include "scenario/option_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "core/counted.h"
#include "core/nearest_name.h"
#include "core/split.h"
#include "ringside/error.h"

namespace ringside::option_rules {
namespace {

// A rank of an executing backend has a host thread, streams, and a copy of the model of its own.
constexpr std::int64_t kMaxDevices = 1024;
constexpr std::int64_t kMaxMetaDevices = 16384;

bool is_digits(Text text) {
  return !text.empty() && text.find_first_not_of("0123456789") == Text::npos;
}

// As people write it: "1GB", "512MiB"; "1500" if no unit divides it.
std::string size_text(std::size_t bytes) {
  struct Unit {
    Text name;
    std::size_t bytes;
  };
  static constexpr Unit kUnits[] = {{"TB", 1'000'000'000'000},
                                    {"TiB", std::size_t{1} << 40U},
                                    {"GB", 1'000'000'000},
                                    {"GiB", std::size_t{1} << 30U},
                                    {"MB", 1'000'000},
                                    {"MiB", std::size_t{1} << 20U},
                                    {"kB", 1'000},
                                    {"KiB", std::size_t{1} << 10U}};
  for (const Unit& unit : kUnits) {
    if (bytes >= unit.bytes && bytes % unit.bytes == 0) {
      return fmt::format("{}{}", bytes / unit.bytes, unit.name);
    }
  }
  return fmt::format("{}", bytes);
}

}  // namespace

void throw_value(Text name, Text value, Text problem, std::string hint) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{} {}: {}", name, value, problem),
              std::move(hint));
}

int parse_int(Text name, Text text) {
  return static_cast<int>(parse_integer(name, text, std::numeric_limits<int>::min(), kIntMax));
}

int parse_positive_int(Text name, Text text) {
  return static_cast<int>(parse_integer(name, text, 1, kIntMax));
}

std::string not_empty(Text name, Text text) {
  if (text.empty()) throw_value(name, "''", "must not be empty");
  return std::string(text);
}

void check_one_of(Text name, Text value, Text choices) {
  if (is_listed(value, choices)) return;
  const std::string nearest = nearest_name(value, split(choices, ' '));
  throw_value(name, fmt::format("'{}'", value), fmt::format("must be one of {}", choices),
              nearest.empty() ? "" : fmt::format("did you mean {}?", nearest));
}

void check_devices(const Scenario& s, Text name) {
  const bool meta = s.backend == "meta";
  check_range(name, s.devices, 1, meta ? kMaxMetaDevices : kMaxDevices,
              meta ? "more ranks than any prediction has been checked for"
                   : "each has a host thread and a copy of the model of its own");
}

void check_node_size(const Scenario& s, Text name) {
  check_range(name, s.node_size, 0, kMaxMetaDevices);
  if (s.node_size == 0 || s.devices % s.node_size == 0) return;
  throw_value(name, fmt::format("{}", s.node_size),
              fmt::format("must divide the {} devices", s.devices));
}

void check_parts(int value, Text name) { check_range(name, value, 1, kMaxMetaDevices); }

void check_join(const Scenario& s, Text name) {
  check_one_of(name, s.join, "off initial active throw");
  if (s.join == "off") return;
  if (s.backend == "meta") {
    throw_value(name, s.join, "no rank of meta can know which others have finished",
                "choose --backend sim");
  }
  if (s.sync_batchnorm && s.join != "throw") {
    throw_value(name, s.join,
                "sync-batchnorm exchanges statistics in every forward, and a rank without a batch "
                "has none to run",
                "leave --sync-batchnorm out, or choose --join throw");
  }
  if (s.accumulate > 1) {
    throw_value(name, s.join, "shadows steps of one batch, not of several",
                "leave --accumulate out");
  }
}

void check_set_to_none(const Scenario& s, Text name) {
  if (s.set_to_none || (s.save.empty() && s.resume.empty())) return;
  // A parameter that takes part again overwrites its zeros.
  const auto leaves_zeros = [](const ScenarioEvent& event) {
    return event.kind == ScenarioEvent::Kind::kFreeze ||
           event.kind == ScenarioEvent::Kind::kReplace ||
           event.kind == ScenarioEvent::Kind::kUnusedHead;
  };
  const auto event = std::find_if(s.events.begin(), s.events.end(), leaves_zeros);
  if (event == s.events.end()) return;
  throw_value(name, "false",
              fmt::format("event {} leaves zeroed gradients that the next step needs, and no "
                          "checkpoint has any",
                          to_string(event->kind)),
              "leave set-to-none out, the event, or the checkpoint");
}

std::vector<std::size_t> parse_byte_list(Text name, Text text) {
  std::vector<std::size_t> sizes;
  for (const Text size : split(text, ',')) sizes.push_back(parse_bytes(name, size));
  if (sizes.empty()) parse_bytes(name, text);  // which says why
  return sizes;
}

void check_device_memory(const Scenario& s, Text name) {
  const auto given = static_cast<int>(s.device_memory.size());
  if (given == 0 || given == s.devices) return;
  std::vector<std::string> sizes;
  for (const std::size_t size : s.device_memory) sizes.push_back(size_text(size));
  throw_value(name, fmt::format("{}", fmt::join(sizes, ",")),
              fmt::format("{} for {}", counted(s.device_memory.size(), "size"),
                          counted(static_cast<std::size_t>(s.devices), "device")),
              "give one for each device, or --memory for all");
}

void check_verify(const Scenario& s, Text name) {
  if (s.verify && s.backend == "meta") {
    throw_value(name, "with backend meta", "it has no values that could be compared",
                "choose --backend sim, or leave --verify out");
  }
  if (s.verify && s.asynchronous) {
    throw_value(name, "with async", "its workers may differ, each has other pushes in its weights",
                "leave --async out, or --verify");
  }
}

void check_not_negative(double value, Text name) {
  if (value >= 0 && value <= kMaxNumber) return;
  throw_value(name, fmt::format("{}", value),
              value < 0 ? "must be 0 or more" : fmt::format("must be at most {}", kMaxNumber));
}

void check_decay(double value, Text name) {
  if (value >= 0 && value < 1) return;
  throw_value(name, fmt::format("{}", value), "must be from 0 to below 1");
}

void set_trace_steps(RunRequest& r, Text name, Text text) {
  const std::size_t dash = text.find('-');
  const Text first = text.substr(0, dash);
  const Text last = dash == Text::npos ? first : text.substr(dash + 1);
  if (!is_digits(first) || !is_digits(last)) {
    throw_value(name, fmt::format("'{}'", text), "must be a step such as 5, or two such as 0-2");
  }
  r.first_step = static_cast<int>(parse_integer(name, first, 0, kIntMax));
  r.last_step = static_cast<int>(parse_integer(name, last, 0, kIntMax));
  if (r.last_step < r.first_step) {
    throw_value(name, text, "the last step comes before the first",
                fmt::format("write {}-{}", r.last_step, r.first_step));
  }
}

}  // namespace ringside::option_rules
