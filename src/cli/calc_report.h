// What a calculator says: a table, results and remarks, as text and as a document.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/command.h"

namespace ringside::cli {

class Terminal;

using CalcMap = std::vector<std::pair<std::string, std::string>>;
/// Numbers, words, lists of them, and names with values.
using CalcValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>,
                               std::vector<std::string>, CalcMap>;

struct CalcColumn {
  std::string_view key;      ///< in the document
  std::string_view heading;  ///< in the table; empty = not shown there
  bool is_bytes = false;     ///< shown to people with a unit
};

struct CalcResult {
  std::string_view key;
  CalcValue value;
  std::string_view words;  ///< before the value, for people
  bool is_bytes = false;
};

struct CalcReport {
  std::string title;
  std::vector<CalcColumn> columns;
  std::vector<std::vector<CalcValue>> rows;
  std::vector<CalcResult> results;
  std::vector<std::string> notes;  ///< sentences that explain
};

struct Calculator {
  std::string_view name;
  std::string_view options;  ///< the names of those that it takes, separated by blanks
  CalcReport (*report)(const Arguments& arguments);
};

/// split, sampler, batch.
std::vector<Calculator> data_calculators();
/// ranks, devices, prefix.
std::vector<Calculator> place_calculators();
/// buckets, memory, traffic.
std::vector<Calculator> cost_calculators();

std::string report_text(const CalcReport& report);
std::string report_document(std::string_view calculator, const CalcReport& report);

// ---- reading options

/// The whole number of an option: "64", "1.5e9". Throws where it is missing and has no fallback
/// ("calc split:
/// --batch is missing"), or outside [minimum, maximum].
std::int64_t calc_integer(const Arguments& arguments, std::string_view option, std::int64_t minimum,
                          std::int64_t maximum, std::string_view fallback = {});
/// The value of an option that must be given. Throws where it is missing.
std::string calc_required(const Arguments& arguments, std::string_view option);

}  // namespace ringside::cli
