// Bodies of help.h.
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal.h"

namespace ringside::cli {
namespace {

constexpr std::size_t kWidth = 88;

std::string spelling(const Option& option) {
  const std::string value = option.value.empty() ? "" : fmt::format(" {}", option.value);
  return fmt::format("--{}{}", option.name, value);
}

std::string option_list(const std::vector<Option>& options, bool color) {
  std::size_t width = 0;
  for (const Option& option : options) width = std::max(width, spelling(option).size());
  std::string text;
  std::string_view heading;
  for (const Option& option : options) {
    if (option.heading != heading) {
      heading = option.heading;
      text += fmt::format("\n{}\n", paint(fmt::format("{}:", heading), Style::kBold, color));
    }
    text += fmt::format("  {:<{}}  {}\n", spelling(option), width,
                        wrap(option.help, width + 4, kWidth));
  }
  return text;
}

}  // namespace

std::string program_help(bool color) {
  std::string text = fmt::format(
      "Ringside shows data-parallel training one message at a time.\n\n{} ringside COMMAND "
      "[--OPTION ...]\n\n{}\n",
      paint("Usage:", Style::kBold, color), paint("Commands:", Style::kBold, color));
  for (const Command& command : commands()) {
    text += fmt::format("  {:<12}{}\n", command.name, command.summary);
  }
  text += fmt::format(
      "\n{}\n  --help       this text; 'ringside COMMAND --help' has a command's options and "
      "examples\n  --version    the version\n\n"
      "Exit status: 0 done, 1 failed, 2 wrong use or bad input. Start with: ringside demo\n",
      paint("Options:", Style::kBold, color));
  return text;
}

std::string command_help(const Command& command, bool color) {
  std::string text =
      fmt::format("{} ringside {}{}{} [--OPTION ...]\n\n{}\n", paint("Usage:", Style::kBold, color),
                  command.name, command.operands.empty() ? "" : " ", command.operands,
                  wrap(command.description, 0, kWidth));
  text += option_list(all_options(command), color);
  text += fmt::format("\n{}\n", paint("Examples:", Style::kBold, color));
  std::string_view examples = command.examples;
  while (!examples.empty()) {
    const std::size_t end = std::min(examples.find('\n'), examples.size());
    text += fmt::format("  {}\n", examples.substr(0, end));
    examples.remove_prefix(std::min(end + 1, examples.size()));
  }
  return text;
}

}  // namespace ringside::cli
