// Text as views need it: clean UTF-8 (core/clean_text.h), its width on a terminal and on paper.
// Nothing depends on the locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/clean_text.h"
#include "core/counted.h"

namespace ringside {

/// Columns that `text` takes on a terminal: East Asian wide characters take two, combining marks
/// none.
std::size_t display_width(std::string_view text);

/// Width of one line in points when set in Helvetica (or a font with its metrics) of `size` points.
double text_width(std::string_view text, double size, bool bold = false);

/// `text` cut at the end, with an ellipsis, so that it is at most `width` points wide.
std::string fit_text(std::string_view text, double size, double width, bool bold = false);

/// As fit_text, but cut between words only, so that no number loses digits: "10 11 …".
std::string fit_words(std::string_view text, double size, double width);

/// The same in up to `most` lines.
std::vector<std::string> fit_lines(std::string_view text, double size, double width,
                                   std::size_t most);

/// The digits of `number` as Unicode subscripts: x₁₂.
std::string subscript(int number);

/// `value` with `decimals` decimals, '.' as decimal point, never "-0.0".
std::string fixed(double value, int decimals);
/// `value` with about three significant digits and no zeros at the end, for labels: "0.68", "20.8",
/// "6", "-3.1e-07".
std::string short_number(double value);
/// Seconds for people, the unit chosen by `scale` (usually the longest time of the picture):
/// "6.44 ms", "812 µs".
std::string format_seconds(double seconds, double scale);

/// `text` with a capital as its first letter.
std::string as_sentence(std::string text);

/// "0, 1, 3" or "0 to 7" for runs of at least three.
std::string format_ranks(const std::vector<int>& ranks);

}  // namespace ringside
