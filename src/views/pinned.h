// Pinned pictures: every node has its place in points, and neato -n2 draws them as they stand, in
// the order they are written.
#pragma once

#include <string>
#include <string_view>

#include "ringside/views.h"
#include "views/dot_writer.h"
#include "views/palette.h"

namespace ringside {

/// A point of the picture; y grows upwards.
struct Place {
  double x = 0;
  double y = 0;
};

/// The defaults of graph and nodes.
void write_pinned_defaults(DotWriter& dot, std::string_view title, Theme theme);

/// Where a node is and how large, in points.
Attributes pinned(Place place, double width, double height);

/// A line of text, centred at `place`, without a box.
void write_pinned_text(DotWriter& dot, std::string_view id, Place place, std::string_view text,
                       double size, const std::string& colour, bool bold = false);

/// Title and wrapped lines below it, upwards from `bottom` and centred at `middle`.
void write_pinned_title(DotWriter& dot, double middle, double bottom, double width,
                        std::string_view title, std::string_view subtitle, Theme theme);

/// The caption below the picture, downwards from `top`.
void write_pinned_caption(DotWriter& dot, double middle, double top, double width,
                          std::string_view caption, Theme theme);

}  // namespace ringside
