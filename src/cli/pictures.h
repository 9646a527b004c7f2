// Pictures into a directory: which formats, and what to say where Graphviz is not built in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"
#include "ringside/views.h"

namespace ringside::cli {

/// The step that is drawn unless another is named: the one that failed, if it was recorded, else
/// the last recorded one. The trace must have steps.
int step_of_interest(const Trace& trace);

/// "dot,svg,png" taken apart; empty = SVG where it can be rendered, else DOT. Throws
/// Error(kInvalidArgument) for another format or an empty or repeated one.
std::vector<std::string> parse_formats(const std::string& text);

/// Writes the pictures and returns the paths. Formats that cannot be rendered here are written as
/// DOT instead, with a warning that has the command which renders them.
std::vector<std::string> save_pictures(const std::vector<Picture>& pictures,
                                       const std::string& directory,
                                       std::vector<std::string> formats, Terminal& terminal);

}  // namespace ringside::cli
