#include "core/clean_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace ringside {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// Reads the code point at `at` and moves behind it.
char32_t next_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char lead = byte(at);
  ++at;
  if (lead < 0x80) return lead;
  std::size_t more = 0;
  char32_t point = 0;
  char32_t smallest = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    more = 1, point = lead & 0x1FU, smallest = 0x80;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    more = 2, point = lead & 0x0FU, smallest = 0x800;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    more = 3, point = lead & 0x07U, smallest = 0x10000;
  } else {
    return kReplacement;
  }
  if (at + more > text.size()) return kReplacement;
  for (std::size_t i = 0; i < more; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return kReplacement;
    point = (point << 6U) | (byte(at + i) & 0x3FU);
  }
  if (point < smallest || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
    return kReplacement;
  }
  at += more;
  return point;
}

void append_utf8(std::string& text, char32_t point) {
  const auto put = [&text](char32_t byte) { text += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0U | (point >> 6U));
    put(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    put(0xE0U | (point >> 12U));
    put(0x80U | ((point >> 6U) & 0x3FU));
    put(0x80U | (point & 0x3FU));
  } else {
    put(0xF0U | (point >> 18U));
    put(0x80U | ((point >> 12U) & 0x3FU));
    put(0x80U | ((point >> 6U) & 0x3FU));
    put(0x80U | (point & 0x3FU));
  }
}

}  // namespace

std::vector<char32_t> code_points(std::string_view text) {
  std::vector<char32_t> points;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t point = next_point(text, at);
    const bool is_control =
        point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x2028 || point == 0x2029;
    // Not characters at all (XML has none of them), or commands to write the other way round.
    const bool is_unfit = point == 0xFFFE || point == 0xFFFF ||
                          (point >= 0x202A && point <= 0x202E) ||
                          (point >= 0x2066 && point <= 0x2069);
    points.push_back(is_control ? U' ' : is_unfit ? U'\uFFFD' : point);
  }
  return points;
}

std::string to_utf8(const std::vector<char32_t>& points) {
  std::string text;
  for (const char32_t point : points) append_utf8(text, point);
  return text;
}

std::string clean_text(std::string_view text) { return to_utf8(code_points(text)); }

std::string shown_name(std::string_view name, std::size_t most) {
  // A code point has at most four bytes: more of them need not be read to know that it is long.
  const bool is_long =
      name.size() > most && code_points(name.substr(0, 4 * most + 4)).size() > most;
  if (!is_long) return clean_text(name);
  const std::size_t back = most / 3;
  std::vector<char32_t> front = code_points(name.substr(0, 4 * most));
  front.resize(std::min(front.size(), most - back));
  std::size_t end = name.size() - back;
  while (end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) ++end;
  return fmt::format("{}…{} ({} bytes)", to_utf8(front), clean_text(name.substr(end)), name.size());
}

}  // namespace ringside
