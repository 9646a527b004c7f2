#include "parallel/parameter_server_order.h"

#include <algorithm>
#include <cstddef>

namespace ringside {

AsynchronousOrder::AsynchronousOrder(int workers, int steps, int staleness, std::uint64_t seed)
    : steps_(steps),
      staleness_(staleness),
      generator_(seed),
      finished_(static_cast<std::size_t>(workers), 0),
      pulled_at_(finished_.size(), 0),
      slowest_workers_(workers) {
  for (int worker = 0; worker < workers; ++worker) begin_step(worker);
}

void AsynchronousOrder::begin_step(int worker) {
  const int step = finished_[static_cast<std::size_t>(worker)];
  const auto place = std::lower_bound(computing_.begin(), computing_.end(), worker);
  const bool computes = place != computing_.end() && *place == worker;
  if (computes || step == steps_ || step - slowest_ > staleness_) return;
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
  ++slowest_;
  slowest_workers_ = std::count(finished_.begin(), finished_.end(), slowest_);
  for (std::size_t each = 0; each < finished_.size(); ++each) begin_step(static_cast<int>(each));
  return turn;
}

std::optional<ServerTurn> AsynchronousOrder::next() {
  if (!pulling_.empty()) return pull();
  if (!computing_.empty()) return push();
  return std::nullopt;
}

}  // namespace ringside
