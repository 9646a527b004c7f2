// The data-flow picture: one lane per device, one row per phase, transfers as a bus between rows.
//
// A FlowDiagram says what is in the picture; write_flow() turns it into DOT by the conventions of
// docs/diagrams.md. Frames are the same diagram with a present row: every node and edge is written
// in each of them, so that nothing moves from frame to frame.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/views.h"
#include "views/palette.h"

namespace ringside {

struct FlowLane {
  std::string id;     ///< "0"; "more" for the ellipsis
  std::string title;  ///< "device 0 = device_ids[0]"
  bool home = false;
  bool ellipsis = false;
  std::string kind = {};  ///< "workers", "servers": where lanes are left out, each kind by itself
};

/// What a device holds or does in a row; nothing is drawn without a class.
struct FlowBox {
  std::optional<BoxClass> box;
  std::string text;  ///< lines separated by '\n'
  std::string tooltip;
  bool follows = true;  ///< uses what the box above has made
};

/// A lane's part in the transfer above a row.
struct FlowPort {
  std::size_t sent = 0;      ///< bytes
  std::size_t received = 0;  ///< bytes
  std::size_t amount = 0;    ///< that the label says, of one rank
  std::string label;  ///< beside the line: of the receiver, or of the sender that gets nothing
  std::string tooltip;
};

struct FlowRow {
  std::string phase;                   ///< "all-reduce"
  std::vector<std::string> also = {};  ///< further phases that the row shows
  std::string name;   ///< of the frame's file and, with '_' for '-', of its nodes: "all-reduce-1"
  std::string title;  ///< "reduce-grad (sum)"
  std::string remark;
  bool remark_is_bytes = false;
  std::string caption;          ///< of the frame: its point in one sentence
  bool follows = true;          ///< uses what the row above has made
  std::vector<FlowBox> boxes;   ///< per lane
  std::vector<FlowPort> ports;  ///< per lane; empty without a transfer

  bool has_transfer() const { return !ports.empty(); }
  bool shows(std::string_view a_phase) const {
    return phase == a_phase || std::find(also.begin(), also.end(), a_phase) != also.end();
  }
};

struct FlowDiagram {
  std::string name;  ///< of the file, without the row: "step2"
  std::string title;
  std::string caption;
  std::vector<FlowLane> lanes;
  std::vector<FlowRow> rows;
};

/// If there are more than `max_lanes`, leaves of each kind of lanes the first ones, an ellipsis
/// lane that stands for the others of that kind, and the last one (at least these 3).
FlowDiagram with_at_most(const FlowDiagram& diagram, int max_lanes);

/// The whole picture, or the frame whose present is row `present`.
std::string write_flow(const FlowDiagram& diagram, Theme theme, std::optional<std::size_t> present);

/// The whole picture and one per row; only the frames of `phase` unless it is empty. Throws
/// Error(kInvalidArgument) for a phase without rows, naming those that are there.
std::vector<Picture> draw_flow(const FlowDiagram& diagram, std::string_view phase,
                               const DrawOptions& options);

}  // namespace ringside
