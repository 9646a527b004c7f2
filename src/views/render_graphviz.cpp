// Rendering through libcgraph and libgvc.
//
// The library is not thread-safe and reports to a global hook, so one mutex guards every call. The
// plug-ins (layout, Pango, Cairo) are loaded by the first picture, not at the start of the program.

#include <fmt/format.h>
#include <graphviz/cgraph.h>
#include <graphviz/gvc.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "ringside/error.h"
#include "views/render.h"

namespace ringside {
namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

// Graphviz calls back with pieces of messages and no context.
std::string& collected_messages() {
  static std::string messages;
  return messages;
}

extern "C" int collect_message(char* piece) {
  collected_messages() += piece;
  return 0;
}

// Takes Graphviz's messages away from stderr for a scope.
class MessageScope {
 public:
  MessageScope() : before_(agseterrf(collect_message)) { collected_messages().clear(); }
  ~MessageScope() { agseterrf(before_); }
  MessageScope(const MessageScope&) = delete;
  MessageScope& operator=(const MessageScope&) = delete;

  std::string messages() const {
    std::string text = collected_messages();
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text;
  }

 private:
  agusererrf before_;
};

struct FreeContext {
  void operator()(GVC_t* context) const { gvFreeContext(context); }
};
struct CloseGraph {
  void operator()(Agraph_t* graph) const { agclose(graph); }
};
struct FreeRendered {
  void operator()(char* data) const { gvFreeRenderData(data); }
};

// A layout belongs to its graph and must go before it.
class Layout {
 public:
  Layout(GVC_t* context, Agraph_t* graph, const char* engine)
      : context_(context), graph_(graph), done_(gvLayout(context, graph, engine) == 0) {}
  ~Layout() {
    if (done_) gvFreeLayout(context_, graph_);
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  bool done() const { return done_; }

 private:
  GVC_t* context_;
  Agraph_t* graph_;
  bool done_;
};

// One context for the life of the program: making one reads the list of plug-ins again.
GVC_t* library_context() {
  static const std::unique_ptr<GVC_t, FreeContext> context(gvContext());
  return context.get();
}

constexpr double kDotsPerInch = 110;  // of raster pictures
constexpr double kPointsPerInch = 72;

void set_attribute(Agraph_t* graph, std::string name, std::string value) {
  std::string none;
  agsafeset(graph, name.data(), value.data(), none.data());
}

// A margin of at least a quarter inch that makes the whole a whole number of dots: else the last
// row and column of dots are only partly painted, which shows on dark pages.
double margin_inches(double points) {
  const double inches = points / kPointsPerInch;
  const double dots = std::ceil((inches + 0.5) * kDotsPerInch);
  return (dots / kDotsPerInch - inches) / 2;
}

void set_margins(Agraph_t* graph) {
  const boxf box = GD_bb(graph);
  set_attribute(graph, "pad",
                fmt::format("{:.6f},{:.6f}", margin_inches(box.UR.x - box.LL.x),
                            margin_inches(box.UR.y - box.LL.y)));
}

}  // namespace

bool has_graphviz() { return true; }

Rendered render_dot(const std::string& dot, std::string_view layout, std::string_view format) {
  const std::lock_guard lock(library_mutex());
  const MessageScope scope;
  const std::unique_ptr<Agraph_t, CloseGraph> graph(agmemread(dot.c_str()));
  if (!graph) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("Graphviz cannot read the picture: {}", scope.messages()));
  }
  const bool is_raster = format == "png";
  if (is_raster) set_attribute(graph.get(), "dpi", fmt::format("{:.0f}", kDotsPerInch));
  GVC_t* context = library_context();
  const std::string engine = layout == "neato" ? "nop2" : std::string(layout);  // neato -n2
  const Layout laid_out(context, graph.get(), engine.c_str());
  if (!laid_out.done()) {
    throw Error(ErrorKind::kUnavailable,
                fmt::format("Graphviz cannot lay out with {}: {}", engine, scope.messages()),
                "check Graphviz's plug-ins with: dot -c");
  }
  if (is_raster) set_margins(graph.get());
  char* data = nullptr;
  unsigned int length = 0;
  const int failed =
      gvRenderData(context, graph.get(), std::string(format).c_str(), &data, &length);
  const std::unique_ptr<char, FreeRendered> owned(data);
  if (failed != 0 || data == nullptr) {
    throw Error(ErrorKind::kUnavailable,
                fmt::format("Graphviz cannot render {}: {}", format, scope.messages()),
                "check Graphviz's plug-ins with: dot -c");
  }
  return {std::string(data, length), scope.messages()};
}

}  // namespace ringside
