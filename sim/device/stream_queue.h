// What the scheduler works on: counters that threads and streams wait for, streams as queues of
// tasks, and the state of a device.
//
// Everything that happens on the way of a task is done without locks; who has to wait is noted
// under one. A stream is claimed by one thread at a time, which alone takes tasks out of it: by
// whoever found it unclaimed (StreamQueue::claimed), and handed on through the ready queue, a
// counter's list of waiting streams, or an open gate.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "core/failure.h"
#include "core/short_text.h"
#include "sim/device/engine.h"
#include "sim/device/spsc_queue.h"

namespace ringside::sim {

class Scheduler;
struct Host;

/// A number that only grows, and who waits for it: the tasks that a stream has completed, a latch
/// (0 or 1), the hosts of a run that have ended.
struct Counter {
  struct WaitingStream {
    std::uint64_t target;
    StreamQueue* stream;
  };

  alignas(kCacheLine) std::atomic<std::uint64_t> value{0};
  // Set before the last look at value, read after value has grown: one of the two sides notices.
  std::atomic<bool> awaited_by_streams{false};
  std::atomic<bool> awaited_by_hosts{false};
  std::mutex mutex;  ///< guards `streams`
  std::vector<WaitingStream> streams;
  std::vector<Host*> hosts;  ///< parked ones; guarded by the scheduler's parking lock

  Counter() = default;
  virtual ~Counter() = default;
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  /// "the communication stream of device sim:1".
  virtual std::string describe() const = 0;
  /// True of latches: nothing that the engine runs makes it grow.
  virtual bool completed_by_hand() const { return false; }
  /// What a stream inherits that waits for `target`, marked in `generation`; null if all is well.
  virtual Failure failure_at(std::uint64_t target, std::int64_t generation) const = 0;
};

/// A value that a counter will reach: an event.
struct Mark {
  std::shared_ptr<Counter> counter;
  std::uint64_t target = 0;
  std::int64_t generation = 0;  ///< of the counter's device when the mark was made

  bool reached() const { return counter->value.load(std::memory_order_seq_cst) >= target; }
  Failure failure() const { return counter->failure_at(target, generation); }
};

/// Work with the name that its error message gives it.
struct LaunchTask {
  Launch launch;
  ShortText name;
  ShortText label;
};

/// A launch, an event to wait for, or a gate.
using TaskBody = std::variant<LaunchTask, Mark, std::shared_ptr<GateKeeper>>;

struct Task {
  std::int64_t generation;  ///< of the device when it was enqueued
  TaskBody body;
};

/// The gate that a stream stands at, if any.
class OpenGate {
 public:
  /// The stream has come to its `number`-th task (from 0), with `poison`.
  void enter(std::uint64_t number, Failure poison) {
    poison_ = std::move(poison);
    place_.store(number + 1, std::memory_order_release);
  }
  /// True for the first who leaves gate `number`.
  bool leave(std::uint64_t number) {
    std::uint64_t place = number + 1;
    return place_.compare_exchange_strong(place, 0, std::memory_order_acq_rel);
  }
  const Failure& poison() const { return poison_; }
  bool closed() const { return place_.load(std::memory_order_acquire) == 0; }

 private:
  std::atomic<std::uint64_t> place_{0};  // 0: none
  Failure poison_;
};

/// A stream: value counts its completed tasks.
struct StreamQueue : Counter {
  DeviceState* device = nullptr;
  StreamKind kind = StreamKind::kCompute;
  SpscQueue<Task> tasks;
  /// A thread runs its tasks, or it is on its way to one, or its first task waits.
  std::atomic<bool> claimed{false};
  OpenGate open_gate;
  /// Tasks from this one on are spoilt by the device's failure (if it is of their generation).
  std::uint64_t failed_from = 0;  // guarded by the device's mutex

  std::string describe() const override;
  Failure failure_at(std::uint64_t target, std::int64_t generation) const override;
};

/// A device's streams and its asynchronous error. When an error surfaces a new generation begins:
/// tasks enqueued before are skipped, tasks enqueued after run. Which ones depends on program order
/// alone, not on when the error happened.
struct DeviceState : std::enable_shared_from_this<DeviceState> {
  Scheduler* scheduler = nullptr;
  int rank = 0;
  std::string name;
  Kernels* kernels = nullptr;
  std::array<StreamQueue, 3> streams;

  std::atomic<std::int64_t> generation{0};
  std::atomic<std::int64_t> failed_generation{-1};  ///< tasks up to this generation are skipped
  std::atomic<bool> pending{false};                 ///< the failure has not surfaced
  mutable std::mutex mutex;
  Failure failure;  ///< of failed_generation; guarded by mutex

  StreamQueue& stream(StreamKind kind) { return streams[static_cast<std::size_t>(kind)]; }
  /// Everything enqueued on the stream so far.
  Mark end_of(StreamKind kind);
  /// The failure that spoils what was enqueued in `generation`; null if none does.
  Failure failure_of(std::int64_t generation) const;
  /// A task of `stream` has failed.
  void fail(std::int64_t generation, const Failure& cause);
  /// The error that has not surfaced yet, if any; it has then.
  Failure take_failure();
};

struct LatchCounter : Counter {
  Failure failure;
  std::atomic<bool> completed{false};
  std::string describe() const override { return "a call that other ranks have yet to make"; }
  bool completed_by_hand() const override { return true; }
  Failure failure_at(std::uint64_t /*target*/, std::int64_t /*generation*/) const override {
    return failure;
  }
};

}  // namespace ringside::sim
