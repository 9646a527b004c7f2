// Scheduler: what is behind Engine. Streams as queues of tasks, the threads that run them, the host
// threads that wait for them, and the exact knowledge that nobody can go on.
//
// One mutex guards everything here but the values of Counters, which may be read without it; no
// launch and no callback runs under it. A later scheduler may replace the mutex by lock-free queues
// without a change to engine.h or device.h. scheduler.cpp runs tasks, hosts.cpp has the waiting
// side, deadlock.cpp declares deadlocks.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/failure.h"
#include "sim/device/engine.h"

namespace ringside::sim {

class Scheduler;
struct DeviceState;
struct Host;
struct StreamQueue;

/// A number that only grows, and who waits for it: the tasks that a stream has completed, a latch
/// (0 or 1), the hosts of a run that have ended.
struct Counter {
  struct WaitingStream {
    std::uint64_t target;
    StreamQueue* stream;
  };

  std::atomic<std::uint64_t> value{0};
  std::vector<WaitingStream> streams;
  std::vector<Host*> hosts;

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

  bool reached() const { return counter->value.load(std::memory_order_acquire) >= target; }
  Failure failure() const { return counter->failure_at(target, generation); }
};

/// Work with the name that its error message gives it.
struct LaunchTask {
  Launch launch;
  std::string name;
  std::string label;
};
using ReachedCallback = std::function<void(Gate)>;

struct Task {
  std::int64_t generation;  ///< of the device when it was enqueued
  std::variant<LaunchTask, Mark, ReachedCallback> body;
};

/// A stream: value counts its completed tasks.
struct StreamQueue : Counter {
  enum class State {
    kIdle,     ///< no tasks
    kReady,    ///< in the ready queue
    kRunning,  ///< a thread runs its tasks
    kBlocked   ///< its first task waits: for a mark, or for `gate` to complete
  };

  DeviceState* device = nullptr;
  StreamKind kind = StreamKind::kCompute;
  State state = State::kIdle;
  std::deque<Task> tasks;
  std::uint64_t enqueued = 0;
  std::shared_ptr<Gate::State> gate;
  /// tasks from this one on are spoilt by the device's failure (if it is of their generation)
  std::uint64_t failed_from = 0;

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

  std::int64_t generation = 0;
  std::int64_t failed_generation = -1;  ///< tasks up to this generation are skipped
  Failure failure;                      ///< of failed_generation
  std::atomic<bool> pending{false};     ///< the failure has not surfaced

  StreamQueue& stream(StreamKind kind) { return streams[static_cast<std::size_t>(kind)]; }
  /// Everything enqueued on the stream so far.
  Mark end_of(StreamKind kind);
};

struct Gate::State {
  Scheduler* scheduler;
  StreamQueue* stream;
  Failure poison;
  std::atomic<bool> completed{false};
};

struct LatchCounter : Counter {
  Failure failure;
  std::string describe() const override { return "a call that other ranks have yet to make"; }
  bool completed_by_hand() const override { return true; }
  Failure failure_at(std::uint64_t /*target*/, std::int64_t /*generation*/) const override {
    return failure;
  }
};

/// A thread that deadlock detection counts.
struct Host {
  enum class State { kActive, kWaiting, kEnded };

  std::thread::id thread;
  int rank = -1;  ///< -1: drives all ranks, or is a guest that waits outside of run and drive
  State state = State::kActive;
  const Mark* target = nullptr;  ///< while waiting
  bool joins = false;            ///< waits for the hosts of a run; deadlocks are not its business
  Failure deadlock;              ///< to be thrown at the end of the present wait
  bool function_ended = false;   ///< and its devices are being synchronised
  bool failed = false;           ///< has ended with an exception ...
  std::string failure_text;      ///< ... that said this
  std::condition_variable wake;
};

class Scheduler {
 public:
  explicit Scheduler(const EngineOptions& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  const EngineOptions& options() const { return options_; }

  // ---- devices, streams, gates, latches
  std::shared_ptr<DeviceState> add_device(int rank, std::string name, Kernels& kernels);
  void enqueue(StreamQueue& stream, std::variant<LaunchTask, Mark, ReachedCallback> body);
  Mark mark(DeviceState& device, StreamKind kind);
  void post(std::function<void()> task);
  void complete_gate(Gate::State& gate, const Failure& failure);
  void complete_latch(LatchCounter& latch, const Failure& failure);
  /// No deadlock is declared between the two.
  void begin_hold();
  void end_hold();

  // ---- hosts
  /// Blocks the calling thread until the mark is reached, running tasks meanwhile. The result is a
  /// deadlock that was declared while it waited.
  Failure wait(const Mark& mark, bool joins = false);
  /// Throws the device's asynchronous error if there is one, which clears it.
  void surface(DeviceState& device);
  /// wait and surface for one mark, or for all streams of a device.
  void synchronize(DeviceState& device, const Mark& mark);
  void synchronize(DeviceState& device);
  void run(const std::vector<int>& ranks, const std::function<void(int)>& function);
  void drive(const std::function<void()>& function);
  void set_call_directory(CallDirectory* directory);

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Ready {
    StreamQueue* stream = nullptr;  ///< or, if null,
    std::function<void()> posted;
  };

  // ---- scheduler.cpp; all are called with the lock held
  void make_ready(StreamQueue& stream);
  void need_worker();
  void work();
  /// Runs the first ready item, of a stream at most `tasks` tasks. False if nothing is ready.
  bool run_ready(Lock& lock, int tasks);
  void run_stream(Lock& lock, StreamQueue& stream, int tasks);
  void run_launch(Lock& lock, StreamQueue& stream);
  void run_posted(Lock& lock, std::function<void()> posted);
  void reach_gate(Lock& lock, StreamQueue& stream);
  /// True if the stream may go on past the mark that is its first task.
  bool pass_mark(StreamQueue& stream);
  void finish_first(StreamQueue& stream);
  void resume(StreamQueue& stream);
  void open_gate(Gate::State& gate, const Failure& failure);
  void open_latch(LatchCounter& latch, const Failure& failure);
  void grow(Counter& counter);
  void fail(StreamQueue& stream, std::int64_t generation, const Failure& failure);
  void delay(const StreamQueue& stream, std::uint64_t index) const;

  // ---- hosts.cpp
  Host* find_host();
  void wait_as(Lock& lock, Host& host, const Mark& mark, bool joins);
  void end_host(Host& host, Counter& ended, const std::exception_ptr& error);
  Failure take_failure(DeviceState& device);
  std::exception_ptr settle();

  // ---- deadlock.cpp
  bool nothing_can_run() const;
  /// If nothing can run any more: declares the deadlock (the lock is given up meanwhile) and
  /// returns true.
  bool declare_deadlock(Lock& lock);
  Error describe_deadlock(Lock& lock);
  /// What keeps streams and hosts from going on, in the end: gates and latches.
  struct Blockers {
    std::vector<std::shared_ptr<Gate::State>> gates;
    std::vector<std::shared_ptr<LatchCounter>> latches;
  };
  Blockers find_blockers() const;
  void unblock(const Blockers& blockers, const Failure& failure);

  const EngineOptions options_;
  const std::size_t most_workers_;

  std::mutex mutex_;
  std::deque<Ready> ready_;
  int running_ = 0;  ///< threads that run a ready item
  bool stopping_ = false;
  std::vector<std::thread> workers_;
  std::condition_variable work_;
  std::size_t idle_workers_ = 0;
  std::vector<std::shared_ptr<DeviceState>> devices_;

  std::list<Host*> hosts_;
  int holds_ = 0;
  bool declaring_ = false;  ///< a thread is about it, perhaps without the lock
  std::condition_variable declared_;
  CallDirectory* directory_ = nullptr;
};

}  // namespace ringside::sim
