// The cells of a collective's picture: one per chunk of a rank's buffer, filled by whose
// contributions it holds, and the key that says so in words.
#pragma once

#include <string>

#include "views/pinned.h"
#include "views/schedule_states.h"

namespace ringside {

inline constexpr double kCell = 16;  ///< points from cell to cell

enum class Holding { kNothing, kOwn, kPart, kComplete };

class ChunkCells {
 public:
  ChunkCells(const Schedule& schedule, Theme theme) : schedule_(schedule), theme_(theme) {}

  Holding holding_of(const ChunkState& state) const;
  /// `is_new`: it changed in the round that is drawn.
  void write(DotWriter& dot, const std::string& id, Place place, const std::string& label,
             Holding holding, bool is_new, const std::string& tooltip) const;
  /// The key, centred at `middle`.
  void write_key(DotWriter& dot, Place middle) const;

 private:
  const Schedule& schedule_;
  Theme theme_;
};

}  // namespace ringside
