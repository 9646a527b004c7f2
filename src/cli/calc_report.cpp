// Bodies of calc_report.h.
#include "cli/calc_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "core/clean_text.h"
#include "core/format_bytes.h"
#include "ringside/error.h"
#include "scenario/values.h"
#include "views/text.h"

namespace ringside::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kShownEntries = 12;  // of a list in a line of text

template <typename T>
std::string list_text(const std::vector<T>& list) {
  if (list.empty()) return "-";
  const auto end = list.begin() + static_cast<std::ptrdiff_t>(std::min(list.size(), kShownEntries));
  std::string first = fmt::format("{}", fmt::join(list.begin(), end, ", "));
  if (end == list.end()) return first;
  return fmt::format("{}, ... ({} in all)", first, list.size());
}

struct TextOf {
  bool is_bytes;
  std::string operator()(std::int64_t value) const {
    return is_bytes ? format_bytes(static_cast<std::size_t>(value)) : fmt::format("{}", value);
  }
  std::string operator()(double value) const { return fmt::format("{:g}", value); }
  std::string operator()(bool value) const { return value ? "yes" : "no"; }
  std::string operator()(const std::string& value) const { return shown_name(value); }
  std::string operator()(const std::vector<std::int64_t>& value) const { return list_text(value); }
  std::string operator()(const std::vector<std::string>& value) const {
    return clean_text(list_text(value));
  }
  std::string operator()(const CalcMap& value) const {
    std::vector<std::string> parts;
    for (const auto& [name, text] : value) parts.push_back(fmt::format("{}={}", name, text));
    return clean_text(fmt::format("{}", fmt::join(parts, " ")));
  }
};

struct JsonOf {
  ordered_json operator()(const CalcMap& value) const {
    ordered_json object = ordered_json::object();
    for (const auto& [name, text] : value) object[name] = text;
    return object;
  }
  template <typename T>
  ordered_json operator()(const T& value) const {
    return value;
  }
};

std::string table_text(const CalcReport& report) {
  std::vector<std::vector<std::string>> lines(report.rows.size() + 1);
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < report.columns.size(); ++c) {
    const CalcColumn& column = report.columns[c];
    if (column.heading.empty()) continue;
    lines[0].emplace_back(column.heading);
    std::size_t width = column.heading.size();
    for (std::size_t r = 0; r < report.rows.size(); ++r) {
      lines[r + 1].push_back(std::visit(TextOf{column.is_bytes}, report.rows[r][c]));
      width = std::max(width, display_width(lines[r + 1].back()));
    }
    widths.push_back(width);
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    std::string padded;
    for (std::size_t c = 0; c < line.size(); ++c) {
      padded += fmt::format("{:<{}}  ", line[c], widths[c]);
    }
    padded.erase(padded.find_last_not_of(' ') + 1);
    text += padded + "\n";
  }
  return text;
}

}  // namespace

std::string report_text(const CalcReport& report) {
  std::string text = clean_text(report.title) + "\n\n" + table_text(report) + "\n";
  for (const CalcResult& result : report.results) {
    text +=
        fmt::format("{}: {}\n", result.words, std::visit(TextOf{result.is_bytes}, result.value));
  }
  for (const std::string& note : report.notes) text += clean_text(note) + "\n";
  return text;
}

std::string report_document(std::string_view calculator, const CalcReport& report) {
  ordered_json document = make_document("calc");
  document["calculator"] = calculator;
  document["title"] = report.title;
  document["rows"] = ordered_json::array();
  for (const std::vector<CalcValue>& row : report.rows) {
    ordered_json object = ordered_json::object();
    for (std::size_t c = 0; c < row.size(); ++c) {
      object[std::string(report.columns[c].key)] = std::visit(JsonOf{}, row[c]);
    }
    document["rows"].push_back(std::move(object));
  }
  document["results"] = ordered_json::object();
  for (const CalcResult& result : report.results) {
    document["results"][std::string(result.key)] = std::visit(JsonOf{}, result.value);
  }
  document["notes"] = report.notes;
  return to_text(document);
}

std::string calc_required(const Arguments& arguments, std::string_view option) {
  if (arguments.has(option)) return arguments.value(option);
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("calc {}: --{} is missing", arguments.operands.front(), option),
              "'ringside calc --help' has an example of each");
}

std::int64_t calc_integer(const Arguments& arguments, std::string_view option, std::int64_t minimum,
                          std::int64_t maximum, std::string_view fallback) {
  const std::string name = fmt::format("--{}", option);
  const std::string text =
      fallback.empty() ? calc_required(arguments, option) : arguments.value(option, fallback);
  if (text.find_first_of(".eE") == std::string::npos) {
    return parse_integer(name, text, minimum, maximum);
  }
  const double value = parse_number(name, text);
  if (value != std::floor(value)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} '{}': is not a whole number", name, text));
  }
  if (value < static_cast<double>(minimum)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} {}: must be at least {}", name, text, minimum));
  }
  if (value > static_cast<double>(maximum) || value >= 0x1p63) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} {}: must be at most {}", name, text, maximum));
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace ringside::cli
