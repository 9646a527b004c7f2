#include "scenario/prefix_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "core/split.h"
#include "ringside/error.h"

namespace ringside {
namespace {

/// What ends in the middle of a name would change other names as well.
std::string checked(std::string_view option, std::string_view prefix) {
  if (prefix.empty() || prefix.back() == '.') return std::string(prefix);
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} '{}': a prefix ends with a dot", option, prefix),
              fmt::format("write {}.", prefix));
}

PrefixRule rule_of(std::string_view pair) {
  constexpr std::string_view kOption = "rename-prefix";
  const std::size_t middle = pair.find('=');
  if (middle == std::string_view::npos || pair.find('=', middle + 1) != std::string_view::npos) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{} '{}': must be FROM=TO", kOption, pair),
                "write for example encoder.module.=encoder.");
  }
  return {checked(kOption, pair.substr(0, middle)), checked(kOption, pair.substr(middle + 1))};
}

}  // namespace

std::vector<PrefixRule> prefix_rules(std::string_view strip, std::string_view add,
                                     std::string_view rename) {
  std::vector<PrefixRule> rules;
  if (!strip.empty()) rules.push_back({checked("strip-prefix", strip), ""});
  if (!add.empty()) rules.push_back({"", checked("add-prefix", add)});
  for (const std::string_view pair : split(rename, ',')) {
    if (pair.empty()) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("rename-prefix '{}': a pair is empty", rename),
                  "write pairs separated by commas: a.=b.,c.=d.");
    }
    rules.push_back(rule_of(pair));
  }
  return rules;
}

std::string prefix_options(const Scenario& scenario) {
  std::vector<std::string> options;
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) options.push_back(fmt::format("--{} {}", option, value));
  };
  add("strip-prefix", scenario.strip_prefix);
  add("add-prefix", scenario.add_prefix);
  add("rename-prefix", scenario.rename_prefix);
  return fmt::format("{}", fmt::join(options, " "));
}

std::vector<PrefixRule> prefix_rules(const Scenario& scenario) {
  return prefix_rules(scenario.strip_prefix, scenario.add_prefix, scenario.rename_prefix);
}

}  // namespace ringside
