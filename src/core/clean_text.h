// UTF-8 that comes from users and files, as it may be shown.
//
// Names of models, parameters and files may hold anything; what leaves here is valid UTF-8 without
// control characters, on one line. Nothing depends on the locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ringside {

/// The code points of `text`; a byte that is no UTF-8 and what is no character or changes the
/// direction of writing becomes U+FFFD, a control character a space.
std::vector<char32_t> code_points(std::string_view text);
std::string to_utf8(const std::vector<char32_t>& points);
/// `text` as code_points() reads it.
std::string clean_text(std::string_view text);

/// The most letters of a name that a line of text shows.
inline constexpr std::size_t kLongestShownName = 80;

/// clean_text() of a name, for people: of one with more than `most` letters the beginning and the
/// end, and how many bytes it has.
std::string shown_name(std::string_view name, std::size_t most = kLongestShownName);

}  // namespace ringside
