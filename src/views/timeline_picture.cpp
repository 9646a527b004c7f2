// The timeline picture: x is time and every node is pinned, so neato -n2 draws it as it stands.
// Nodes are drawn in the order they are written: lanes, guide lines, boxes, texts.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ringside/views.h"
#include "views/buckets.h"
#include "views/dot_writer.h"
#include "views/label_places.h"
#include "views/lanes.h"
#include "views/palette.h"
#include "views/pinned.h"
#include "views/step_diagram.h"
#include "views/text.h"
#include "views/time_axis.h"
#include "views/timeline_facts.h"

namespace ringside {
namespace {

// Points. y grows upwards; the top lane's upper edge is at 0.
constexpr double kPlotLeft = 160;
constexpr double kNarrowPlot = 690;
constexpr double kWidePlot = 1500;
constexpr double kLaneLeft = 6;
constexpr double kLaneHeight = 74;
constexpr double kLaneGap = 10;
constexpr double kEllipsisHeight = 24;
constexpr double kRowOffset = 17;  // of compute above and communication below the lane's middle
constexpr double kBoxHeight = 27;
constexpr double kWaitHeight = 15;
constexpr double kBoxFont = 10.5;
constexpr double kTierHeight = 15;
constexpr int kTiers = 3;
constexpr std::size_t kMostSizes = 6;  // buckets whose sizes are listed

struct Scale {
  double begin = 0;
  double points_per_second = 1;
  double x(double seconds) const { return kPlotLeft + (seconds - begin) * points_per_second; }
};

class TimelineWriter {
 public:
  TimelineWriter(const Trace& trace, const Timeline& timeline, int step, const DrawOptions& options)
      : trace_(trace),
        timeline_(timeline),
        step_(step),
        theme_(options.theme),
        facts_(timeline_facts(trace, timeline, step)),
        title_(fmt::format("{}: training step {} on {}", strategy_name(), step, facts_.devices)),
        dot_(
            "graph", fmt::format("step{}_timeline", step),
            fmt::format("{}, timeline\nConventions: docs/diagrams.md. Render with: neato -n2 -Tsvg "
                        "FILE.dot -o FILE.svg",
                        title_)) {
    std::size_t most_boxes = 0;
    for (const TimedLane& lane : facts_.lanes) {
      most_boxes = std::max(most_boxes, lane.compute.size());
    }
    plot_width_ = std::clamp(24.0 * static_cast<double>(most_boxes), kNarrowPlot, kWidePlot);
    total_ = std::max(facts_.end - facts_.begin, 1e-12);
    scale_ = {facts_.begin, plot_width_ / total_};
    choose_lanes(options.max_lanes);
    std::vector<LabelRequest> requests;
    for (const TimedMark& mark : facts_.marks) {
      requests.push_back({scale_.x(mark.time), text_width(mark.label, kBoxFont) + 4});
    }
    mark_labels_ = place_labels(requests, kLaneLeft, right() + 24, kTiers);
    for (const std::optional<LabelPlace>& place : mark_labels_) {
      if (place) used_tiers_ = std::max(used_tiers_, place->tier + 1);
    }
  }

  Picture write() {
    write_defaults();
    write_lanes();
    write_guides();
    for (const ShownLane& lane : shown_) write_lane(lane);
    write_exposed();
    write_axis();
    return {fmt::format("step{}-timeline", step_), "neato", dot_.finish(), title_, caption()};
  }

 private:
  struct ShownLane {
    const TimedLane* lane = nullptr;  // null: an ellipsis
    LaneRange range;                  // of the lanes that it stands for
    double middle = 0;                // y
    double height = kLaneHeight;
  };

  bool is_ddp() const { return trace_.run.strategy == "ddp"; }
  std::string strategy_name() const {
    if (is_ddp()) return "DistributedDataParallel";
    if (trace_.run.strategy == "ps") return "Parameter server";
    return trace_.run.strategy == "dp" ? "DataParallel" : "One device";
  }
  std::string ink(Ink name) const { return colour(name, theme_); }
  std::string seconds(double value) const { return format_seconds(value, total_); }
  static std::string ellipsis_id(const std::string& id, const TimedLane& hidden) {
    return hidden.kind.empty() ? id : fmt::format("{}_{}", id, hidden.kind);
  }
  double bottom() const { return shown_.back().middle - shown_.back().height / 2; }
  double right() const { return kPlotLeft + plot_width_ + 12; }

  void choose_lanes(int most);
  std::string subtitle() const;
  std::string waits_text() const;
  std::string point() const;
  std::string caption() const { return point() + failure_text(trace_, step_); }
  void write_text(const std::string& id, double x, double y, const std::string& text, double size,
                  Ink name, bool bold = false);
  void write_defaults();
  void write_lanes();
  void write_guides();
  void write_lane(const ShownLane& shown);
  void write_box(const std::string& id, const TimedBox& box, double y);
  void write_exposed();
  void write_axis();

  const Trace& trace_;
  const Timeline& timeline_;
  int step_;
  Theme theme_;
  TimelineFacts facts_;
  std::string title_;
  DotWriter dot_;
  double plot_width_ = kNarrowPlot;
  double total_ = 0;
  Scale scale_;
  std::vector<ShownLane> shown_;
  std::vector<std::optional<LabelPlace>> mark_labels_;
  int used_tiers_ = 0;
};

void TimelineWriter::choose_lanes(int most) {
  std::vector<std::string> kinds;
  for (const TimedLane& lane : facts_.lanes) kinds.push_back(lane.kind);
  double top = 0;
  for (const LaneRange& range : shown_lanes(kinds, most)) {
    ShownLane shown;
    shown.range = range;
    if (range.is_ellipsis()) {
      shown.height = kEllipsisHeight;
    } else {
      shown.lane = &facts_.lanes[range.first];
    }
    shown.middle = top - shown.height / 2;
    top -= shown.height + kLaneGap;
    shown_.push_back(shown);
  }
}

std::string TimelineWriter::subtitle() const {
  std::string text = facts_.run;
  const std::vector<StepBucket> buckets = buckets_of(trace_, step_);
  if (buckets.size() > kMostSizes) {
    text += fmt::format(" Gradients in {} buckets.", buckets.size());
  } else if (!buckets.empty()) {
    std::vector<std::string> sizes;
    for (const StepBucket& bucket : buckets) sizes.push_back(format_bytes(bucket.bytes));
    text += fmt::format(" Gradients in {} of {}.", buckets.size() == 1 ? "a bucket" : "buckets",
                        fmt::join(sizes, " + "));
  }
  if (timeline_.source == TimelineSource::kReplayed) {
    return text + fmt::format(" Replayed: {}.", clean_text(timeline_.machine));
  }
  double uncertainty = 0;
  for (const TimelineEntry& entry : timeline_.entries) {
    uncertainty = std::max(uncertainty, entry.uncertainty);
  }
  return text + fmt::format(" Measured on {}, to within {}.", clean_text(timeline_.machine),
                            format_seconds(uncertainty, uncertainty));
}

// Which bucket waits longest, or for ever.
std::string TimelineWriter::waits_text() const {
  const std::vector<WaitingBucket> waiting = waiting_buckets(trace_, step_);
  if (!waiting.empty()) {
    std::vector<int> never;
    for (const WaitingBucket& bucket : waiting) never.push_back(bucket.number);
    const std::vector<int>& late = waiting.front().late;
    return fmt::format(
        " Bucket{} {} wait{} for {}.", never.size() == 1 ? "" : "s", format_ranks(never),
        never.size() == 1 ? "s" : "",
        late.empty() ? "gradients that never come"
                     : fmt::format("rank{} {}", late.size() == 1 ? "" : "s", format_ranks(late)));
  }
  if (!facts_.longest_wait) return "";
  const BucketWait& wait = *facts_.longest_wait;
  return fmt::format(" Bucket {} waits longest: {} for {}.", wait.bucket, seconds(wait.time),
                     wait.waits_for);
}

std::string TimelineWriter::point() const {
  const StepTimes& times = facts_.times;
  if (times.communication <= 0) {
    return fmt::format("Nothing is communicated. Step: {}.{}", seconds(times.total), waits_text());
  }
  const std::string communication =
      fmt::format("Communication{} takes {}", facts_.busiest.empty() ? "" : " of " + facts_.busiest,
                  seconds(times.communication));
  const std::string waits = waits_text();
  if (times.hidden <= 0) {
    return fmt::format("{}, none of it hidden behind computing. Step: {}.{}", communication,
                       seconds(times.total), waits);
  }
  return fmt::format(
      "{}; {} of it hides behind computing, {} does not. Step: {}, without overlap {}.{}",
      communication, seconds(times.hidden), seconds(times.exposed), seconds(times.total),
      seconds(times.total + times.hidden), waits);
}

void TimelineWriter::write_text(const std::string& id, double x, double y, const std::string& text,
                                double size, Ink name, bool bold) {
  write_pinned_text(dot_, id, {x, y}, text, size, ink(name), bold);
}

void TimelineWriter::write_defaults() {
  write_pinned_defaults(dot_, title_, theme_);
  write_pinned_title(dot_, (kLaneLeft + right()) / 2, used_tiers_ * kTierHeight + 22,
                     right() - kLaneLeft, title_, subtitle(), theme_);
}

void TimelineWriter::write_lanes() {
  dot_.blank();
  dot_.comment("lanes");
  for (const ShownLane& shown : shown_) {
    const bool ellipsis = shown.lane == nullptr;
    Attributes attributes =
        pinned({(kLaneLeft + right()) / 2, shown.middle}, right() - kLaneLeft, shown.height);
    attributes.set("style", ellipsis ? "filled,rounded,dashed" : "filled,rounded");
    const bool home = facts_.lanes[shown.range.first].kind == "servers";
    attributes.text("label", "").set("fillcolor", ink(home ? Ink::kHomeFill : Ink::kLaneFill));
    attributes.set("color", ink(home ? Ink::kHomeLine : Ink::kLaneLine));
    attributes.set("class", home ? "lane home" : "lane");
    attributes.text("tooltip", ellipsis ? "more ranks" : shown.lane->name);
    dot_.node(ellipsis ? ellipsis_id("lane_more", facts_.lanes[shown.range.first])
                       : fmt::format("lane{}", shown.lane->rank),
              attributes);
  }
}

void TimelineWriter::write_guides() {
  dot_.blank();
  dot_.comment("guide lines, behind the boxes");
  for (std::size_t i = 0; i < facts_.marks.size(); ++i) {
    const TimedMark& mark = facts_.marks[i];
    const double x = scale_.x(mark.time);
    const double top = 6 + (mark_labels_[i] ? mark_labels_[i]->tier * kTierHeight : 0);
    const double low = bottom() - 32;
    Attributes attributes = pinned({x, (top + low) / 2}, 1.1, top - low);
    attributes.text("label", "").set("penwidth", 0.0).set("fillcolor", ink(mark.ink));
    attributes.set("color", ink(mark.ink));
    attributes.set("class", "guide").text("tooltip", mark.label);
    dot_.node(fmt::format("g{}", i), attributes);
    if (!mark_labels_[i]) continue;
    write_text(fmt::format("g{}t", i), mark_labels_[i]->centre, top + 7, mark.label, kBoxFont,
               mark.ink);
  }
}

void TimelineWriter::write_box(const std::string& id, const TimedBox& box, double y) {
  const bool waits = box.box == BoxClass::kIdle;
  const double left = scale_.x(box.start);
  // A point less than its time, so that neighbours do not touch; never too thin to be seen.
  const double width = std::max(scale_.x(box.end) - left - 1, 0.7);
  const double size = waits ? 9 : kBoxFont;
  std::string label;
  for (const std::string& text : box.texts) {
    if (text_width(text, size) + 4 > width) continue;
    label = text;
    break;
  }
  const BoxInks inks = inks_of(box.box, box.dark_fill);
  Attributes attributes =
      pinned({left + 0.5 + width / 2, y}, width, waits ? kWaitHeight : kBoxHeight);
  attributes.text("label", label).set("fillcolor", ink(inks.fill)).set("color", ink(inks.line));
  attributes.set("fontcolor", ink(inks.text)).set("class", to_string(box.box));
  if (waits) attributes.set("style", "dashed").set("fontsize", size);
  attributes.text("tooltip", box.tooltip);
  dot_.node(id, attributes);
}

void TimelineWriter::write_lane(const ShownLane& shown) {
  dot_.blank();
  if (shown.lane == nullptr) {
    const TimedLane& first = facts_.lanes[shown.range.first];
    const TimedLane& last = facts_.lanes[shown.range.first + shown.range.count - 1];
    dot_.comment("ranks that are left out");
    const std::string text =
        first.kind.empty()
            ? fmt::format("… {} more: {} to {}", shown.range.count, first.rank, last.rank)
            : fmt::format("… {} more: {} to {}", shown.range.count, first.name, last.name);
    write_text(ellipsis_id("more", first), kLaneLeft + 20 + text_width(text, kBoxFont) / 2,
               shown.middle, text, kBoxFont, Ink::kMuted);
    return;
  }
  const TimedLane& lane = *shown.lane;
  const int rank = lane.rank;
  const double compute = shown.middle + kRowOffset;
  const double communication = shown.middle - kRowOffset;
  dot_.comment(lane.name);
  write_text(fmt::format("rank{}", rank), 48, shown.middle + (lane.remark.empty() ? 0 : 8),
             lane.name, 13, Ink::kTitle, true);
  if (!lane.remark.empty()) {
    write_text(fmt::format("remark{}", rank), 48, shown.middle - 9, lane.remark, kBoxFont,
               Ink::kMuted);
  }
  write_text(fmt::format("sc{}", rank), 125, compute, "compute", 10, Ink::kComputeLabel);
  write_text(fmt::format("sn{}", rank), 125, communication, is_ddp() ? "all-reduce" : "transfers",
             10, Ink::kCommLabel);
  for (std::size_t i = 0; i < lane.compute.size(); ++i) {
    write_box(fmt::format("b{}_{}", rank, i), lane.compute[i], compute);
  }
  for (std::size_t i = 0; i < lane.communication.size(); ++i) {
    write_box(fmt::format("c{}_{}", rank, i), lane.communication[i], communication);
  }
}

void TimelineWriter::write_exposed() {
  if (facts_.times.exposed_parts.empty()) return;
  dot_.blank();
  dot_.comment("communication that is not hidden");
  const double y = bottom() - 14;
  const std::string label = fmt::format("not hidden: {}", seconds(facts_.times.exposed));
  const double label_width = text_width(label, kBoxFont) + 6;
  std::size_t longest = 0;
  const auto& parts = facts_.times.exposed_parts;
  const auto length = [&](std::size_t i) { return parts[i].second - parts[i].first; };
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (length(i) > length(longest)) longest = i;
  }
  const bool inside = length(longest) * scale_.points_per_second >= label_width;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double left = scale_.x(parts[i].first);
    const double width = std::max(length(i) * scale_.points_per_second, 0.7);
    Attributes attributes = pinned({left + width / 2, y}, width, 14.4);
    attributes.text("label", inside && i == longest ? label : "");
    attributes.set("fillcolor", ink(Ink::kCommLine)).set("color", ink(Ink::kCommLine));
    attributes.set("fontcolor", ink(Ink::kExposedText)).set("class", "exposed");
    attributes.text("tooltip", fmt::format("rank {} communicates and does not compute: {} from {}",
                                           facts_.times.rank, seconds(length(i)),
                                           seconds(parts[i].first - facts_.begin)));
    dot_.node(fmt::format("expo{}", i), attributes);
  }
  if (inside) return;
  write_text("expot", scale_.x(parts.front().first) - label_width / 2 - 4, y, label, kBoxFont,
             Ink::kCommLabel);
}

void TimelineWriter::write_axis() {
  dot_.blank();
  dot_.comment("time axis");
  const double y = bottom() - 32;
  const auto point = [&](const std::string& id, double x, double height) {
    Attributes attributes = pinned({x, height}, 0.72, 0.72);
    attributes.set("shape", "point").set("color", ink(Ink::kMuted));
    dot_.node(id, attributes.set("fillcolor", ink(Ink::kMuted)));
  };
  const Attributes line = Attributes().set("color", ink(Ink::kMuted));
  point("ax0", kPlotLeft, y);
  point("ax1", kPlotLeft + plot_width_ + 6, y);
  dot_.edge({"ax0", "ax1"}, line);
  const double step = tick_step(total_);
  const AxisUnit unit = axis_unit(total_, step);
  for (int i = 0; i * step <= total_ * 1.0001; ++i) {
    const double x = kPlotLeft + i * step * scale_.points_per_second;
    point(fmt::format("tk{}", i), x, y);
    point(fmt::format("tj{}", i), x, y - 5);
    dot_.edge({fmt::format("tk{}", i), fmt::format("tj{}", i)}, line);
    const double value = i * step * unit.per_second;
    const std::string label = i == 0 ? "0 " + unit.name : fixed(value, unit.decimals);
    write_text(fmt::format("tl{}", i), x, y - 14, label, 10, Ink::kMuted);
  }
  write_pinned_caption(dot_, (kLaneLeft + right()) / 2, y - 38, right() - kLaneLeft, caption(),
                       theme_);
}

}  // namespace

Picture draw_timeline(const Trace& trace, const Timeline& timeline, int step,
                      const DrawOptions& options) {
  require_step(trace, step);
  return TimelineWriter(trace, timeline, step, options).write();
}

}  // namespace ringside
