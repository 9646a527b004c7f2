// How the options of the table are set, read and checked: the parts that several rows share.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/option_values.h"
#include "scenario/run_request.h"
#include "scenario/values.h"

namespace ringside::option_rules {

using Text = std::string_view;
inline constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();
inline constexpr std::int64_t kMaxThreads = 256;
/// Of a learning rate as of a size in MiB, which in bytes still fits.
inline constexpr double kMaxNumber = 1e9;

/// Throws Error(kInvalidArgument): "lr 0: must be above 0".
[[noreturn]] void throw_value(Text name, Text value, Text problem, std::string hint = {});

int parse_int(Text name, Text text);
/// At least 1.
int parse_positive_int(Text name, Text text);
/// Throws for an empty text.
std::string not_empty(Text name, Text text);
/// "12GB,1GB".
std::vector<std::size_t> parse_byte_list(Text name, Text text);
/// "0-2" or "5".
void set_trace_steps(RunRequest& request, Text name, Text text);

/// `choices` are separated by blanks.
void check_one_of(Text name, Text value, Text choices);
void check_devices(const Scenario& scenario, Text name);
void check_device_memory(const Scenario& scenario, Text name);
/// Refuses what has no values, and workers that may differ.
void check_verify(const Scenario& scenario, Text name);
void check_node_size(const Scenario& scenario, Text name);
/// Workers, servers, and the devices of each.
void check_parts(int value, Text name);
void check_join(const Scenario& scenario, Text name);
void check_set_to_none(const Scenario& scenario, Text name);
void check_not_negative(double value, Text name);
void check_decay(double value, Text name);

template <auto member>
OptionValue value_of(const Scenario& scenario) {
  return to_option_value(scenario.*member);
}

template <auto member>
void set_text(RunRequest& request, Text name, Text text) {
  request.scenario.*member = not_empty(name, text);
}

template <auto member>
void set_int(RunRequest& request, Text name, Text text) {
  request.scenario.*member = parse_int(name, text);
}

template <auto member>
void set_number(RunRequest& request, Text name, Text text) {
  request.scenario.*member = parse_number(name, text);
}

template <auto member>
void set_flag(RunRequest& request, Text name, Text text) {
  request.scenario.*member = parse_flag(name, text);
}

template <auto member>
void check_parts(const Scenario& scenario, Text name) {
  check_parts(scenario.*member, name);
}

template <auto member>
void check_not_negative(const Scenario& scenario, Text name) {
  check_not_negative(scenario.*member, name);
}

template <auto member>
void check_decay(const Scenario& scenario, Text name) {
  check_decay(scenario.*member, name);
}

}  // namespace ringside::option_rules
