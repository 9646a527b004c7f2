// From a FlowDiagram to DOT. dot places the nodes; what holds them in place is described in
// docs/diagrams.md ("Stable positions").

#include "views/flow.h"

#include <fmt/format.h>

#include <algorithm>

#include "views/dot_writer.h"
#include "views/flow_sizes.h"
#include "views/text.h"
#include "views/title.h"

namespace ringside {
namespace {

std::string row_id(const FlowRow& row) { return dot_id(row.name); }

// Kilobytes thin, megabytes thick; the exact figure stands beside the line.
double pen_width(std::size_t bytes) { return bytes >= 1'000'000 ? 3.4 : 1.6; }

class FlowWriter {
 public:
  FlowWriter(const FlowDiagram& diagram, Theme theme, std::optional<std::size_t> present)
      : diagram_(diagram),
        theme_(theme),
        present_(present),
        sizes_(measure(diagram)),
        dot_("digraph", present ? diagram.name + "_" + diagram.rows[*present].name : diagram.name,
             fmt::format("{}\nConventions: docs/diagrams.md. Render with: dot -Tsvg FILE.dot -o "
                         "FILE.svg",
                         diagram.title)) {}

  std::string write() {
    write_defaults();
    write_left_column();
    for (std::size_t lane = 0; lane < diagram_.lanes.size(); ++lane) write_lane(lane);
    write_skeleton();
    for (std::size_t row = 1; row < diagram_.rows.size(); ++row) write_edges(row);
    return dot_.finish();
  }

 private:
  Tense tense_of(std::size_t row) const {
    if (!present_ || row == *present_) return Tense::kPresent;
    return row < *present_ ? Tense::kPast : Tense::kFuture;
  }
  std::string ink(Ink name, Tense tense = Tense::kPresent) const {
    return colour(name, theme_, tense);
  }
  std::string class_of(std::string_view name, Tense tense) const {
    if (tense == Tense::kPast) return fmt::format("{} past", name);
    return present_ ? fmt::format("{} now", name) : std::string(name);
  }
  std::string node_id(std::size_t row, std::size_t lane) const {
    return fmt::format("{}_{}", row_id(diagram_.rows[row]), diagram_.lanes[lane].id);
  }
  std::string bus_id(std::size_t row, std::size_t lane) const {
    return fmt::format("{}_bus{}", row_id(diagram_.rows[row]), diagram_.lanes[lane].id);
  }
  std::string group_of(std::size_t lane) const { return "g" + diagram_.lanes[lane].id; }

  // One weight of line for a whole transfer: that of its largest labelled amount.
  static double pen_of(const FlowRow& row) {
    std::size_t most = 0;
    for (const FlowPort& port : row.ports) most = std::max(most, port.amount);
    return pen_width(most);
  }

  // Lanes from the first to the last that takes part in a transfer: the extent of its bus.
  std::pair<std::size_t, std::size_t> bus_extent(const FlowRow& row) const {
    std::pair<std::size_t, std::size_t> extent = {row.ports.size(), 0};
    for (std::size_t lane = 0; lane < row.ports.size(); ++lane) {
      if (row.ports[lane].sent == 0 && row.ports[lane].received == 0) continue;
      extent.first = std::min(extent.first, lane);
      extent.second = lane;
    }
    return extent;
  }

  void write_defaults();
  void write_left_column();
  void write_lane(std::size_t lane);
  void write_box(std::size_t row, std::size_t lane);
  void write_skeleton();
  void write_edges(std::size_t row);
  bool stays(std::size_t row, std::size_t lane) const;
  void write_plain_edge(std::size_t row, std::size_t lane);
  void write_ported_edges(std::size_t row, std::size_t lane);
  Attributes line(Ink name, Tense tense, double width) const;
  Attributes invisible() const { return Attributes().set("style", "invis").set("weight", 200.0); }

  const FlowDiagram& diagram_;
  Theme theme_;
  std::optional<std::size_t> present_;
  FlowSizes sizes_;
  DotWriter dot_;
};

void FlowWriter::write_defaults() {
  std::vector<std::string> captions = {diagram_.caption};
  for (const FlowRow& row : diagram_.rows) captions.push_back(row.caption);
  const std::string& caption = present_ ? diagram_.rows[*present_].caption : diagram_.caption;
  dot_.defaults("graph", Attributes()
                             .set("newrank", "true")
                             .set("rankdir", "TB")
                             .set("ranksep", 0.17)
                             .set("nodesep", 0.30)
                             .set("splines", "line")
                             .set("outputorder", "edgesfirst")
                             .set("bgcolor", ink(Ink::kPage))
                             .set("pad", 0.25)
                             .set("labelloc", "t")
                             .set("fontname", kFontNames)
                             .set("fontsize", 17.0)
                             .set("fontcolor", ink(Ink::kTitle))
                             .text("tooltip", diagram_.title)
                             .html("label", title_markup(diagram_.title, caption, captions,
                                                         sizes_.picture, theme_)));
  dot_.defaults("node", Attributes()
                            .set("shape", "box")
                            .set("style", "filled,rounded")
                            .set("fontname", kFontNames)
                            .set("fontsize", kBoxFont)
                            .set("fixedsize", "true")
                            .set("penwidth", 1.4)
                            .set("margin", 0.0));
  dot_.defaults(
      "edge",
      Attributes().set("fontname", kFontNames).set("fontsize", kLabelFont).set("arrowsize", 0.8));
}

void FlowWriter::write_left_column() {
  dot_.blank();
  dot_.comment("left column: the phase and what it moves");
  for (std::size_t i = 0; i < diagram_.rows.size(); ++i) {
    const FlowRow& row = diagram_.rows[i];
    const Tense tense = tense_of(i);
    const Ink remark_ink = row.remark_is_bytes ? Ink::kCommLabel : Ink::kMuted;
    std::string markup = fmt::format(
        R"(<table border="0" cellborder="0" cellspacing="0" cellpadding="1"><tr><td align="left" )"
        R"(width="{:.0f}"><font color="{}"><b>{}&#160; {}</b></font></td></tr>)",
        sizes_.column - 4, ink(Ink::kTitle, tense), i, html_text(row.title));
    if (!row.remark.empty()) {
      markup += fmt::format(
          R"(<tr><td align="left"><font point-size="10.5" color="{}">{}</font></td></tr>)",
          ink(remark_ink, tense), html_text(row.remark));
    }
    markup += "</table>";
    Attributes attributes;
    attributes.set("shape", "plaintext")
        .set("style", tense == Tense::kFuture ? "invis" : "")
        .set("width", sizes_.column / kPointsPerInch)
        .set("height", 0.5)
        .set("group", "phase")
        .set("class", class_of("phase", tense))
        .text("tooltip", row.title + (row.remark.empty() ? "" : ": " + row.remark))
        .html("label", markup);
    dot_.node(row_id(row), attributes);
  }
}

void FlowWriter::write_lane(std::size_t lane) {
  const FlowLane& about = diagram_.lanes[lane];
  dot_.blank();
  dot_.open_cluster("lane" + about.id,
                    Attributes()
                        .html("label", fmt::format("<b>{}</b>", html_text(about.title)))
                        .set("fontsize", kLaneFont)
                        .set("fontname", kFontNames)
                        .set("fontcolor", ink(Ink::kTitle))
                        .set("style", about.ellipsis ? "rounded,dashed,filled" : "rounded,filled")
                        .set("margin", kLaneMargin)
                        .set("color", ink(about.home ? Ink::kHomeLine : Ink::kLaneLine))
                        .set("fillcolor", ink(about.home ? Ink::kHomeFill : Ink::kLaneFill))
                        .set("class", about.home ? "lane home" : "lane")
                        .text("tooltip", about.title));
  for (std::size_t row = 0; row < diagram_.rows.size(); ++row) {
    const FlowRow& flow_row = diagram_.rows[row];
    if (flow_row.has_transfer()) {
      const FlowPort& port = flow_row.ports[lane];
      const Tense tense = tense_of(row);
      const auto [first, last] = bus_extent(flow_row);
      const bool inside = lane >= first && lane <= last;
      // Where the bus only passes, its point is as thin as the line, so that the line has no gap.
      const double size = port.sent + port.received > 0 ? 0.06 : 0.01;
      Attributes attributes;
      attributes.set("shape", "point").set("width", size).set("height", size);
      if (inside && tense != Tense::kFuture) {
        attributes.set("color", ink(Ink::kCommLine, tense)).set("style", "filled");
        attributes.set("fillcolor", ink(Ink::kCommLine, tense));
      } else {
        attributes.set("style", "invis");
      }
      attributes.set("group", group_of(lane)).text("tooltip", flow_row.title);
      dot_.node(bus_id(row, lane), attributes);
    }
    write_box(row, lane);
  }
  dot_.close_cluster();
}

void FlowWriter::write_box(std::size_t row, std::size_t lane) {
  const FlowBox& box = diagram_.rows[row].boxes[lane];
  const Tense tense = tense_of(row);
  const double width = sizes_.width_of(diagram_.lanes[lane]);
  Attributes attributes;
  attributes.set("width", width / kPointsPerInch)
      .set("height", sizes_.heights[row] / kPointsPerInch)
      .set("group", group_of(lane));
  // A label is written even where it is not seen: the layout must not change with it.
  attributes.text("label", fitted_lines(box, width - 10));
  if (!box.box || tense == Tense::kFuture) {
    attributes.set("style", "invis");
  } else {
    const BoxInks inks = inks_of(*box.box);
    if (*box.box == BoxClass::kIdle) {
      attributes.set("style", "rounded,dashed").set("penwidth", 1.1).set("fontsize", kIdleFont);
    } else {
      attributes.set("fillcolor", ink(inks.fill, tense));
    }
    attributes.set("color", ink(inks.line, tense)).set("fontcolor", ink(inks.text, tense));
    attributes.set("class", class_of(to_string(*box.box), tense)).text("tooltip", box.tooltip);
  }
  dot_.node(node_id(row, lane), attributes);
}

void FlowWriter::write_skeleton() {
  dot_.blank();
  dot_.comment("rows");
  for (std::size_t row = 0; row < diagram_.rows.size(); ++row) {
    std::vector<std::string> bus;
    std::vector<std::string> boxes = {row_id(diagram_.rows[row])};
    for (std::size_t lane = 0; lane < diagram_.lanes.size(); ++lane) {
      if (diagram_.rows[row].has_transfer()) bus.push_back(bus_id(row, lane));
      boxes.push_back(node_id(row, lane));
    }
    if (!bus.empty()) dot_.same_rank(bus);
    dot_.same_rank(boxes);
  }
  dot_.blank();
  dot_.comment("invisible skeleton: the order of lanes and rows");
  dot_.defaults("edge", Attributes().set("style", "invis"));
  std::vector<std::string> first = {row_id(diagram_.rows.front())};
  for (std::size_t lane = 0; lane < diagram_.lanes.size(); ++lane) {
    first.push_back(node_id(0, lane));
  }
  dot_.edge(first, {});
  for (std::size_t row = 1; row < diagram_.rows.size(); ++row) {
    dot_.edge({row_id(diagram_.rows[row - 1]), row_id(diagram_.rows[row])},
              Attributes().set("weight", 200.0));
  }
  dot_.defaults("edge", Attributes().set("style", "solid"));
}

Attributes FlowWriter::line(Ink name, Tense tense, double width) const {
  Attributes attributes;
  if (tense == Tense::kFuture) {
    attributes.set("style", "invis");
  } else {
    attributes.set("color", ink(name, tense)).set("penwidth", width);
    attributes.set("class", class_of(name == Ink::kArrow ? "keep" : "comm", tense));
  }
  return attributes;
}

// Whether what the box above has goes on to that of `row`.
bool FlowWriter::stays(std::size_t row, std::size_t lane) const {
  const auto carries = [](const FlowBox& box) { return box.box && *box.box != BoxClass::kIdle; };
  const FlowBox& box = diagram_.rows[row].boxes[lane];
  return box.follows && carries(box) && carries(diagram_.rows[row - 1].boxes[lane]);
}

void FlowWriter::write_plain_edge(std::size_t row, std::size_t lane) {
  const bool flows = diagram_.rows[row].follows && stays(row, lane);
  Attributes attributes =
      flows ? line(Ink::kArrow, tense_of(row), 1.2).set("weight", 200.0) : invisible();
  dot_.edge({node_id(row - 1, lane), node_id(row, lane)}, attributes.set("minlen", 2.0));
}

void FlowWriter::write_ported_edges(std::size_t row, std::size_t lane) {
  const FlowRow& flow_row = diagram_.rows[row];
  const FlowPort& port = flow_row.ports[lane];
  const Tense tense = tense_of(row);
  const bool keeps = stays(row, lane);
  const bool label_above = port.received == 0;  // a pure sender

  const auto add_label = [&](Attributes& attributes) {
    if (port.label.empty()) return;
    attributes.text("label", "\u00A0 " + port.label);
    attributes.set("fontcolor", ink(Ink::kCommLabel, tense)).text("tooltip", port.tooltip);
  };
  // What a receiver had before stays with it: no part of the bus.
  const bool kept_above = keeps && (port.received == 0 || port.label.empty());
  const double pen = pen_of(flow_row);
  const auto half = [&](bool comm, bool kept, bool with_label) {
    Attributes attributes;
    if (comm) {
      attributes = line(Ink::kCommLine, tense, pen);
      if (with_label) add_label(attributes);
    } else {
      attributes = kept ? line(Ink::kArrow, tense, 1.2) : Attributes().set("style", "invis");
    }
    return attributes.set("weight", 200.0);
  };
  Attributes above = half(port.sent > 0, kept_above, label_above);
  above.set("dir", "none");
  const bool gathers =
      std::any_of(flow_row.ports.begin(), flow_row.ports.end(), [](const FlowPort& other) {
        return other.sent > 0 && other.received == 0 && !other.label.empty();
      });
  if (gathers) above.set("minlen", 2.0);
  dot_.edge({node_id(row - 1, lane), bus_id(row, lane)}, above);
  Attributes below = half(port.received > 0, keeps, !label_above);
  dot_.edge({bus_id(row, lane), node_id(row, lane)}, below.set("minlen", 2.0));
}

void FlowWriter::write_edges(std::size_t row) {
  const FlowRow& flow_row = diagram_.rows[row];
  dot_.blank();
  dot_.comment(
      fmt::format("{} {} to {} {}", row - 1, diagram_.rows[row - 1].title, row, flow_row.title));
  for (std::size_t lane = 0; lane < diagram_.lanes.size(); ++lane) {
    if (flow_row.has_transfer()) {
      write_ported_edges(row, lane);
    } else {
      write_plain_edge(row, lane);
    }
  }
  if (!flow_row.has_transfer()) return;
  const auto [first, last] = bus_extent(flow_row);
  for (std::size_t lane = 0; lane + 1 < diagram_.lanes.size(); ++lane) {
    const bool inside = lane >= first && lane < last;
    Attributes attributes = inside ? line(Ink::kCommLine, tense_of(row), pen_of(flow_row))
                                   : Attributes().set("style", "invis");
    dot_.edge({bus_id(row, lane), bus_id(row, lane + 1)},
              attributes.set("dir", "none").text("tooltip", flow_row.title));
  }
}

}  // namespace

std::string write_flow(const FlowDiagram& diagram, Theme theme,
                       std::optional<std::size_t> present) {
  return FlowWriter(diagram, theme, present).write();
}

}  // namespace ringside
