// The side that waits: host threads, how they are counted, and World::run and World::drive.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <new>
#include <system_error>
#include <utility>

#include "sim/device/scheduler.h"

namespace ringside::sim {
namespace {

/// How many hosts of a run have ended.
struct EndedHosts : Counter {
  std::string describe() const override { return "the ranks of its run"; }
  Failure failure_at(std::uint64_t /*target*/, std::int64_t /*generation*/) const override {
    return nullptr;
  }
};

/// What the calling thread is: the hosts that it runs as, innermost first. A thread asks for that
/// at every wait, so it is kept with the thread.
thread_local Host* innermost_host = nullptr;

class InnermostHost {
 public:
  explicit InnermostHost(Host& host) {
    host.outer = innermost_host;
    innermost_host = &host;
  }
  ~InnermostHost() { innermost_host = innermost_host->outer; }
  InnermostHost(const InnermostHost&) = delete;
  InnermostHost& operator=(const InnermostHost&) = delete;
};

std::string message_of(const std::exception_ptr& error) { return to_failure(error)->what(); }

}  // namespace

Host* Scheduler::current_host() {
  for (Host* host = innermost_host; host != nullptr; host = host->outer) {
    if (host->scheduler == this) return host;
  }
  return nullptr;
}

std::size_t Scheduler::core_of(const Host& host) const {
  return host.rank < 0 ? 0 : static_cast<std::size_t>(host.rank) % cores_;
}

std::size_t Scheduler::own_core() {
  const Host* host = current_host();
  return host != nullptr ? core_of(*host) : worker_core_;
}

void Scheduler::add_host(Host& host) {
  const Lock lock(parking_);
  hosts_.push_back(&host);
  ++active_;
  crowded_ = hosts_.size() > cores_;
  if (parked_workers_ > 0) work_.notify_one();  // one of them watches from now on
}

// Where no worker would do it, a host leaves nothing undone behind.
void Scheduler::finish_work_without_workers() {
  while (threads_refused_ && run_ready(0, nullptr)) {
  }
}

// Where there are no workers, whoever declares a deadlock runs what that has set free: the hosts
// that it concerns may sleep until then.
void Scheduler::declare_deadlocks(Lock& lock) {
  while (declare_deadlock(lock, 0)) {
    if (!threads_refused_) continue;
    ++active_;
    lock.unlock();
    finish_work_without_workers();
    lock.lock();
    --active_;
  }
}

void Scheduler::remove_host(Host& host) {
  finish_work_without_workers();
  Lock lock(parking_);
  hosts_.remove(&host);
  if (!host.ended) --active_;
  crowded_ = hosts_.size() > cores_;
  declare_deadlocks(lock);
}

Failure Scheduler::wait(const Mark& mark, bool joins) {
  if (mark.reached()) return nullptr;
  if (Host* host = current_host()) return wait_as(*host, mark, joins);
  Host guest(*this);
  add_host(guest);
  Failure deadlock = wait_as(guest, mark, joins);
  remove_host(guest);
  return deadlock;
}

Failure Scheduler::wait_as(Host& host, const Mark& mark, bool joins) {
  const std::size_t core = core_of(host);
  host.target = &mark;
  host.joins = joins;
  host.waiting = true;
  Patience patience(crowded_);
  while (!mark.reached()) {
    if (!joins && run_ready(core, &mark)) {
      patience = Patience(crowded_);
    } else if (joins || !patience.again()) {
      park_host(host);
    }
  }
  host.waiting = false;
  return std::exchange(host.deadlock, nullptr);
}

void Scheduler::synchronize(DeviceState& device, const Mark& mark) {
  const Failure deadlock = wait(mark);
  if (const Failure failure = device.take_failure()) raise(failure);
  if (deadlock) raise(deadlock);
}

void Scheduler::synchronize(DeviceState& device) {
  Failure deadlock;
  for (const StreamQueue& stream : device.streams) {
    if (Failure declared = wait(device.end_of(stream.kind))) deadlock = std::move(declared);
  }
  if (const Failure failure = device.take_failure()) raise(failure);
  if (deadlock) raise(deadlock);
}

void Scheduler::end_host(Host& host, Counter& ended, const std::exception_ptr& error) {
  finish_work_without_workers();
  Lock lock(parking_);
  host.ended = true;
  --active_;
  if (error) {
    host.failed = true;
    host.failure_text = message_of(error);
  }
  lock.unlock();
  grow(ended);
  lock.lock();
  declare_deadlocks(lock);
}

std::exception_ptr Scheduler::settle() {
  for (const auto& device : devices_) {
    for (const StreamQueue& stream : device->streams) wait(device->end_of(stream.kind));
  }
  std::exception_ptr first;
  for (const auto& device : devices_) {
    const Failure failure = device->take_failure();
    if (failure && !first) first = to_exception(failure);
  }
  return first;
}

void Scheduler::run_as(Host& host, const std::function<void(int)>& function) {
  const InnermostHost scope(host);
  function(host.rank);
  {
    const Lock lock(parking_);
    host.function_ended = true;
  }
  for (const auto& device : devices_) {
    if (device->rank == host.rank) synchronize(*device);
  }
}

void Scheduler::run(const std::vector<int>& ranks, const std::function<void(int)>& function) {
  const auto ended = std::make_shared<EndedHosts>();
  std::deque<Host> hosts;
  for (const int rank : ranks) add_host(hosts.emplace_back(*this, rank));
  std::vector<std::exception_ptr> errors(ranks.size());
  const auto rank_thread = [&](std::size_t i) {
    try {
      run_as(hosts[i], function);
    } catch (...) {
      errors[i] = std::current_exception();
    }
    end_host(hosts[i], *ended, errors[i]);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    try {
      threads.emplace_back(rank_thread, i);
    } catch (const std::system_error& e) {
      errors[i] = std::make_exception_ptr(
          Error(ErrorKind::kUnavailable, fmt::format("cannot start a thread: {}", e.what()),
                "use fewer ranks, or raise the limit on threads (ulimit -u)"));
      end_host(hosts[i], *ended, errors[i]);
    }
  }
  wait({ended, ranks.size()}, /*joins=*/true);
  for (std::thread& thread : threads) thread.join();

  const std::exception_ptr unsurfaced = settle();
  for (Host& host : hosts) remove_host(host);
  rethrow_first_cause(ranks, errors);
  if (unsurfaced) std::rethrow_exception(unsurfaced);
}

void Scheduler::drive(const std::function<void()>& function) {
  if (current_host() != nullptr) {
    function();  // already counted: a drive inside a drive or a run
    return;
  }
  Host host(*this);
  add_host(host);
  const InnermostHost scope(host);
  try {
    function();
  } catch (...) {
    remove_host(host);
    throw;
  }
  remove_host(host);
}

void Scheduler::set_call_directory(CallDirectory* directory) {
  const Lock lock(parking_);
  directory_ = directory;
}

void Scheduler::begin_hold() {
  const Lock lock(parking_);
  ++holds_;
}

void Scheduler::end_hold() {
  Lock lock(parking_);
  --holds_;
  declare_deadlocks(lock);
}

}  // namespace ringside::sim
