// The program: finds the command, runs it, and turns every error into a message and an exit status.
#pragma once

#include <string>
#include <vector>

namespace ringside::cli {

/// `words` are the arguments without the program's name. Returns the exit status: 0 done, 1 failed,
/// 2 wrong use or bad input. Never throws.
int run_program(const std::vector<std::string>& words);

}  // namespace ringside::cli
