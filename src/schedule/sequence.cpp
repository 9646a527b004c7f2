#include "schedule/sequence.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ringside::schedule {

std::vector<Round> in_sequence(std::vector<Round> first, std::vector<Round> second) {
  first.insert(first.end(), std::make_move_iterator(second.begin()),
               std::make_move_iterator(second.end()));
  return first;
}

void run_beside(std::vector<Round>& all, const std::vector<Round>& rounds) {
  if (all.size() < rounds.size()) all.resize(rounds.size());
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    all[round].insert(all[round].end(), rounds[round].begin(), rounds[round].end());
  }
}

std::vector<Round> on_ranks(std::vector<Round> rounds, const std::function<int(int)>& rank_of) {
  for (Round& round : rounds) {
    for (Message& message : round) {
      message.source = rank_of(message.source);
      message.destination = rank_of(message.destination);
    }
  }
  return rounds;
}

std::vector<Round> mirrored(std::vector<Round> rounds, Action action) {
  std::reverse(rounds.begin(), rounds.end());
  for (Round& round : rounds) {
    for (Message& message : round) {
      std::swap(message.source, message.destination);
      message.action = action;
    }
  }
  return rounds;
}

}  // namespace ringside::schedule
