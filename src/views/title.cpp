#include "views/title.h"

#include <fmt/format.h>

#include <algorithm>

#include "views/dot_writer.h"
#include "views/palette.h"
#include "views/text.h"

namespace ringside {
namespace {

constexpr double kCaptionFont = 12;
constexpr char32_t kFirstCjk = 0x2E80;

}  // namespace

std::vector<std::string> wrap_text(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  std::vector<char32_t> line;
  std::size_t last_break = 0;  // one behind the last place where the line may be broken
  for (const char32_t point : code_points(text)) {
    // A number stays with its unit; CJK text may be broken anywhere.
    const bool after_digit = !line.empty() && line.back() >= U'0' && line.back() <= U'9';
    const bool is_cjk = point >= kFirstCjk || (!line.empty() && line.back() >= kFirstCjk);
    if (is_cjk) last_break = line.size();
    line.push_back(point);
    if (point == U' ' && !after_digit) last_break = line.size();
    if (text_width(to_utf8(line), size) <= width || last_break == 0) continue;
    std::vector<char32_t> head(line.begin(),
                               line.begin() + static_cast<std::ptrdiff_t>(last_break));
    if (head.size() == line.size()) continue;  // the break itself may hang over
    line.erase(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(last_break));
    while (!head.empty() && head.back() == U' ') head.pop_back();
    lines.push_back(to_utf8(head));
    last_break = 0;
  }
  if (!line.empty() || lines.empty()) lines.push_back(to_utf8(line));
  return lines;
}

std::string title_markup(std::string_view title, std::string_view caption,
                         const std::vector<std::string>& all_captions, double width, Theme theme) {
  const double wide = std::max(width, text_width(title, 17, true));
  std::size_t lines = 1;
  for (const std::string& other : all_captions) {
    lines = std::max(lines, wrap_text(other, kCaptionFont, wide).size());
  }
  std::vector<std::string> wrapped = wrap_text(caption, kCaptionFont, wide);
  wrapped.resize(std::max(lines, wrapped.size()), "\u00A0");
  std::string markup = fmt::format(
      R"(<table border="0" cellborder="0" cellspacing="2"><tr><td width="{:.0f}"><b>{}</b></td></tr>)",
      wide, html_text(title));
  for (const std::string& line : wrapped) {
    markup += fmt::format(R"(<tr><td><font point-size="{:.0f}" color="{}">{}</font></td></tr>)",
                          kCaptionFont, colour(Ink::kCaption, theme), html_text(line));
  }
  return markup + R"(<tr><td height="6"></td></tr></table>)";
}

}  // namespace ringside
