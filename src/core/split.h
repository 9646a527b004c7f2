// Lists in a text, and replacing parts of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ringside {

/// The parts between separators: "a,b" has two, "a," too, of which the second is empty. An empty
/// text has none. Views into `text`, or copies of them.
template <typename Part = std::string_view>
std::vector<Part> split(std::string_view text, char separator) {
  std::vector<Part> parts;
  if (text.empty()) return parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// `text` with every `from`, taken from the left, replaced by `to`: Python's str.replace.
inline std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (;;) {
    const std::size_t at = text.find(from);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += to;
    text.remove_prefix(at + from.size());
  }
}

}  // namespace ringside
