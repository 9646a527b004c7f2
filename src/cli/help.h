// The texts of --help, made from the table of commands.
#pragma once

#include <string>

#include "cli/command.h"

namespace ringside::cli {

/// `ringside --help`: what the program is, its commands, where to start.
std::string program_help(bool color);
/// `ringside COMMAND --help`.
std::string command_help(const Command& command, bool color);

}  // namespace ringside::cli
