// Reads back the DOT texts that this program writes: enough to say which nodes and edges are there
// and which attributes a node has.
#pragma once

#include <map>
#include <set>
#include <string>

namespace ringside::test {

struct DotText {
  std::map<std::string, std::string> nodes;  ///< id to its attributes, as written
  std::multiset<std::string> edges;          ///< "a -> b", without attributes
};

DotText read_dot(const std::string& dot);

/// The value of `name` in the attributes of a node, without quotes; empty if it has none.
std::string attribute(const std::string& attributes, const std::string& name);

/// The label of a node, which must be there.
std::string label(const DotText& dot, const std::string& node);

}  // namespace ringside::test
