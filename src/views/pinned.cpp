#include "views/pinned.h"

#include <fmt/format.h>

#include <vector>

#include "views/text.h"
#include "views/title.h"

namespace ringside {
namespace {

constexpr double kPointsPerInch = 72;
constexpr double kTitleFont = 17;
constexpr double kCaptionFont = 12;
constexpr double kLineHeight = 16;

}  // namespace

void write_pinned_defaults(DotWriter& dot, std::string_view title, Theme theme) {
  dot.defaults("graph", Attributes()
                            .set("bgcolor", colour(Ink::kPage, theme))
                            .set("pad", 0.25)
                            .set("splines", "line")
                            .set("outputorder", "nodesfirst")
                            .set("fontname", kFontNames)
                            .text("tooltip", title));
  dot.defaults("node", Attributes()
                           .set("shape", "box")
                           .set("style", "filled")
                           .set("fixedsize", "true")
                           .set("fontname", kFontNames)
                           .set("fontsize", 10.5)
                           .set("penwidth", 1.1)
                           .set("margin", 0.0));
}

Attributes pinned(Place place, double width, double height) {
  Attributes attributes;
  attributes.set("pos", fmt::format("{},{}", fixed(place.x, 2), fixed(place.y, 2)));
  attributes.set("width", width / kPointsPerInch, 4).set("height", height / kPointsPerInch, 4);
  return attributes;
}

void write_pinned_text(DotWriter& dot, std::string_view id, Place place, std::string_view text,
                       double size, const std::string& colour, bool bold) {
  Attributes attributes = pinned(place, text_width(text, size, bold) + 12, size + 6);
  attributes.set("shape", "plaintext").set("style", "");
  if (bold) {
    attributes.html("label", fmt::format("<b>{}</b>", html_text(text)));
  } else {
    attributes.text("label", text);
  }
  attributes.set("fontsize", size).set("fontcolor", colour);
  dot.node(id, attributes);
}

void write_pinned_title(DotWriter& dot, double middle, double bottom, double width,
                        std::string_view title, std::string_view subtitle, Theme theme) {
  const std::vector<std::string> lines = wrap_text(subtitle, kCaptionFont, width);
  double y = bottom + kLineHeight * static_cast<double>(lines.size());
  write_pinned_text(dot, "title", {middle, y + 6}, title, kTitleFont, colour(Ink::kTitle, theme),
                    true);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    y -= kLineHeight;
    write_pinned_text(dot, fmt::format("subtitle{}", i), {middle, y}, lines[i], kCaptionFont,
                      colour(Ink::kCaption, theme));
  }
}

void write_pinned_caption(DotWriter& dot, double middle, double top, double width,
                          std::string_view caption, Theme theme) {
  const std::vector<std::string> lines = wrap_text(caption, kCaptionFont, width);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    write_pinned_text(dot, fmt::format("note{}", i),
                      {middle, top - kLineHeight * static_cast<double>(i)}, lines[i], kCaptionFont,
                      colour(Ink::kTitle, theme));
  }
}

}  // namespace ringside
