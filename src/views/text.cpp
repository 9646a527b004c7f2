#include "views/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ringside {
namespace {

struct Interval {
  char32_t first;
  char32_t last;
};

// East Asian Wide and Fullwidth, in blocks [Unicode, EastAsianWidth.txt].
constexpr std::array<Interval, 12> kWide = {{{0x1100, 0x115F},
                                             {0x2E80, 0x303E},
                                             {0x3041, 0x33FF},
                                             {0x3400, 0x4DBF},
                                             {0x4E00, 0x9FFF},
                                             {0xA000, 0xA4CF},
                                             {0xAC00, 0xD7A3},
                                             {0xF900, 0xFAFF},
                                             {0xFE30, 0xFE6F},
                                             {0xFF00, 0xFF60},
                                             {0x1F300, 0x1FAFF},
                                             {0x20000, 0x3FFFD}}};
constexpr std::array<Interval, 6> kCombining = {{{0x0300, 0x036F},
                                                 {0x0483, 0x0489},
                                                 {0x200B, 0x200F},
                                                 {0x20D0, 0x20FF},
                                                 {0xFE00, 0xFE0F},
                                                 {0xFE20, 0xFE2F}}};

template <std::size_t N>
bool is_in(const std::array<Interval, N>& intervals, char32_t point) {
  return std::any_of(intervals.begin(), intervals.end(), [point](const Interval& interval) {
    return point >= interval.first && point <= interval.last;
  });
}

// Widths of U+0020 to U+007E in thousandths of the size [Adobe Helvetica.afm].
constexpr std::array<int, 95> kHelvetica = {278,  278, 355, 556, 556, 889, 667, 191, 333,
                                            333,  389, 584, 278, 333, 278, 278,  //  !"#$%&'()*+,-./
                                            556,  556, 556, 556, 556, 556, 556, 556, 556,
                                            556,  278, 278, 584, 584, 584, 556,  // 0-9:;<=>?
                                            1015, 667, 667, 722, 722, 667, 611, 778, 722,
                                            278,  500, 667, 556, 833, 722, 778,  // @A-O
                                            667,  778, 722, 667, 611, 722, 667, 944, 667,
                                            667,  611, 278, 278, 278, 469, 556,  // P-Z[\]^_
                                            333,  556, 556, 500, 556, 556, 278, 556, 556,
                                            222,  222, 500, 222, 833, 556, 556,  // `a-o
                                            556,  556, 333, 500, 278, 556, 500, 722, 500,
                                            500,  500, 334, 260, 334, 584};  // p-z{|}~

double glyph_width(char32_t point) {
  if (point >= 0x20 && point < 0x7F) return kHelvetica[point - 0x20];
  if (is_in(kCombining, point)) return 0;
  if (is_in(kWide, point)) return 1000;
  if (point == 0xA0) return 278;
  if (point >= 0x2080 && point <= 0x2099) return 400;   // subscripts
  if (point >= 0x2190 && point <= 0x22FF) return 1000;  // arrows, mathematical operators
  if (point == 0x2026 || point == 0x22EF) return 1000;  // ellipses
  return 667;
}

double points_width(const std::vector<char32_t>& points, double size, bool bold) {
  double thousandths = 0;
  for (const char32_t point : points) thousandths += glyph_width(point);
  // Helvetica-Bold is wider by 0 to 11 % a letter.
  return thousandths / 1000 * size * (bold ? 1.08 : 1.0);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char32_t point : code_points(text)) {
    if (!is_in(kCombining, point)) width += is_in(kWide, point) ? 2 : 1;
  }
  return width;
}

double text_width(std::string_view text, double size, bool bold) {
  return points_width(code_points(text), size, bold);
}

std::string fit_text(std::string_view text, double size, double width, bool bold) {
  std::vector<char32_t> points = code_points(text);
  if (points_width(points, size, bold) <= width) return to_utf8(points);
  points.push_back(U'…');
  while (points.size() > 1 && points_width(points, size, bold) > width) {
    points.erase(points.end() - 2);
  }
  return to_utf8(points);
}

std::string fit_words(std::string_view text, double size, double width) {
  std::string words = clean_text(text);
  if (text_width(words, size) <= width) return words;
  std::size_t end = words.rfind(' ');
  for (; end != std::string::npos; end = words.rfind(' ')) {
    words.resize(end);
    if (text_width(words + " …", size) <= width) return words + " …";
  }
  return "…";
}

std::vector<std::string> fit_lines(std::string_view text, double size, double width,
                                   std::size_t most) {
  std::vector<std::string> lines;
  std::string rest = clean_text(text);
  while (lines.size() + 1 < most && text_width(rest, size) > width) {
    std::size_t end = rest.rfind(' ');
    while (end != std::string::npos && end > 0 && text_width(rest.substr(0, end), size) > width) {
      end = rest.rfind(' ', end - 1);
    }
    if (end == std::string::npos || end == 0) break;
    lines.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  lines.push_back(fit_words(rest, size, width));
  return lines;
}

std::string subscript(int number) {
  std::string text;
  for (const char digit : std::to_string(number)) {
    text += to_utf8({digit == '-' ? U'₋' : U'₀' + static_cast<char32_t>(digit - '0')});
  }
  return text;
}

std::string fixed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.front() == '-' && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == 0) return "0";
  const double magnitude = std::fabs(value);
  if (magnitude < 1e-3 || magnitude >= 1e5) return fmt::format("{:.1e}", value);
  const int decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : magnitude < 0.1 ? 3 : 2;
  std::string text = fixed(value, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string format_seconds(double seconds, double scale) {
  if (scale >= 1) return short_number(seconds) + " s";
  if (scale >= 1e-3) return short_number(seconds * 1e3) + " ms";
  return short_number(seconds * 1e6) + " µs";
}

std::string as_sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text;
}

std::string format_ranks(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    if (last - i >= 2) {
      text += fmt::format("{} to {}", ranks[i], ranks[last]);
      i = last + 1;
    } else {
      text += std::to_string(ranks[i]);
      ++i;
    }
  }
  return text;
}

}  // namespace ringside
