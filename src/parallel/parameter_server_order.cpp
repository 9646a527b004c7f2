#include "parallel/parameter_server_order.h"

#include <algorithm>
#include <cstddef>

#include "ringside/nn.h"

namespace ringside {

std::vector<ServerTurn> asynchronous_order(int workers, int steps, int staleness,
                                           std::uint64_t seed) {
  Generator generator(seed);
  std::vector<int> finished(static_cast<std::size_t>(workers), 0);
  std::vector<int> pulled_at(finished.size(), 0);  // in pushes so far
  int pushes = 0;
  std::vector<int> computing;  // workers that have pulled and not pushed, ascending
  std::vector<ServerTurn> turns;
  const auto begin_steps = [&] {
    const int slowest = *std::min_element(finished.begin(), finished.end());
    for (int worker = 0; worker < workers; ++worker) {
      const int step = finished[static_cast<std::size_t>(worker)];
      const auto place = std::lower_bound(computing.begin(), computing.end(), worker);
      const bool computes = place != computing.end() && *place == worker;
      if (computes || step == steps || step - slowest > staleness) continue;
      turns.push_back({ServerTurn::Kind::kPull, worker, step, 0});
      pulled_at[static_cast<std::size_t>(worker)] = pushes;
      computing.insert(place, worker);
    }
  };
  for (begin_steps(); !computing.empty(); begin_steps()) {
    const auto drawn = generator.randint(0, static_cast<std::int64_t>(computing.size()));
    const int worker = computing[static_cast<std::size_t>(drawn)];
    computing.erase(computing.begin() + drawn);
    int& step = finished[static_cast<std::size_t>(worker)];
    turns.push_back({ServerTurn::Kind::kPush, worker, step,
                     pushes - pulled_at[static_cast<std::size_t>(worker)]});
    ++step;
    ++pushes;
  }
  return turns;
}

}  // namespace ringside
