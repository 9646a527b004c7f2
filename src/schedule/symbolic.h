// Runs a schedule on values of any kind, one per rank and elementary range: contributions (the
// checker, the pictures), expressions (the fused executor). What every message of a round sends is
// what was there before the round.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "ringside/schedule.h"
#include "schedule/elementary_ranges.h"

namespace ringside::schedule {

template <typename Value>
using Held = std::vector<std::vector<Value>>;  // by rank and elementary range

/// Calls `deliver(round, message, piece, sent, into)` for every elementary range of every message,
/// `into` being the receiver's value, and `after_round()` when a round is over. Stops when
/// `deliver` returns false.
template <typename Value, typename Deliver, typename AfterRound>
void run_symbolically(const Schedule& schedule, const ElementaryRanges& pieces, Held<Value>& held,
                      Deliver deliver, AfterRound after_round) {
  for (std::size_t r = 0; r < schedule.rounds.size(); ++r) {
    const Round& round = schedule.rounds[r];
    Held<Value> sent;  // by message
    sent.reserve(round.size());
    for (const Message& message : round) {
      const Range range = pieces.within(message.range);
      const auto& from = held[static_cast<std::size_t>(message.source)];
      sent.emplace_back(from.begin() + static_cast<std::ptrdiff_t>(range.begin),
                        from.begin() + static_cast<std::ptrdiff_t>(range.end));
    }
    for (std::size_t m = 0; m < round.size(); ++m) {
      const Range range = pieces.within(round[m].range);
      auto& into = held[static_cast<std::size_t>(round[m].destination)];
      for (std::size_t piece = range.begin; piece < range.end; ++piece) {
        if (!deliver(r, round[m], piece, sent[m][piece - range.begin], into[piece])) return;
      }
    }
    after_round();
  }
}

template <typename Value, typename Deliver>
void run_symbolically(const Schedule& schedule, const ElementaryRanges& pieces, Held<Value>& held,
                      Deliver deliver) {
  run_symbolically(schedule, pieces, held, std::move(deliver), [] {});
}

}  // namespace ringside::schedule
