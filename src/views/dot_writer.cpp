#include "views/dot_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "views/text.h"

namespace ringside {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_bare_word(std::string_view value) {
  static constexpr std::array<std::string_view, 6> kKeywords = {"node",     "edge",   "graph",
                                                                "subgraph", "strict", "digraph"};
  return !value.empty() && is_letter(value.front()) &&
         std::all_of(value.begin(), value.end(),
                     [](char c) { return is_letter(c) || is_digit(c); }) &&
         std::find(kKeywords.begin(), kKeywords.end(), value) == kKeywords.end();
}

// Graphviz reads entities in labels, so that an '&' of the user's must become one, and a
// non-breaking space may be written as one that people can see. '<' and '>' are plain text here.
std::string escaped(std::string_view value) {
  std::string text;
  for (const char32_t point : code_points(value)) {
    switch (point) {
      case U'\\':
        text += R"(\\)";
        break;
      case U'"':
        text += R"(\")";
        break;
      case U'&':
        text += "&amp;";
        break;
      case U'\u00A0':
        text += "&#160;";
        break;
      default:
        text += to_utf8({point});
    }
  }
  return text;
}

}  // namespace

Attributes& Attributes::set(std::string_view name, std::string_view value) {
  written_.push_back(is_bare_word(value) ? fmt::format("{}={}", name, value)
                                         : fmt::format("{}=\"{}\"", name, value));
  return *this;
}

Attributes& Attributes::set(std::string_view name, double value, int decimals) {
  std::string number = fixed(value, decimals);
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  if (number == "-0") number = "0";
  written_.push_back(fmt::format("{}={}", name, number));
  return *this;
}

Attributes& Attributes::text(std::string_view name, std::string_view value) {
  std::string lines;
  for (std::size_t begin = 0;;) {
    const std::size_t end = value.find('\n', begin);
    lines += escaped(value.substr(begin, end - begin));
    if (end == std::string_view::npos) break;
    lines += "\\n";
    begin = end + 1;
  }
  written_.push_back(fmt::format("{}=\"{}\"", name, lines));
  return *this;
}

Attributes& Attributes::html(std::string_view name, std::string_view markup) {
  written_.push_back(fmt::format("{}=<{}>", name, markup));
  return *this;
}

std::string Attributes::bracketed() const {
  if (written_.empty()) return "";
  return fmt::format(" [{}]", fmt::join(written_, ", "));
}

std::string html_text(std::string_view value) {
  std::string text;
  for (const char32_t point : code_points(value)) {
    switch (point) {
      case U'&':
        text += "&amp;";
        break;
      case U'<':
        text += "&lt;";
        break;
      case U'>':
        text += "&gt;";
        break;
      case U'"':
        text += "&quot;";
        break;
      case U'\u00A0':
        text += "&#160;";
        break;
      default:
        text += to_utf8({point});
    }
  }
  return text;
}

DotWriter::DotWriter(std::string_view kind, std::string_view name, std::string_view comment)
    : arrow_(kind == "digraph" ? " -> " : " -- ") {
  for (std::size_t begin = 0; begin < comment.size();) {
    const std::size_t end = std::min(comment.find('\n', begin), comment.size());
    text_ += fmt::format("// {}\n", clean_text(comment.substr(begin, end - begin)));
    begin = end + 1;
  }
  text_ += fmt::format("{} {} {{\n", kind, dot_id(name));
}

void DotWriter::line(std::string_view text) {
  text_.append(2 * static_cast<std::size_t>(depth_), ' ');
  text_ += text;
  text_ += '\n';
}

void DotWriter::comment(std::string_view text) { line("// " + clean_text(text)); }

void DotWriter::blank() { text_ += '\n'; }

void DotWriter::defaults(std::string_view target, const Attributes& attributes) {
  line(fmt::format("{}{};", target, attributes.bracketed()));
}

void DotWriter::node(std::string_view id, const Attributes& attributes) {
  line(fmt::format("{}{};", id, attributes.bracketed()));
}

void DotWriter::edge(const std::vector<std::string>& ids, const Attributes& attributes) {
  line(fmt::format("{}{};", fmt::join(ids, arrow_), attributes.bracketed()));
}

void DotWriter::same_rank(const std::vector<std::string>& ids) {
  line(fmt::format("{{ rank=same; {}; }}", fmt::join(ids, "; ")));
}

void DotWriter::open_cluster(std::string_view id, const Attributes& attributes) {
  line(fmt::format("subgraph cluster_{} {{", id));
  ++depth_;
  for (const std::string& attribute : attributes.written()) line(attribute + ";");
}

void DotWriter::close_cluster() {
  --depth_;
  line("}");
}

std::string DotWriter::finish() { return text_ + "}\n"; }

std::string dot_id(std::string_view name) {
  std::string id;
  for (const char c : name) id += is_letter(c) || is_digit(c) ? c : '_';
  if (id.empty() || is_digit(id.front())) id.insert(0, "_");
  return id;
}

}  // namespace ringside
