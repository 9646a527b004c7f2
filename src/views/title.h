// Titles and captions, the same in every picture: the title in bold, below it the caption, wrapped
// to the picture's width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringside/views.h"

namespace ringside {

/// The fonts asked for; Helvetica and its metric twins come first because widths are estimated with
/// Helvetica's metrics.
inline constexpr std::string_view kFontNames = "Helvetica,Arial,Noto Sans CJK SC,sans-serif";

/// `text` broken at spaces (CJK text: anywhere) into lines of at most `width` points.
std::vector<std::string> wrap_text(std::string_view text, double size, double width);

/// An HTML-like label. It is as wide as `width` and as high as the longest of `all_captions`, so
/// that frames with other captions are laid out alike.
std::string title_markup(std::string_view title, std::string_view caption,
                         const std::vector<std::string>& all_captions, double width, Theme theme);

}  // namespace ringside
