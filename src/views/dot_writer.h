// Writes DOT: deterministic text, attributes in the order they are given, every name and label
// escaped. What it writes can be read by any Graphviz.
//
// Texts that come from outside go through text() or html_text(); the writer never interprets them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringside {

/// The attributes of a node, an edge or a graph, in order.
class Attributes {
 public:
  /// A value that is plain ASCII without quotes: "box", "#FFFFFF", "filled,rounded".
  Attributes& set(std::string_view name, std::string_view value);
  /// A number with at most `decimals` decimals, trailing zeros cut.
  Attributes& set(std::string_view name, double value, int decimals = 3);
  /// A label or tooltip that people read; '\n' separates centred lines.
  Attributes& text(std::string_view name, std::string_view value);
  /// An HTML-like label: markup, whose texts have gone through html_text().
  Attributes& html(std::string_view name, std::string_view markup);

  bool empty() const { return written_.empty(); }
  /// "[a=1, b=\"x\"]"; empty without attributes.
  std::string bracketed() const;
  const std::vector<std::string>& written() const { return written_; }

 private:
  std::vector<std::string> written_;  // "name=value"
};

/// `value` with '&', '<', '>' and '"' escaped for HTML-like labels and XML.
std::string html_text(std::string_view value);

class DotWriter {
 public:
  /// `kind` is "digraph" or "graph"; `comment` stands before it.
  DotWriter(std::string_view kind, std::string_view name, std::string_view comment);

  void comment(std::string_view text);
  void blank();
  /// `target` is "graph", "node" or "edge".
  void defaults(std::string_view target, const Attributes& attributes);
  void node(std::string_view id, const Attributes& attributes);
  /// An edge through all of `ids`.
  void edge(const std::vector<std::string>& ids, const Attributes& attributes);
  void same_rank(const std::vector<std::string>& ids);
  void open_cluster(std::string_view id, const Attributes& attributes);
  void close_cluster();
  std::string finish();

 private:
  void line(std::string_view text);

  std::string text_;
  std::string_view arrow_;
  int depth_ = 1;
};

/// `name` as an identifier: letters, digits and '_' kept, everything else '_'.
std::string dot_id(std::string_view name);

}  // namespace ringside
