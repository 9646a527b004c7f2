// The command line through Boost.Program_options: the one source that sees it.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "cli/command.h"
#include "core/nearest_name.h"
#include "ringside/error.h"

namespace ringside::cli {
namespace {

namespace po = boost::program_options;

std::string help_hint(const Command& command) {
  return fmt::format("'ringside {} --help' lists the options", command.name);
}

[[noreturn]] void throw_use(const std::string& message, std::string hint) {
  throw Error(ErrorKind::kInvalidArgument, message, std::move(hint));
}

// "--name" of what Boost reports as "--name", "name" or "--name=value".
std::string with_dashes(std::string text) {
  text = text.substr(0, text.find('='));
  return text.starts_with('-') ? text : "--" + text;
}

[[noreturn]] void throw_unknown(const Command& command, const std::vector<Option>& options,
                                const std::string& reported) {
  const std::string given = with_dashes(reported);
  const std::size_t dashes = given.find_first_not_of('-');
  std::vector<std::string_view> names;
  for (const Option& option : options) names.push_back(option.name);
  const std::string nearest =
      dashes == std::string::npos ? "" : nearest_name(given.substr(dashes), names);
  throw_use(fmt::format("unknown option {}", given),
            nearest.empty() ? help_hint(command) : fmt::format("did you mean --{}?", nearest));
}

// A first guess such as "run scenario.toml" or "run ddp" names a value without its option.
std::string operand_hint(const Command& command, const std::vector<Option>& options,
                         const std::string& operand) {
  const auto hint = [&](const Option& option) {
    return fmt::format("did you mean --{} {}?", option.name, operand);
  };
  for (const Option& option : options) {
    const bool is_choice =
        option.choices != "FILE" && option.choices != "DIR" &&
        fmt::format(" {} ", option.choices).find(fmt::format(" {} ", operand)) != std::string::npos;
    if (!operand.empty() && is_choice) return hint(option);
  }
  const auto file = std::find_if(options.begin(), options.end(),
                                 [](const Option& option) { return option.choices == "FILE"; });
  if (file != options.end() && operand.find('.') != std::string::npos) return hint(*file);
  return help_hint(command);
}

const Option* find_option(const std::vector<Option>& options, std::string_view name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const Option& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

po::options_description describe(const std::vector<Option>& options) {
  po::options_description description;
  for (const Option& option : options) {
    // Boost's "name,h" gives a letter too; --help alone has one.
    const std::string name = std::string(option.name) + (option.name == "help" ? ",h" : "");
    description.add_options()(name.c_str(), po::value<std::string>(), "");
  }
  return description;
}

// "--json" becomes "--json=true": Boost would take the next word for a flag's value.
std::vector<std::string> with_flag_values(std::vector<std::string> words,
                                          const std::vector<Option>& options) {
  for (std::string& word : words) {
    if (word == "--") break;
    const Option* option = word.starts_with("--") ? find_option(options, word.substr(2)) : nullptr;
    if (option != nullptr && option->value.empty()) word += "=true";
  }
  return words;
}

void add_option(Arguments& arguments, const Option& option, const std::string& value,
                const Command& command, const std::vector<Option>& options) {
  const bool is_flag = option.value.empty();
  if (is_flag && value != "true" && value != "false") {
    throw_use(fmt::format("--{} '{}': must be true or false", option.name, value), "");
  }
  if (value.starts_with("--") &&
      find_option(options, std::string_view(value).substr(2, value.find('=') - 2)) != nullptr) {
    throw_use(fmt::format("--{}: needs a value", option.name), help_hint(command));
  }
  if (arguments.has(option.name)) {
    throw_use(fmt::format("--{}: given more than once ({} and {})", option.name,
                          arguments.value(option.name), value),
              "keep one of them");
  }
  arguments.options.emplace_back(option.name, value);
}

}  // namespace

bool Arguments::has(std::string_view name) const {
  return std::any_of(options.begin(), options.end(),
                     [&](const auto& option) { return option.first == name; });
}

bool Arguments::flag(std::string_view name) const { return value(name, "false") == "true"; }

std::string Arguments::value(std::string_view name, std::string_view fallback) const {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const auto& option) { return option.first == name; });
  return found == options.end() ? std::string(fallback) : found->second;
}

Arguments parse_arguments(const Command& command, const std::vector<std::string>& words) {
  const std::vector<Option> options = all_options(command);
  const po::options_description description = describe(options);
  namespace style = po::command_line_style;
  constexpr int kStyle = style::unix_style & ~style::allow_guessing & ~style::allow_sticky;

  Arguments arguments;
  try {
    const auto parsed = po::command_line_parser(with_flag_values(words, options))
                            .options(description)
                            .style(kStyle)
                            .run();
    for (const auto& option : parsed.options) {
      if (option.position_key >= 0) {
        arguments.operands.push_back(option.value.front());
      } else {
        add_option(arguments, *find_option(options, option.string_key), option.value.front(),
                   command, options);
      }
    }
  } catch (const po::unknown_option& error) {
    throw_unknown(command, options, error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    throw_use(fmt::format("{}: needs a value", with_dashes(error.get_option_name())),
              help_hint(command));
  } catch (const po::error& error) {
    throw_use(error.what(), help_hint(command));
  }
  if (command.operands.empty() && !arguments.operands.empty()) {
    throw_use(fmt::format("'{}': {} takes options only", arguments.operands.front(), command.name),
              operand_hint(command, options, arguments.operands.front()));
  }
  if (arguments.operands.size() > 1) {
    throw_use(
        fmt::format("'{}': only one {} may be given", arguments.operands[1], command.operands),
        help_hint(command));
  }
  return arguments;
}

}  // namespace ringside::cli
