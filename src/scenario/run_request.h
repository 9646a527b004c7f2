// What `ringside run` is asked to do: a scenario, and where its results go. Made by a scenario file
// (docs/scenario.md), by the command line, or by both, the command line last.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringside/scenario.h"

namespace ringside {

struct RunRequest {
  Scenario scenario;
  std::string trace;   ///< file the trace is written to; empty = none
  std::string out;     ///< directory for pictures, trace and report; empty = none
  int first_step = 0;  ///< recorded steps
  int last_step = 2;
  std::vector<std::string_view> given;  ///< names of the options that were set, in order

  bool is_given(std::string_view option) const;
};

/// Adds what a scenario file says, which must be a good scenario by itself. Throws
/// Error(kInvalidInput) with file:line:column, or with the file where several keys do not agree; an
/// unknown key gets the nearest as its hint. A file has at most 1 MiB.
void read_scenario_file(const std::string& path, RunRequest& request);
/// The same from a text; `source_name` stands for the path in messages.
void read_scenario_text(std::string_view text, const std::string& source_name, RunRequest& request);

/// Completes what depends on other options (strategy single: one device) and validates the
/// scenario. Throws Error(kInvalidArgument).
void complete_scenario(RunRequest& request);
/// The same, and that what is to be recorded has a place. Throws Error(kInvalidArgument).
void complete_request(RunRequest& request);

}  // namespace ringside
