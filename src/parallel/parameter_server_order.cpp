#include "parallel/parameter_server_order.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ringside {

AsynchronousOrder::AsynchronousOrder(std::vector<int> steps, int staleness, std::uint64_t seed)
    : steps_(std::move(steps)),
      staleness_(staleness),
      generator_(seed),
      finished_(steps_.size(), 0),
      pulled_at_(steps_.size(), 0) {
  find_slowest();
  begin_steps();
}

void AsynchronousOrder::find_slowest() {
  std::optional<int> fewest;
  for (std::size_t worker = 0; worker < steps_.size(); ++worker) {
    if (finished_[worker] == steps_[worker]) continue;
    if (!fewest || finished_[worker] < *fewest) {
      fewest = finished_[worker];
      slowest_workers_ = 0;
    }
    if (finished_[worker] == *fewest) ++slowest_workers_;
  }
  slowest_ = fewest.value_or(slowest_);
}

void AsynchronousOrder::begin_steps() {
  for (std::size_t worker = 0; worker < steps_.size(); ++worker) {
    begin_step(static_cast<int>(worker));
  }
}

void AsynchronousOrder::begin_step(int worker) {
  const auto index = static_cast<std::size_t>(worker);
  const int step = finished_[index];
  const auto place = std::lower_bound(computing_.begin(), computing_.end(), worker);
  const bool computes = place != computing_.end() && *place == worker;
  if (computes || step == steps_[index] || step - slowest_ > staleness_) return;
  computing_.insert(place, worker);
  pulling_.push_back(worker);
}

ServerTurn AsynchronousOrder::pull() {
  const int worker = pulling_.front();
  pulling_.pop_front();
  pulled_at_[static_cast<std::size_t>(worker)] = pushes_;
  return {ServerTurn::Kind::kPull, worker, finished_[static_cast<std::size_t>(worker)], 0};
}

ServerTurn AsynchronousOrder::push() {
  const auto drawn = generator_.randint(0, static_cast<std::int64_t>(computing_.size()));
  const int worker = computing_[static_cast<std::size_t>(drawn)];
  computing_.erase(computing_.begin() + drawn);
  const auto place = static_cast<std::size_t>(worker);
  const int step = finished_[place]++;
  const ServerTurn turn{ServerTurn::Kind::kPush, worker, step,
                        static_cast<int>(pushes_++ - pulled_at_[place])};
  if (step > slowest_ || --slowest_workers_ > 0) {
    begin_step(worker);
    return turn;
  }
  find_slowest();
  begin_steps();
  return turn;
}

std::optional<ServerTurn> AsynchronousOrder::next() {
  if (!pulling_.empty()) return pull();
  if (!computing_.empty()) return push();
  return std::nullopt;
}

}  // namespace ringside
