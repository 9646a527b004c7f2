// Bodies of pictures.h.
#include "cli/pictures.h"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/error.h"

namespace ringside::cli {

std::vector<std::string> parse_formats(const std::string& text) {
  if (text.empty()) return {can_render() ? "svg" : "dot"};
  std::vector<std::string> formats;
  std::string_view rest = text;
  for (;;) {
    const std::size_t comma = rest.find(',');
    std::string format(rest.substr(0, comma));
    if (format != "dot" && format != "svg" && format != "png") {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--format '{}': '{}' must be one of dot svg png", text, format),
                  "several are separated by commas: --format dot,svg");
    }
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) {
      formats.push_back(std::move(format));
    }
    if (comma == std::string_view::npos) return formats;
    rest.remove_prefix(comma + 1);
  }
}

int step_of_interest(const Trace& trace) {
  const std::vector<int> steps = trace.steps();
  const bool has_failed_step =
      !trace.run.failure.empty() &&
      std::find(steps.begin(), steps.end(), trace.run.failed_step) != steps.end();
  return has_failed_step ? trace.run.failed_step : steps.back();
}

std::vector<std::string> save_pictures(const std::vector<Picture>& pictures,
                                       const std::string& directory,
                                       std::vector<std::string> formats, Terminal& terminal) {
  const auto rendered = [](const std::string& format) { return format != "dot"; };
  const auto wanted = std::find_if(formats.begin(), formats.end(), rendered);
  if (wanted != formats.end() && !can_render() && !pictures.empty()) {
    terminal.warn(fmt::format(
        "this program was built without Graphviz's library: the pictures are DOT text; render one "
        "with: {}",
        render_command(pictures.front(), *wanted)));
    formats = {"dot"};
  }
  return write_pictures(pictures, directory, formats);
}

}  // namespace ringside::cli
