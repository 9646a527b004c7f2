#include "views/svg.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

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

/// The group element that begins at `begin`, with the line's end behind it.
std::size_t end_of_group(std::string_view svg, std::size_t begin) {
  std::size_t open = 0;
  for (std::size_t at = begin; at < svg.size();) {
    const std::size_t next = svg.find('<', at);
    if (next == std::string_view::npos) break;
    if (svg.substr(next).starts_with("<g ")) ++open;
    if (svg.substr(next).starts_with("</g>") && --open == 0) {
      const std::size_t end = next + std::string_view("</g>").size();
      return end < svg.size() && svg[end] == '\n' ? end + 1 : end;
    }
    at = next + 1;
  }
  return svg.size();
}

// Graphviz writes clusters in an order that differs from run to run, though their numbers do not.
// They stand together, before all nodes.
std::string with_clusters_in_order(std::string_view svg) {
  constexpr std::string_view kCluster = "<g id=\"clust";
  const std::size_t first = svg.find(kCluster);
  if (first == std::string_view::npos) return std::string(svg);
  std::map<int, std::string_view> clusters;
  std::size_t end = first;
  while (svg.substr(end).starts_with(kCluster)) {
    const std::size_t next = end_of_group(svg, end);
    int number = 0;
    const char* digits = svg.data() + end + kCluster.size();
    std::from_chars(digits, svg.data() + next, number);
    clusters.emplace(number, svg.substr(end, next - end));
    end = next;
  }
  std::string text(svg.substr(0, first));
  for (const auto& [number, cluster] : clusters) text += cluster;
  return text + std::string(svg.substr(end));
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
  return text + with_clusters_in_order(svg.substr(end + 1));
}

}  // namespace ringside
