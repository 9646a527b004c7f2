// Wrong uses of the program, and what is said of each.
#pragma once

#include <string>
#include <vector>

namespace ringside::test {

struct BadUse {
  std::vector<std::string> arguments;
  int status;
  std::string message;  ///< what standard error must begin with after "ringside: error: "
  std::string hint;     ///< what the hint must contain; empty = not looked at
};

/// Of commands, of options in general, of files, and of other commands than run and checkpoint.
std::vector<BadUse> bad_uses();
/// Of the values of run's options, their combinations, and of checkpoint.
std::vector<BadUse> bad_uses_of_run();

}  // namespace ringside::test
