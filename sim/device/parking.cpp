// Threads that find nothing to do: how long they look on, how they sleep, and how they are woken.
//
// A wake-up costs tens of microseconds, a look into the ready queues a few nanoseconds. So an idle
// thread looks on first: busily, if every thread may have a core of its own, then leaving the core
// to others between two looks.
#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "core/pause.h"
#include "sim/device/scheduler.h"

namespace ringside::sim {

thread_local std::size_t Scheduler::worker_core_ = 0;

bool Scheduler::Patience::again() {
  ++looks_;
  if (looks_ <= busy_looks_) {
    pause_core();
    return true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (looks_ == busy_looks_ + 1) yields_since_ = now;
  if (now - yields_since_ > kYielding) return false;
  std::this_thread::yield();
  return true;
}

// With as many active threads as cores, what is ready is soon looked for; and if all of them keep
// to other things, the worker that watches will see it.
bool Scheduler::enough_workers() const {
  return spare_workers_.load(std::memory_order_seq_cst) == 0 ||
         (active_.load(std::memory_order_seq_cst) >= static_cast<int>(cores_) &&
          attended_.load(std::memory_order_seq_cst));
}

void Scheduler::need_worker() {
  if (enough_workers()) return;
  const Lock lock(parking_);
  if (enough_workers()) return;
  if (parked_workers_ > 0) {
    --parked_workers_;
    ++wakes_;
    work_.notify_one();
  } else if (workers_.size() == cores_ || stopping_ || threads_refused_ || !start_worker()) {
    return;
  }
  --spare_workers_;
  ++active_;
  attended_ = true;
}

// Without workers the waiting hosts do all the work.
bool Scheduler::start_worker() {
  const std::size_t core = workers_.size();
  try {
    workers_.emplace_back([this, core] { work(core); });
    return true;
  } catch (const std::system_error&) {
    spare_workers_ -= static_cast<int>(cores_ - workers_.size());
    threads_refused_ = true;
    return false;
  }
}

// More threads than cores, hosts among them: the hosts do the work, and a worker only takes the
// cores from them.
bool Scheduler::surplus() const {
  return active_.load(std::memory_order_relaxed) > static_cast<int>(cores_);
}

void Scheduler::work(std::size_t core) {
  worker_core_ = core;
  Patience patience(crowded_);
  bool relieves = false;  // hosts that leave undone what is ready
  for (;;) {
    const bool ran = run_ready(core, nullptr);
    if (ran) patience = Patience(crowded_);
    if (ran && (relieves || !surplus())) continue;
    if (!ran && !surplus() && patience.again()) continue;
    const Woken woken = park_worker();
    if (woken == Woken::kToEnd) return;
    relieves = woken == Woken::kToRelieve;
    patience = Patience(crowded_);
  }
}

Scheduler::Woken Scheduler::park_worker() {
  Lock lock(parking_);
  if (declare_deadlock(lock, 1)) return Woken::kToWork;
  if (stopping_ && nothing_ready()) {
    --active_;
    return Woken::kToEnd;
  }
  const bool leaves_work = !hosts_.empty() && surplus();
  ++parked_workers_;
  ++spare_workers_;
  if (!leaves_work && !nothing_ready()) {
    --parked_workers_;
    --spare_workers_;
    return Woken::kToWork;
  }
  --active_;
  // Who pushed before the last line may have counted on this thread.
  return leaves_work || nothing_ready() ? sleep_until_woken(lock) : wake_up(Woken::kToWork);
}

Scheduler::Woken Scheduler::wake_up(Woken why) {
  --parked_workers_;
  --spare_workers_;
  ++active_;
  attended_ = true;
  return why;
}

// While hosts are about, one of the sleepers looks now and then: tasks of hosts that keep all cores
// busy with other things must not wait for ever.
Scheduler::Woken Scheduler::sleep_until_woken(Lock& lock) {
  constexpr std::chrono::milliseconds kWatch(1);
  while (wakes_ == 0) {
    // What hosts that have left have not waited for is done without them.
    if (stopping_ || (hosts_.empty() && !nothing_ready())) return wake_up(Woken::kToWork);
    const bool watches = !hosts_.empty() && !watched_;
    if (watches) {
      for (std::size_t core = 0; core < cores_; ++core) seen_taken_[core] = ready_[core]->taken();
      watched_ = true;
      work_.wait_for(lock, kWatch);
      watched_ = false;
      for (std::size_t core = 0; core < cores_; ++core) {
        const bool neglected = !ready_[core]->empty() && ready_[core]->taken() == seen_taken_[core];
        if (neglected && wakes_ == 0) return wake_up(Woken::kToRelieve);
      }
    } else {
      attended_ = watched_ || parked_workers_ < static_cast<int>(workers_.size());
      work_.wait(lock);
    }
  }
  --wakes_;
  return Woken::kToWork;
}

void Scheduler::park_host(Host& host) {
  Lock lock(parking_);
  Counter& counter = *host.target->counter;
  counter.awaited_by_hosts.store(true, std::memory_order_seq_cst);
  if (host.target->reached()) return;
  if (!host.joins && !nothing_ready()) return;
  if (declare_deadlock(lock, 1)) return;
  counter.hosts.push_back(&host);
  host.parked = true;
  --active_;
  host.wake.wait(lock, [&] { return !host.parked; });
  declared_.wait(lock, [&] { return !declaring_; });
}

void Scheduler::wake_hosts(Counter& counter) {
  const Lock lock(parking_);
  std::erase_if(counter.hosts, [&](Host* host) {
    if (!host->target->reached()) return false;
    host->parked = false;
    ++active_;
    host->wake.notify_one();
    return true;
  });
  counter.awaited_by_hosts.store(!counter.hosts.empty(), std::memory_order_seq_cst);
}

}  // namespace ringside::sim
