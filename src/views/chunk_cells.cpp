#include "views/chunk_cells.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "views/text.h"

namespace ringside {
namespace {

constexpr double kCellFont = 8.5;
constexpr double kKeyFont = 10.5;
constexpr double kKeyGap = 24;

}  // namespace

Holding ChunkCells::holding_of(const ChunkState& state) const {
  if (state.contributions.empty()) return Holding::kNothing;
  if (!state.arrived) return Holding::kOwn;
  if (!combines(schedule_.request.operation)) return Holding::kComplete;
  return state.contributions.size() == static_cast<std::size_t>(schedule_.request.ranks)
             ? Holding::kComplete
             : Holding::kPart;
}

void ChunkCells::write(DotWriter& dot, const std::string& id, Place place, const std::string& label,
                       Holding holding, bool is_new, const std::string& tooltip) const {
  BoxClass box = BoxClass::kIdle;
  if (holding == Holding::kOwn) box = BoxClass::kData;
  if (holding == Holding::kPart) box = BoxClass::kComm;
  if (holding == Holding::kComplete) {
    box = combines(schedule_.request.operation) ? BoxClass::kUpdate : BoxClass::kComm;
  }
  const BoxInks inks = inks_of(box);
  Attributes attributes = pinned(place, kCell - 2.5, kCell - 2.5);
  attributes.text("label", label).set("fontsize", kCellFont);
  attributes.set("style", box == BoxClass::kIdle ? "dashed" : "filled");
  attributes.set("fillcolor", colour(inks.fill, theme_)).set("color", colour(inks.line, theme_));
  attributes.set("fontcolor", colour(inks.text, theme_)).set("penwidth", is_new ? 2.2 : 0.9);
  attributes.set("class", to_string(box)).text("tooltip", tooltip);
  dot.node(id, attributes);
}

void ChunkCells::write_key(DotWriter& dot, Place middle) const {
  const Operation operation = schedule_.request.operation;
  std::vector<std::pair<Holding, std::string>> entries = {{Holding::kOwn, "own"}};
  if (combines(operation)) {
    entries.emplace_back(Holding::kPart, "combined of some ranks");
    entries.emplace_back(Holding::kComplete, "of all ranks");
  } else {
    entries.emplace_back(Holding::kComplete, "received");
    entries.emplace_back(Holding::kNothing, "nothing yet");
  }
  double width = -kKeyGap;
  for (const auto& [holding, text] : entries) width += kCell + text_width(text, kKeyFont) + kKeyGap;
  double x = middle.x - width / 2;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& [holding, text] = entries[i];
    const double text_room = text_width(text, kKeyFont);
    write(dot, fmt::format("key{}", i), {x + kCell / 2, middle.y}, "", holding, false, text);
    write_pinned_text(dot, fmt::format("keytext{}", i), {x + kCell + 4 + text_room / 2, middle.y},
                      text, kKeyFont, colour(Ink::kMuted, theme_));
    x += kCell + text_room + kKeyGap;
  }
}

}  // namespace ringside
