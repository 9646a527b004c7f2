// Without Graphviz's library: DOT files are written, pictures are not.

#include "ringside/error.h"
#include "views/render.h"

namespace ringside {

bool has_graphviz() { return false; }

Rendered render_dot(const std::string&, std::string_view, std::string_view) {
  throw Error(ErrorKind::kUnavailable, "this program was built without Graphviz's library",
              "install libgraphviz-dev and build again, or render the .dot file by hand");
}

}  // namespace ringside
