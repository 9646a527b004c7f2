// The program: finds the command, runs it, and turns every error into a message and an exit status.
#pragma once

#include <string>
#include <vector>

namespace ringside::cli {

/// `name` is how the program was called, `words` the arguments behind it. Returns the exit status:
/// 0 done, 1 failed, 2 wrong use or bad input. Never throws.
int run_program(const std::string& name, const std::vector<std::string>& words);

}  // namespace ringside::cli
