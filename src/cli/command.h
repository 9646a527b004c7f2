// What a subcommand is: a row of the table in commands.cpp. Help, parsing, hints for misspelt
// options and shell completion are all made from these rows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringside::cli {

class Terminal;

struct Option {
  std::string_view name;          ///< without the dashes
  std::string_view value = {};    ///< the value's name in help; empty for a flag
  std::string_view help = {};     ///< one sentence
  std::string_view heading = {};  ///< group in help
  /// values for completion, separated by blanks; "FILE" and "DIR" stand for paths
  std::string_view choices = {};
};

/// The command line of one subcommand, taken apart.
class Arguments {
 public:
  std::vector<std::pair<std::string, std::string>> options;  ///< in order; flags have "true"
  std::vector<std::string> operands;
  std::string program = "ringside";  ///< as it was called: a name, or a path

  bool has(std::string_view name) const;
  bool flag(std::string_view name) const;  ///< given and not =false
  /// The value, or `fallback` where the option was not given.
  std::string value(std::string_view name, std::string_view fallback = {}) const;
};

struct Command {
  std::string_view name;
  std::string_view summary;   ///< one line
  std::string_view operands;  ///< as shown in usage: "OPERATION"; empty = none
  /// what completion offers for the operand: words, or as an option's choices FILE or DIR
  std::string_view operand_choices;
  std::string_view description;
  std::string_view examples;  ///< lines "command  # what it shows"
  std::vector<Option> (*options)();
  /// Returns the exit status; throws Error.
  int (*run)(const Arguments& arguments, Terminal& terminal);
};

/// All subcommands, in the order of help.
std::span<const Command> commands();
/// Throws Error(kInvalidArgument) with the nearest name as hint.
const Command& find_command(std::string_view name);
/// The options of the command, and after them those that every command has.
std::vector<Option> all_options(const Command& command);

/// Takes `words` (without program and command name) apart. Throws Error(kInvalidArgument) for
/// unknown or repeated options (with the nearest as hint), missing values and too many operands.
Arguments parse_arguments(const Command& command, const std::vector<std::string>& words);

}  // namespace ringside::cli
