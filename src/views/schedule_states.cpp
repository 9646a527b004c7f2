#include "views/schedule_states.h"

#include <algorithm>

#include "schedule/elementary_ranges.h"
#include "schedule/ownership.h"
#include "schedule/symbolic.h"

namespace ringside {
namespace {

std::vector<std::string> chunk_labels(const Schedule& schedule, const std::vector<Range>& chunks) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    std::string label = std::to_string(i);
    for (const Round& round : schedule.rounds) {
      for (const Message& message : round) {
        if (message.range == chunks[i] && message.chunk >= 0) {
          label = std::to_string(message.chunk);
        }
      }
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

void deliver(ChunkState& into, const ChunkState& sent, Action action) {
  into.arrived = true;
  if (action == Action::kCopy) {
    into.contributions = sent.contributions;
    return;
  }
  into.contributions.insert(into.contributions.end(), sent.contributions.begin(),
                            sent.contributions.end());
  std::sort(into.contributions.begin(), into.contributions.end());
}

}  // namespace

ScheduleStates follow(const Schedule& schedule, std::size_t most_chunks) {
  const schedule::ElementaryRanges pieces(schedule);
  const auto ranks = static_cast<std::size_t>(schedule.request.ranks);
  ScheduleStates result;
  if (pieces.size() > most_chunks) return result;
  for (std::size_t i = 0; i < pieces.size(); ++i) result.chunks.push_back(pieces[i]);
  result.labels = chunk_labels(schedule, result.chunks);

  schedule::Held<ChunkState> held(ranks, std::vector<ChunkState>(pieces.size()));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Range own = pieces.within(schedule::input_range(schedule, static_cast<int>(rank)));
    for (std::size_t piece = own.begin; piece < own.end; ++piece) {
      held[rank][piece].contributions = {static_cast<int>(rank)};
    }
  }
  result.states.push_back(held);
  schedule::run_symbolically(
      schedule, pieces, held,
      [](std::size_t /*round*/, const Message& message, std::size_t /*piece*/,
         const ChunkState& sent, ChunkState& into) {
        deliver(into, sent, message.action);
        return true;
      },
      [&] { result.states.push_back(held); });
  return result;
}

}  // namespace ringside
