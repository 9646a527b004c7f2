#include "views/dot_nodes.h"

#include <regex>
#include <sstream>

namespace ringside::test {

DotText read_dot(const std::string& dot) {
  static const std::regex node_line(R"(^\s*([A-Za-z_]\w*)( \[(.*)\])?;$)");
  static const std::regex edge_line(R"(^\s*(\w+ (?:->|--) .*?)( \[.*\])?;$)");
  static const std::set<std::string> defaults = {"graph", "node", "edge"};
  DotText text;
  std::istringstream in(dot);
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_match(line, match, node_line) && !defaults.contains(match[1])) {
      text.nodes[match[1]] = match[3];
    } else if (std::regex_match(line, match, edge_line)) {
      text.edges.insert(match[1]);
    }
  }
  return text;
}

std::string attribute(const std::string& attributes, const std::string& name) {
  const std::regex pattern("(^|, )" + name + R"re(=("((\\.|[^"\\])*)"|[^,\]]*))re");
  std::smatch match;
  if (!std::regex_search(attributes, match, pattern)) return "";
  return match[3].matched ? match[3].str() : match[2].str();
}

std::string label(const DotText& dot, const std::string& node) {
  return attribute(dot.nodes.at(node), "label");
}

}  // namespace ringside::test
