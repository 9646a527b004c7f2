#include "views/svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "ringside/error.h"
#include "views/dot_writer.h"
#include "views/palette.h"

namespace ringside {
namespace {

std::string description(const Picture& picture) {
  std::string text = html_text(picture.caption);
  for (const std::string& detail : picture.details) text += "\n" + html_text(detail);
  return text;
}

bool has_light_page(const Picture& picture) {
  return picture.dot.find(fmt::format("bgcolor=\"{}\"", colour(Ink::kPage, Theme::kDark))) ==
         std::string::npos;
}

}  // namespace

std::string finish_svg(std::string_view svg, const Picture& picture) {
  const std::size_t tag = svg.find("<svg");
  const std::size_t end = tag == std::string_view::npos ? tag : svg.find('>', tag);
  if (end == std::string_view::npos) {
    throw Error(ErrorKind::kInvalidInput, "Graphviz wrote an SVG without an <svg> element");
  }
  std::string text(svg.substr(0, end));
  text += R"( role="img" aria-labelledby="picture-title picture-desc">)";
  text +=
      fmt::format("\n<title id=\"picture-title\">{}</title>\n<desc id=\"picture-desc\">{}</desc>",
                  html_text(picture.title), description(picture));
  if (has_light_page(picture)) {
    text += fmt::format("\n<style>\n@media (prefers-color-scheme: dark) {{\n{}}}\n</style>",
                        dark_page_rules());
  }
  text += svg.substr(end + 1);
  return text;
}

}  // namespace ringside
