// Views: pictures and tables from traces and timelines. DOT is written deterministically by our own
// code; SVG and PNG are rendered through Graphviz's library where it is built in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringside/schedule.h"
#include "ringside/timeline.h"
#include "ringside/trace.h"

namespace ringside {

enum class Theme : std::uint8_t { kLight, kDark };
Theme parse_theme(std::string_view name);

struct DrawOptions {
  Theme theme = Theme::kLight;
  /// more ranks: the first ones, an ellipsis lane that says how many, the last one; of workers and
  /// servers by themselves, at least these three of each
  int max_lanes = 8;
};

/// A picture before rendering. Conventions in docs/diagrams.md.
struct Picture {
  /// file name without extension: "step2", "step2-scatter-input", "step2-timeline"
  std::string name;
  std::string layout;  ///< "dot" or "neato" (with -n2)
  std::string dot;
  std::string title;
  std::string caption;  ///< the point in one sentence with its number; also the alternative text
  /// more for people who cannot see the picture: the phases of a step, "2 replicate: 3 × 64.0 kB"
  std::vector<std::string> details = {};
};

/// The pictures of `step`: the whole step and one per phase; for ddp with its buckets, for an
/// asynchronous ps with a row for each push; for ddp and a synchronous ps the timeline too. Frames
/// keep every node and edge of the whole: what has not happened is invisible, what is past is pale.
/// `phase` (may be empty) selects one. Throws Error(kInvalidArgument) for a step or phase the trace
/// does not have, naming those it has.
std::vector<Picture> draw_step(const Trace& trace, int step, std::string_view phase,
                               const DrawOptions& options);
/// The timeline picture of one step.
Picture draw_timeline(const Trace& trace, const Timeline& timeline, int step,
                      const DrawOptions& options);
/// One picture per round of a collective and one of the whole. `values` (may be empty): per round
/// (first: before), per rank, the text in the rank's box.
std::vector<Picture> draw_schedule(const Schedule& schedule, ReduceOp op,
                                   const std::vector<std::vector<std::string>>& values,
                                   const DrawOptions& options);

/// True where Graphviz's library was built in.
bool can_render();
/// "svg" or "png". The SVG gets role="img", title, description and a style sheet for dark pages.
/// Throws Error(kUnavailable) without Graphviz; the message has the command that renders the DOT
/// file.
std::string render(const Picture& picture, std::string_view format);
/// The command a person would type: "dot -Tsvg step2.dot -o step2.svg".
std::string render_command(const Picture& picture, std::string_view format);
/// Writes DOT always where asked for, and the rendered formats; returns the paths written. Makes
/// the directory. Throws Error(kIo).
std::vector<std::string> write_pictures(const std::vector<Picture>& pictures,
                                        const std::string& directory,
                                        const std::vector<std::string>& formats);

/// Bytes for people, decimal units, the same rounding everywhere: "64.0 kB", "4.004 MB", "512 B".
std::string format_bytes(std::size_t bytes);
/// Plain-text table with aligned columns (display width), used by every command.
std::string format_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows);
/// The table of one step: phase, primitive, from, to, messages, bytes.
std::string format_transfers(const std::vector<TransferRow>& rows);
/// The memory account of every device at its peak, by kind.
std::string format_memory(const std::vector<MemoryAccount>& accounts);

}  // namespace ringside
