// What a schedule costs, counted message by message.
#include <algorithm>
#include <vector>

#include "ringside/schedule.h"

namespace ringside {

ScheduleCost count_cost(const Schedule& schedule) {
  const auto ranks = static_cast<std::size_t>(schedule.request.ranks);
  std::vector<std::size_t> sent(ranks, 0);
  std::vector<std::size_t> received(ranks, 0);
  ScheduleCost cost;
  cost.rounds = schedule.rounds.size();
  for (const Round& round : schedule.rounds) {
    cost.messages += round.size();
    for (const Message& message : round) {
      cost.elements += message.range.size();
      sent[static_cast<std::size_t>(message.source)] += message.range.size();
      received[static_cast<std::size_t>(message.destination)] += message.range.size();
    }
  }
  cost.max_sent_by_rank = *std::max_element(sent.begin(), sent.end());
  cost.max_received_by_rank = *std::max_element(received.begin(), received.end());
  return cost;
}

}  // namespace ringside
