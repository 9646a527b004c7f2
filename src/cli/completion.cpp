// ringside completion: scripts for bash, zsh and fish, made from the table of commands.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/terminal.h"
#include "core/nearest_name.h"
#include "core/split.h"
#include "ringside/error.h"

namespace ringside::cli {
namespace {

constexpr std::string_view kShells = "bash zsh fish";

bool is_path(std::string_view choices) { return choices == "FILE" || choices == "DIR"; }

std::string command_names() {
  std::string names;
  for (const Command& command : commands()) names += fmt::format("{} ", command.name);
  return names + "help";
}

// ---------------------------------------------------------------- bash

std::string bash_words(std::string_view choices) {
  return choices == "FILE" ? "-f" : choices == "DIR" ? "-d" : fmt::format("-W '{}'", choices);
}

std::string bash_values(const Command& command) {
  std::string text;
  for (const Option& option : all_options(command)) {
    if (option.value.empty()) continue;
    text += fmt::format("    '{} --{}') reply=({}) ;;\n", command.name, option.name,
                        bash_words(option.choices));
  }
  return text;
}

std::string bash_script() {
  std::string values;
  std::string words;
  for (const Command& command : commands()) {
    values += bash_values(command);
    // Of a file name, compgen takes both: -f for it, and -W for the options.
    const bool path = is_path(command.operand_choices);
    std::string names(path ? "" : command.operand_choices);
    for (const Option& option : all_options(command)) names += fmt::format(" --{}", option.name);
    words += fmt::format("    {}) reply=({}-W '{}') ;;\n", command.name,
                         path ? bash_words(command.operand_choices) + " " : "", names);
  }
  return fmt::format(R"(# Completion of ringside for bash: source <(ringside completion bash)
_ringside() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local command=${{COMP_WORDS[1]}} reply=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$current"))
    return
  fi
  case "$command $previous" in
{}  esac
  if [[ ${{#reply[@]}} -eq 0 ]]; then
    case "$command" in
{}    help) reply=(-W '{}') ;;
    esac
  fi
  if [[ ${{#reply[@]}} -gt 0 ]]; then
    mapfile -t COMPREPLY < <(compgen "${{reply[@]}}" -- "$current")
  fi
}}
complete -o filenames -F _ringside ringside
)",
                     command_names(), values, words, command_names());
}

// ---------------------------------------------------------------- zsh

std::string zsh_quoted(std::string_view text) {
  std::string result = replace_all(text, "'", "'\\''");
  for (const char* special : {"[", "]", ":"}) {
    result = replace_all(result, special, std::string("\\") + special);
  }
  return result;
}

std::string zsh_action(std::string_view choices) {
  return choices == "FILE"  ? "_files"
         : choices == "DIR" ? "_files -/"
         : choices.empty()  ? " "
                            : fmt::format("({})", zsh_quoted(choices));
}

std::string zsh_option(const Option& option) {
  std::string text = fmt::format("--{}[{}]", option.name, zsh_quoted(option.help));
  if (option.value.empty()) return text;
  return text + fmt::format(":{}:{}", zsh_quoted(option.value), zsh_action(option.choices));
}

std::string zsh_script() {
  std::string summaries;
  std::string cases;
  std::string names;
  for (const Command& command : commands()) {
    summaries += fmt::format("    '{}:{}'\n", command.name, zsh_quoted(command.summary));
    names += fmt::format(" {}", command.name);
    std::string arguments;
    for (const Option& option : all_options(command)) {
      arguments += fmt::format(" \\\n        '{}'", zsh_option(option));
    }
    if (!command.operands.empty()) {
      arguments += fmt::format(" \\\n        '1:{}:{}'", command.operands,
                               zsh_action(command.operand_choices));
    }
    cases += fmt::format("    {})\n      _arguments{}\n      ;;\n", command.name, arguments);
  }
  summaries += "    'help:show the help of a command'\n";
  cases += fmt::format("    help)\n      _arguments '1:COMMAND:({})'\n      ;;\n", names);
  return fmt::format(R"(#compdef ringside
# Completion of ringside for zsh: source <(ringside completion zsh)
_ringside() {{
  local -a names
  names=(
{}  )
  if (( CURRENT == 2 )); then
    _describe 'command' names
    return
  fi
  local command=$words[2]
  words=("${{(@)words[2,-1]}}")
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [[ $funcstack[1] == _ringside ]]; then
  _ringside "$@"  # as a file in fpath
else
  compdef _ringside ringside
fi
)",
                     summaries, cases);
}

// ---------------------------------------------------------------- fish

std::string fish_quoted(std::string_view text) {
  return replace_all(replace_all(text, "\\", "\\\\"), "'", "\\'");
}

std::string fish_script() {
  std::string text =
      "# Completion of ringside for fish: ringside completion fish | source\n"
      "complete -c ringside -f\n";
  for (const Command& command : commands()) {
    text += fmt::format("complete -c ringside -n __fish_use_subcommand -a {} -d '{}'\n",
                        command.name, fish_quoted(command.summary));
  }
  const std::string help = "complete -c ringside -n '__fish_seen_subcommand_from help' -a";
  text += "complete -c ringside -n __fish_use_subcommand -a help -d 'show the help of a command'\n";
  for (const Command& command : commands()) {
    text += fmt::format("{} {} -d '{}'\n", help, command.name, fish_quoted(command.summary));
  }
  for (const Command& command : commands()) {
    const std::string condition = fmt::format("-n '__fish_seen_subcommand_from {}'", command.name);
    if (is_path(command.operand_choices)) {
      text += fmt::format("complete -c ringside {} -F\n", condition);
    } else if (!command.operand_choices.empty()) {
      text += fmt::format("complete -c ringside {} -a '{}'\n", condition, command.operand_choices);
    }
    for (const Option& option : all_options(command)) {
      const std::string values = option.value.empty()      ? ""
                                 : is_path(option.choices) ? " -r -F"
                                 : option.choices.empty()
                                     ? " -x"
                                     : fmt::format(" -x -a '{}'", option.choices);
      text += fmt::format("complete -c ringside {} -l {}{} -d '{}'\n", condition, option.name,
                          values, fish_quoted(option.help));
    }
  }
  return text;
}

std::string script_for(const std::string& shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  static constexpr std::string_view kNames[] = {"bash", "zsh", "fish"};
  const std::string nearest = nearest_name(shell, kNames);
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("completion: shell '{}': must be one of {}", shell, kShells),
              nearest.empty() ? "" : fmt::format("did you mean {}?", nearest));
}

std::vector<Option> options() { return {}; }

int run(const Arguments& arguments, Terminal& terminal) {
  if (arguments.operands.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("completion: no shell is given: one of {}", kShells),
                "such as: source <(ringside completion bash)");
  }
  const std::string& shell = arguments.operands.front();
  const std::string script = script_for(shell);
  terminal.emit(terminal.json() ? completion_document(shell, script) : script);
  return 0;
}

}  // namespace

Command completion_command() {
  return {
      .name = "completion",
      .summary = "print shell completion for bash, zsh or fish",
      .operands = "SHELL",
      .operand_choices = kShells,
      .description = "Prints a script that completes commands, options and their values.",
      .examples =
          "source <(ringside completion bash)    # in ~/.bashrc\n"
          "source <(ringside completion zsh)     # in ~/.zshrc, after compinit\n"
          "ringside completion fish | source     # in ~/.config/fish/config.fish",
      .options = options,
      .run = run,
  };
}

}  // namespace ringside::cli
