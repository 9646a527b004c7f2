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

std::string message_of(const std::exception_ptr& error) { return to_failure(error)->what(); }

}  // namespace

Host* Scheduler::find_host() {
  const auto self = std::this_thread::get_id();
  const auto found = std::find_if(hosts_.begin(), hosts_.end(),
                                  [&](const Host* host) { return host->thread == self; });
  return found == hosts_.end() ? nullptr : *found;
}

Failure Scheduler::wait(const Mark& mark, bool joins) {
  if (mark.reached()) return nullptr;
  Lock lock(mutex_);
  if (Host* host = find_host()) {
    wait_as(lock, *host, mark, joins);
    return std::exchange(host->deadlock, nullptr);
  }
  Host guest;
  guest.thread = std::this_thread::get_id();
  hosts_.push_back(&guest);
  wait_as(lock, guest, mark, joins);
  hosts_.remove(&guest);
  return guest.deadlock;
}

void Scheduler::wait_as(Lock& lock, Host& host, const Mark& mark, bool joins) {
  host.state = Host::State::kWaiting;
  host.target = &mark;
  host.joins = joins;
  while (!mark.reached()) {
    if (!joins && run_ready(lock, 1)) continue;
    if (declare_deadlock(lock)) continue;
    mark.counter->hosts.push_back(&host);
    host.wake.wait(lock);
    std::erase(mark.counter->hosts, &host);
  }
  declared_.wait(lock, [&] { return !declaring_; });
  host.state = Host::State::kActive;
  host.target = nullptr;
}

Failure Scheduler::take_failure(DeviceState& device) {
  if (!device.pending.load(std::memory_order_relaxed)) return nullptr;
  device.pending.store(false, std::memory_order_relaxed);
  device.generation = device.failed_generation + 1;
  return device.failure;
}

void Scheduler::surface(DeviceState& device) {
  if (!device.pending.load(std::memory_order_acquire)) return;
  Failure failure;
  {
    const Lock lock(mutex_);
    failure = take_failure(device);
  }
  if (failure) raise(failure);
}

void Scheduler::synchronize(DeviceState& device, const Mark& mark) {
  const Failure deadlock = wait(mark);
  surface(device);
  if (deadlock) raise(deadlock);
}

void Scheduler::synchronize(DeviceState& device) {
  Failure deadlock;
  for (const StreamQueue& stream : device.streams) {
    if (Failure declared = wait(mark(device, stream.kind))) deadlock = std::move(declared);
  }
  surface(device);
  if (deadlock) raise(deadlock);
}

void Scheduler::end_host(Host& host, Counter& ended, const std::exception_ptr& error) {
  Lock lock(mutex_);
  host.state = Host::State::kEnded;
  host.thread = {};
  if (error) {
    host.failed = true;
    host.failure_text = message_of(error);
  }
  grow(ended);
  while (declare_deadlock(lock)) {
  }
}

std::exception_ptr Scheduler::settle() {
  for (const auto& device : devices_) {
    for (const StreamQueue& stream : device->streams) wait(mark(*device, stream.kind));
  }
  std::exception_ptr first;
  const Lock lock(mutex_);
  for (const auto& device : devices_) {
    const Failure failure = take_failure(*device);
    if (failure && !first) first = to_exception(failure);
  }
  return first;
}

void Scheduler::run(const std::vector<int>& ranks, const std::function<void(int)>& function) {
  const auto ended = std::make_shared<EndedHosts>();
  std::deque<Host> hosts(ranks.size());
  std::vector<std::exception_ptr> errors(ranks.size());
  {
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      hosts[i].rank = ranks[i];
      hosts_.push_back(&hosts[i]);
    }
  }

  const auto rank_thread = [&](std::size_t i) {
    {
      const Lock lock(mutex_);
      hosts[i].thread = std::this_thread::get_id();
    }
    try {
      function(ranks[i]);
      {
        const Lock lock(mutex_);
        hosts[i].function_ended = true;
      }
      for (const auto& device : devices_) {
        if (device->rank == ranks[i]) synchronize(*device);
      }
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
  {
    const Lock lock(mutex_);
    for (Host& host : hosts) hosts_.remove(&host);
  }
  rethrow_first_cause(ranks, errors);
  if (unsurfaced) std::rethrow_exception(unsurfaced);
}

void Scheduler::drive(const std::function<void()>& function) {
  Host host;
  host.thread = std::this_thread::get_id();
  {
    const Lock lock(mutex_);
    if (find_host() != nullptr) {
      host.thread = {};  // already counted: a drive inside a drive or a run
    } else {
      hosts_.push_back(&host);
    }
  }
  const auto leave = [&] {
    Lock lock(mutex_);
    hosts_.remove(&host);
    while (declare_deadlock(lock)) {
    }
  };
  try {
    function();
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

void Scheduler::set_call_directory(CallDirectory* directory) {
  const Lock lock(mutex_);
  directory_ = directory;
}

void Scheduler::begin_hold() {
  const Lock lock(mutex_);
  ++holds_;
}

void Scheduler::end_hold() {
  Lock lock(mutex_);
  --holds_;
  while (declare_deadlock(lock)) {
  }
}

}  // namespace ringside::sim
