// The table of commands, and what all of them share.
#include "cli/commands.h"

#include <fmt/format.h>

#include <array>

#include "core/nearest_name.h"
#include "ringside/error.h"

namespace ringside::cli {

std::span<const Command> commands() {
  static const std::array<Command, 9> kCommands{
      run_command(),  checkpoint_command(), draw_command(),   collective_command(), bench_command(),
      calc_command(), demo_command(),       doctor_command(), completion_command()};
  return kCommands;
}

const Command& find_command(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  const std::string nearest = nearest_name(name, names);
  throw Error(ErrorKind::kInvalidArgument, fmt::format("unknown command '{}'", name),
              nearest.empty() ? fmt::format("the commands are {}", fmt::join(names, ", "))
                              : fmt::format("did you mean {}?", nearest));
}

std::vector<Option> all_options(const Command& command) {
  std::vector<Option> options = command.options();
  const std::array<Option, 4> common{{
      {"json", "", "write one JSON document to standard output", "Output"},
      {"quiet", "", "write nothing but errors", "Output"},
      {"color", "WHEN", "auto, always or never", "Output", "auto always never"},
      {"help", "", "this text", "Output"},
  }};
  options.insert(options.end(), common.begin(), common.end());
  return options;
}

}  // namespace ringside::cli
