// The pictures of a collective: ranks in the places of their algorithm, one picture per round and
// one of the whole. A rank's box holds a text and a row of cells, one per chunk, that tell whose
// contributions it has.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "ringside/views.h"
#include "views/arrow_places.h"
#include "views/chunk_cells.h"
#include "views/dot_writer.h"
#include "views/palette.h"
#include "views/pinned.h"
#include "views/rank_places.h"
#include "views/schedule_captions.h"
#include "views/schedule_states.h"
#include "views/text.h"
#include "views/title.h"

namespace ringside {
namespace {

constexpr double kNameFont = 13;
constexpr double kTextFont = 10.5;
constexpr double kWidestText = 170;
constexpr double kWidestInRows = 96;  // of eight ranks beside each other, in two lines
constexpr double kTextLine = 13;
constexpr double kMessageLabelHeight = 15;
constexpr std::size_t kMostCells = 16;
constexpr int kMostRanksFollowed = 64;

// What passes between two boxes, in one round or in all.
struct Arrow {
  std::size_t messages = 0;
  std::size_t bytes = 0;
  bool combines = false;
  std::string chunk;  // of a single message
};
using Arrows = std::map<std::pair<int, int>, Arrow>;  // by slots

// "rank3"; an ellipsis is named after its first rank; "rank3_before" in the upper of two rows.
std::string slot_id(const RankSlot& slot) {
  return fmt::format("{}{}{}", slot.is_ellipsis() ? "more" : "rank", slot.ranks.front(),
                     slot.before ? "_before" : "");
}

// Before a label that stands over the receiver's box: "from 3: ", of an ellipsis "from 6–10: ".
std::string sender_text(int first, int last) {
  return first == last ? fmt::format("from {}: ", first) : fmt::format("from {}–{}: ", first, last);
}

// An end of an arrow on a box's edge.
std::string write_end(DotWriter& dot, const std::string& id, Place place) {
  dot.node(id, pinned(place, 0.5, 0.5).set("shape", "point").set("style", "invis"));
  return id;
}

class SchedulePictures {
 public:
  SchedulePictures(const Schedule& schedule, ReduceOp op,
                   const std::vector<std::vector<std::string>>& values, const DrawOptions& options)
      : schedule_(schedule),
        op_(op),
        values_(values),
        theme_(options.theme),
        max_lanes_(options.max_lanes),
        cells_(schedule, options.theme) {
    if (schedule.request.ranks <= kMostRanksFollowed) states_ = follow(schedule, kMostCells);
    has_cells_ = !states_.chunks.empty();
    measure();
    const double label = widest_label();
    places_ = place_ranks(schedule, options.max_lanes, width_, height_, label);
    if (places_.below == 0) arrow_places_ = place_arrows(places_, height_, label);
    name_ = fmt::format("{}-{}-{}", to_string(operation()), to_string(schedule.request.algorithm),
                        schedule.request.ranks);
  }

  std::vector<Picture> draw() {
    std::vector<Picture> pictures = {draw_one(std::nullopt)};
    for (std::size_t round = 0; round < schedule_.rounds.size(); ++round) {
      pictures.push_back(draw_one(round));
    }
    return pictures;
  }

 private:
  Operation operation() const { return schedule_.request.operation; }
  std::size_t element_bytes() const { return size_of(schedule_.request.dtype); }
  std::string ink(Ink name) const { return colour(name, theme_); }
  std::string chunk_word() const { return has_blocks(operation()) ? "block" : "chunk"; }

  bool is_root(int rank) const { return has_root(operation()) && rank == schedule_.request.root; }
  std::string rank_name(int rank) const;

  void measure();
  double widest_label() const;
  std::vector<std::string> value_lines(std::size_t stage, int rank) const;
  Arrows arrows_of(std::optional<std::size_t> round) const;
  std::string message_text(const Message& message) const;
  std::string arrow_text(const Arrow& arrow, bool whole) const;

  Picture draw_one(std::optional<std::size_t> round);
  void write_slot(DotWriter& dot, const RankSlot& slot, std::size_t stage, bool whole) const;
  void write_cells(DotWriter& dot, const std::string& id, int rank, Place middle, std::size_t stage,
                   bool whole) const;
  void write_arrow(DotWriter& dot, const std::pair<int, int>& ends, const ArrowPlace& place,
                   const Arrow& arrow, bool whole) const;
  void write_arrows(DotWriter& dot, std::optional<std::size_t> round) const;
  std::string subtitle(std::optional<std::size_t> round) const;

  const Schedule& schedule_;
  ReduceOp op_;
  const std::vector<std::vector<std::string>>& values_;
  Theme theme_;
  int max_lanes_;
  ChunkCells cells_;
  ScheduleStates states_;
  bool has_cells_ = false;
  double width_ = 0;
  double height_ = 0;
  RankPlaces places_;
  std::map<std::pair<int, int>, ArrowPlace> arrow_places_;  // by slots
  std::string name_;
};

std::vector<std::string> SchedulePictures::value_lines(std::size_t stage, int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  if (stage >= values_.size() || index >= values_[stage].size()) return {};
  const std::string& text = values_[stage][index];
  if (text.empty()) return {};
  return stands_in_rows(schedule_.request) ? fit_lines(text, kTextFont, kWidestInRows, 2)
                                           : fit_lines(text, kTextFont, kWidestText, 1);
}

// "rank 2", "rank 0 (root)", "rank 3, node 1".
std::string SchedulePictures::rank_name(int rank) const {
  std::string name = fmt::format("rank {}", rank);
  if (const int node = node_of(schedule_.request, rank); node >= 0) {
    name += fmt::format(", node {}", node);
  }
  return name + (is_root(rank) ? " (root)" : "");
}

void SchedulePictures::measure() {
  for (int rank = 0; rank < schedule_.request.ranks; ++rank) {
    width_ = std::max(width_, text_width(rank_name(rank), kNameFont, true) + 16);
  }
  std::size_t lines = 0;
  for (std::size_t stage = 0; stage < values_.size(); ++stage) {
    for (int rank = 0; rank < schedule_.request.ranks; ++rank) {
      const std::vector<std::string> text = value_lines(stage, rank);
      lines = std::max(lines, text.size());
      for (const std::string& line : text) {
        width_ = std::max(width_, text_width(line, kTextFont) + 20);
      }
    }
  }
  if (has_cells_) {
    width_ = std::max(width_, kCell * static_cast<double>(states_.chunks.size()) + 12);
  }
  const double text_height = lines == 0 ? 0 : 15 + kTextLine * static_cast<double>(lines - 1);
  height_ = 28 + text_height + (has_cells_ ? kCell + 6 : 0);
}

double SchedulePictures::widest_label() const {
  // The slots are not known yet: as if every pair of ranks had an arrow of its own.
  double widest = 0;
  const auto consider = [&](const Arrow& arrow, bool whole) {
    widest = std::max(widest, text_width(arrow_text(arrow, whole), kTextFont));
  };
  std::map<std::pair<int, int>, Arrow> pairs;
  for (const Round& round : schedule_.rounds) {
    for (const Message& message : round) {
      const std::size_t bytes = message.range.size() * element_bytes();
      const bool combines = message.action == Action::kCombine;
      consider({1, bytes, combines, message_text(message)}, false);
      Arrow& pair = pairs[{message.source, message.destination}];
      pair.messages += 1;
      pair.bytes += bytes;
    }
  }
  for (const auto& [ends, arrow] : pairs) consider(arrow, true);
  if (stands_in_rows(schedule_.request)) {
    const int ranks = schedule_.request.ranks;
    widest += text_width(sender_text(ranks > max_lanes_ ? ranks - 1 : ranks, ranks), kTextFont);
  }
  return widest + 12;
}

Arrows SchedulePictures::arrows_of(std::optional<std::size_t> round) const {
  Arrows arrows;
  for (std::size_t i = 0; i < schedule_.rounds.size(); ++i) {
    if (round && i != *round) continue;
    for (const Message& message : schedule_.rounds[i]) {
      const int from = places_.slot_of[static_cast<std::size_t>(message.source)];
      const int to = places_.slot_of[static_cast<std::size_t>(message.destination)];
      if (from == to) continue;  // inside of an ellipsis
      Arrow& arrow = arrows[{from, to + places_.below}];
      arrow.messages += 1;
      arrow.bytes += message.range.size() * element_bytes();
      arrow.combines = arrow.combines || message.action == Action::kCombine;
      arrow.chunk = message_text(message);
    }
  }
  return arrows;
}

// "chunk 2", "blocks 4 to 7", "chunks 0, 1", "all".
std::string SchedulePictures::message_text(const Message& message) const {
  if (message.chunk >= 0) return fmt::format("{} {}", chunk_word(), message.chunk);
  const std::vector<Range>& parts = schedule_.blocks.empty() ? states_.chunks : schedule_.blocks;
  std::vector<int> blocks;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Range& block = parts[i];
    const bool inside =
        block.begin >= message.range.begin && block.end <= message.range.end && block.size() > 0;
    if (inside) blocks.push_back(static_cast<int>(i));
  }
  if (message.range.size() == schedule_.elements) return "all";
  if (blocks.empty()) return message.range.size() == 0 ? "nothing" : "part";
  return fmt::format("{}{} {}", chunk_word(), blocks.size() == 1 ? "" : "s", format_ranks(blocks));
}

std::string SchedulePictures::arrow_text(const Arrow& arrow, bool whole) const {
  if (operation() == Operation::kBarrier) return "signal";
  if (arrow.bytes == 0) return whole ? "empty" : arrow.chunk + ", empty";
  if (!whole && arrow.messages == 1) {
    return fmt::format("{}{} ({})", arrow.chunk, arrow.combines ? " +" : "",
                       format_bytes(arrow.bytes));
  }
  if (arrow.messages == 1) return format_bytes(arrow.bytes);
  return fmt::format("{} in {}", format_bytes(arrow.bytes), arrow.messages);
}

void SchedulePictures::write_cells(DotWriter& dot, const std::string& id, int rank, Place middle,
                                   std::size_t stage, bool whole) const {
  const auto& held = states_.states[stage][static_cast<std::size_t>(rank)];
  const double left = middle.x - kCell * static_cast<double>(held.size() - 1) / 2;
  for (std::size_t chunk = 0; chunk < held.size(); ++chunk) {
    const bool is_new =
        !whole && stage > 0 &&
        held[chunk] != states_.states[stage - 1][static_cast<std::size_t>(rank)][chunk];
    const std::string holds =
        held[chunk].contributions.empty()
            ? "nothing yet"
            : fmt::format("of rank{} {}", held[chunk].contributions.size() == 1 ? "" : "s",
                          format_ranks(held[chunk].contributions));
    cells_.write(
        dot, fmt::format("{}_{}", id, chunk), {left + kCell * static_cast<double>(chunk), middle.y},
        states_.labels[chunk], cells_.holding_of(held[chunk]), is_new,
        fmt::format("rank {}, {} {}: {}", rank, chunk_word(), states_.labels[chunk], holds));
  }
}

void SchedulePictures::write_slot(DotWriter& dot, const RankSlot& slot, std::size_t stage,
                                  bool whole) const {
  const int rank = slot.ranks.front();
  const std::string id = slot_id(slot);
  const bool is_root = this->is_root(rank);
  Attributes attributes = pinned(slot.place, slot.width, height_);
  attributes.set("style", slot.is_ellipsis() ? "filled,rounded,dashed" : "filled,rounded");
  attributes.text("label", "").set("fillcolor", ink(is_root ? Ink::kHomeFill : Ink::kLaneFill));
  attributes.set("color", ink(is_root ? Ink::kHomeLine : Ink::kLaneLine)).set("class", "lane");
  attributes.text("tooltip", slot.is_ellipsis()
                                 ? fmt::format("ranks {}", format_ranks(slot.ranks))
                                 : fmt::format("rank {}{}", rank, is_root ? ", the root" : ""));
  dot.node(id, attributes);
  if (slot.is_ellipsis()) {
    write_pinned_text(dot, id + "_name", {slot.place.x, slot.place.y},
                      fmt::format("… {} more", slot.ranks.size()), kTextFont, ink(Ink::kMuted));
    return;
  }
  double y = slot.place.y + height_ / 2 - 14;
  write_pinned_text(dot, id + "_name", {slot.place.x, y}, rank_name(rank), kNameFont,
                    ink(Ink::kTitle), true);
  const std::vector<std::string> lines = value_lines(stage, rank);
  for (std::size_t line = 0; line < lines.size(); ++line) {
    y -= line == 0 ? 16 : kTextLine;
    write_pinned_text(dot, fmt::format("{}_value{}", id, line == 0 ? "" : std::to_string(line)),
                      {slot.place.x, y}, lines[line], kTextFont, ink(Ink::kCaption));
  }
  if (has_cells_) {
    write_cells(dot, id, rank, {slot.place.x, slot.place.y - height_ / 2 + kCell / 2 + 5}, stage,
                whole);
  }
}

void SchedulePictures::write_arrow(DotWriter& dot, const std::pair<int, int>& ends,
                                   const ArrowPlace& place, const Arrow& arrow, bool whole) const {
  const RankSlot& from = places_.slots[static_cast<std::size_t>(ends.first)];
  const RankSlot& to = places_.slots[static_cast<std::size_t>(ends.second)];
  const std::string id = fmt::format("m_{}_{}", slot_id(from), slot_id(to));
  const std::string text = (from.before ? sender_text(from.ranks.front(), from.ranks.back()) : "") +
                           arrow_text(arrow, whole);
  const double label_width = text_width(text, kTextFont) + 8;
  const std::string tooltip =
      fmt::format("{} to {}: {}, {}", slot_id(from), slot_id(to),
                  counted(arrow.messages, "message"), format_bytes(arrow.bytes));
  const bool carries = arrow.bytes > 0 || operation() == Operation::kBarrier;
  Attributes label = pinned(place.label, label_width, kMessageLabelHeight);
  label.text("label", text).set("fillcolor", ink(Ink::kPage)).set("penwidth", 0.0);
  label.set("color", ink(Ink::kPage));
  label.set("fontcolor", ink(carries ? Ink::kCommLabel : Ink::kIdleText))
      .set("class", "label")
      .text("tooltip", tooltip);
  const bool on_box = from.before;  // the arrow ends above its label
  if (!on_box || !whole || labels_of_all(places_) > 0) dot.node(id, label);
  const auto half = [&] {
    Attributes attributes;
    attributes.set("color", ink(carries ? Ink::kCommLine : Ink::kIdleLine));
    attributes.set("penwidth", arrow.bytes >= 1'000'000 ? 3.4 : 1.6);
    if (!carries) attributes.set("style", "dashed");
    return attributes.set("class", carries ? "comm" : "idle");
  };
  std::string tail = slot_id(from);
  std::string head = slot_id(to);
  if (place.has_ends) {
    tail = write_end(dot, id + "_tail", place.tail);
    head = write_end(dot, id + "_head", place.head);
  }
  if (on_box) {
    dot.edge({tail, head}, half().set("arrowsize", 0.8).text("tooltip", tooltip));
    return;
  }
  dot.edge({tail, id}, half().set("dir", "none").text("tooltip", tooltip));
  dot.edge({id, head}, half().set("arrowsize", 0.8).text("tooltip", tooltip));
}

void SchedulePictures::write_arrows(DotWriter& dot, std::optional<std::size_t> round) const {
  const Arrows arrows = arrows_of(round);
  std::map<std::pair<int, int>, ArrowPlace> between_rows;
  if (places_.below > 0) {
    std::vector<std::pair<int, int>> ways;
    for (const auto& [ends, arrow] : arrows) ways.push_back(ends);
    const std::size_t labels = round ? labels_of_round(places_) : labels_of_all(places_);
    const double band = labels > 0 ? label_band(labels) : 0;
    between_rows = place_between_rows(places_, ways, height_, band);
  }
  const auto& arrow_places = places_.below > 0 ? between_rows : arrow_places_;
  for (const auto& [ends, arrow] : arrows) {
    write_arrow(dot, ends, arrow_places.at(ends), arrow, !round);
  }
}

std::string SchedulePictures::subtitle(std::optional<std::size_t> round) const {
  if (places_.below > 0) {
    return round ? fmt::format("Before (above) and after (below) round {} of {}", *round + 1,
                               schedule_.rounds.size())
                 : "Before the first round (above) and after the last (below)";
  }
  return round ? fmt::format("After round {} of {}", *round + 1, schedule_.rounds.size())
               : "After the last round";
}

Picture SchedulePictures::draw_one(std::optional<std::size_t> round) {
  const bool whole = !round;
  const std::size_t stage = whole ? schedule_.rounds.size() : *round + 1;
  Picture picture;
  picture.name = whole ? name_ : fmt::format("{}-round{}", name_, *round + 1);
  picture.layout = "neato";
  picture.title = schedule_title(schedule_, op_);
  if (!whole) picture.title += fmt::format(": round {} of {}", *round + 1, schedule_.rounds.size());
  picture.caption = whole ? whole_caption(schedule_) : round_caption(schedule_, op_, *round);

  DotWriter dot("digraph", picture.name,
                fmt::format("{}\nConventions: docs/diagrams.md. Render with: neato -n2 -Tsvg "
                            "FILE.dot -o FILE.svg",
                            picture.title));
  write_pinned_defaults(dot, picture.title, theme_);
  dot.defaults("edge", Attributes().set("fontname", kFontNames).set("fontsize", kTextFont));
  double left = std::numeric_limits<double>::infinity();
  double right = -left;
  double top = -left;
  double bottom = left;
  for (const RankSlot& slot : places_.slots) {
    left = std::min(left, slot.place.x - slot.width / 2);
    right = std::max(right, slot.place.x + slot.width / 2);
    top = std::max(top, slot.place.y + height_ / 2);
    bottom = std::min(bottom, slot.place.y - height_ / 2);
  }
  const double middle = (left + right) / 2;
  const double text_room = std::max(right - left, 460.0);
  write_pinned_title(dot, middle, top + 24, text_room, schedule_title(schedule_, op_),
                     subtitle(round), theme_);
  dot.blank();
  for (const RankSlot& slot : places_.slots) {
    const std::size_t shown = !slot.before ? stage : whole ? 0 : stage - 1;
    write_slot(dot, slot, shown, whole || slot.before);
  }
  dot.blank();
  write_arrows(dot, round);
  dot.blank();
  double caption_top = bottom - 26;
  if (has_cells_) {
    cells_.write_key(dot, {middle, bottom - 26});
    caption_top -= 24;
  }
  write_pinned_caption(dot, middle, caption_top, text_room, picture.caption, theme_);
  picture.dot = dot.finish();
  return picture;
}

}  // namespace

std::vector<Picture> draw_schedule(const Schedule& schedule, ReduceOp op,
                                   const std::vector<std::vector<std::string>>& values,
                                   const DrawOptions& options) {
  return SchedulePictures(schedule, op, values, options).draw();
}

}  // namespace ringside
