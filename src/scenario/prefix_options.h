// strip-prefix, add-prefix and rename-prefix as rules, in this order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/state_keys.h"
#include "ringside/scenario.h"

namespace ringside {

/// Throws Error(kInvalidArgument) for a prefix that does not end with a dot, or a pair without "=".
std::vector<PrefixRule> prefix_rules(const Scenario& scenario);
std::vector<PrefixRule> prefix_rules(std::string_view strip, std::string_view add,
                                     std::string_view rename);

/// Those of them that are given, as on a command line: "--strip-prefix module. --add-prefix net.".
std::string prefix_options(const Scenario& scenario);

}  // namespace ringside
