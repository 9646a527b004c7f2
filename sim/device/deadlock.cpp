// Exact deadlock detection: nothing is ready, no task runs, every host waits for what is not there
// or has ended. Whoever finds that (the last host to wait or end, the last worker to fall idle)
// declares it: asks the communicators who waits in which call, has them fail their open calls, and
// marks the waiting hosts, which throw the report when they wake. An event exists only after what
// it covers was enqueued, so streams cannot wait in a circle: every wait ends at a gate or latch,
// and with those failed everything runs dry.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/device/scheduler.h"

namespace ringside::sim {

// With no other thread active, what hosts say of themselves is not being written.
bool Scheduler::nothing_can_run(int callers) const {
  if (active_ != callers || !nothing_ready() || holds_ != 0 || stopping_ || declaring_)
    return false;
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [](const Host* host) { return host->waiting && !host->joins; });
}

bool Scheduler::declare_deadlock(Lock& lock, int callers) {
  if (!nothing_can_run(callers)) return false;
  declaring_ = true;
  // None of them leaves its wait before this is over, though all may wake.
  std::vector<Host*> waiting;
  for (Host* host : hosts_) {
    if (host->waiting && !host->joins) waiting.push_back(host);
  }
  const Blockers blockers = find_blockers();

  const auto report = std::make_shared<const Error>(describe_deadlock(lock));
  CallDirectory* directory = directory_;
  lock.unlock();
  if (directory != nullptr) directory->abort(report);
  unblock(blockers, report);  // those that no communicator knows of
  lock.lock();

  for (Host* host : waiting) host->deadlock = report;
  declaring_ = false;
  declared_.notify_all();
  return true;
}

Error Scheduler::describe_deadlock(Lock& lock) {
  struct Line {
    std::string state;
    bool ended;
  };
  std::map<int, Line> ranks;
  std::vector<std::string> drivers;
  bool failed = false;
  for (const auto& device : devices_) ranks[device->rank] = {};
  for (const Host* host : hosts_) {
    if (host->joins) continue;
    const bool ended = host->ended;
    std::string state = !ended         ? "waits for " + host->target->counter->describe()
                        : host->failed ? "failed: " + host->failure_text
                                       : "has finished";
    if (host->function_ended && !ended) state = "has finished its function and " + state;
    failed = failed || host->failed;
    if (host->rank >= 0) {
      ranks[host->rank] = {std::move(state), ended};
    } else {
      drivers.push_back(std::move(state));
    }
  }
  CallDirectory* directory = directory_;
  lock.unlock();

  std::string text = failed ? "another rank failed, and nothing can go on without it"
                            : "deadlock: nothing can go on";
  for (const std::string& state : drivers) text += "\n  the calling thread " + state;
  for (const auto& [rank, line] : ranks) {
    std::string state = line.state;
    const std::string calls = directory != nullptr ? directory->describe(rank) : std::string();
    if (!calls.empty()) {
      // The call says more than the stream that waits for it.
      const bool replaces = !line.ended && calls.rfind("waits", 0) == 0;
      state = state.empty() || replaces ? calls : state + "; " + calls;
    }
    if (!state.empty()) text += fmt::format("\n  rank {} {}", rank, state);
  }
  lock.lock();
  return {failed ? ErrorKind::kRankFailed : ErrorKind::kDeadlock, text,
          failed ? "see to the rank that failed first"
                 : "all ranks of a communicator must make the same calls in the same order"};
}

// A stream that has tasks when nobody runs any waits: at a gate or for a mark.
Scheduler::Blockers Scheduler::find_blockers() {
  Blockers blockers;
  const auto add = [&](const Mark& mark) {
    if (mark.counter->completed_by_hand() && !mark.reached()) {
      blockers.latches.push_back(std::static_pointer_cast<LatchCounter>(mark.counter));
    }
  };
  for (const auto& device : devices_) {
    for (StreamQueue& stream : device->streams) {
      if (stream.tasks.empty()) continue;
      const Task& first = stream.tasks.front();
      if (const Mark* mark = std::get_if<Mark>(&first.body)) {
        add(*mark);
      } else if (!stream.open_gate.closed()) {
        blockers.gates.emplace_back(device, stream, stream.value.load());
      }
    }
  }
  for (const Host* host : hosts_) {
    if (host->waiting) add(*host->target);
  }
  return blockers;
}

void Scheduler::unblock(const Blockers& blockers, const Failure& failure) {
  for (const Gate& gate : blockers.gates) gate.complete(failure);
  for (const auto& latch : blockers.latches) complete_latch(*latch, failure);
}

}  // namespace ringside::sim
