// Rendering: the seam between pictures and Graphviz's library, which may be missing at build time.
//
// render_graphviz.cpp and render_none.cpp each define these functions; CMake takes one of them.
#pragma once

#include <string>
#include <string_view>

namespace ringside {

/// What Graphviz made of a DOT text, and what it said while doing so (warnings, one a line).
struct Rendered {
  std::string bytes;
  std::string messages;
};

/// `layout` as in Picture; `format` is any that Graphviz knows ("svg", "png", "plain"). Calls are
/// serialised: the library keeps its state in globals. Throws Error(kInvalidInput) for a text that
/// is no DOT, Error(kUnavailable) without Graphviz or where a format's plug-in is missing.
Rendered render_dot(const std::string& dot, std::string_view layout, std::string_view format);

/// True where Graphviz's library was built in.
bool has_graphviz();

}  // namespace ringside
