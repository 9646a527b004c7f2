// What Graphviz's SVG lacks: a role, a title and a description for people who cannot see it, and
// colours for dark pages.
#pragma once

#include <string>
#include <string_view>

#include "ringside/views.h"

namespace ringside {

/// `svg` as Graphviz writes it, but with its clusters in the order of their numbers, so that a
/// picture has the same bytes every time; with role="img", <title>, <desc> and, unless its page is
/// dark already, a style sheet that follows prefers-color-scheme.
std::string finish_svg(std::string_view svg, const Picture& picture);

}  // namespace ringside
