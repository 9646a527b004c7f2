// The rows of the table of commands, one from each command's own file.
#pragma once

#include "cli/command.h"

namespace ringside::cli {

Command run_command();
Command checkpoint_command();
Command draw_command();
Command collective_command();
Command bench_command();
Command doctor_command();
Command demo_command();
Command calc_command();
Command completion_command();

}  // namespace ringside::cli
