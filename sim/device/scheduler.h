// Scheduler: what is behind Engine. The threads that run the tasks of streams, the host threads
// that wait for them, and the exact knowledge that nobody can go on.
//
// Ready streams lie in one queue per core; a thread looks into its own core's first. A host that
// waits runs tasks itself, then looks on for a while, then parks; a worker does the same. Parking
// and waking alone need the parking lock. `active_` counts the threads that may still do something
// (hosts and workers that are not parked): a worker is woken only while there are fewer of them
// than cores (but one always watches), and who takes the number to 0 with nothing ready knows that
// nothing can go on any more. scheduler.cpp runs tasks, parking.cpp has the workers and the sleep,
// hosts.cpp the waiting side, deadlock.cpp declares deadlocks.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sim/device/ready_queue.h"
#include "sim/device/stream_queue.h"

namespace ringside::sim {

/// A thread that deadlock detection counts.
struct Host {
  explicit Host(Scheduler& of, int of_rank = -1) : scheduler(&of), rank(of_rank) {}

  Scheduler* scheduler;
  int rank;              ///< -1: drives all ranks, or waits outside of run and drive
  bool waiting = false;  ///< for `target`
  bool ended = false;
  const Mark* target = nullptr;  ///< while waiting
  bool joins = false;            ///< waits for the hosts of a run; deadlocks are not its business
  bool parked = false;
  Failure deadlock;             ///< to be thrown at the end of the present wait
  bool function_ended = false;  ///< and its devices are being synchronised
  bool failed = false;          ///< has ended with an exception ...
  std::string failure_text;     ///< ... that said this
  std::condition_variable wake;
  Host* outer = nullptr;  ///< what the thread was before, for another scheduler
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
  /// `body` is what a task may be: LaunchTask, Mark, a GateKeeper.
  template <typename Body>
  void enqueue(StreamQueue& stream, Body&& body) {
    const std::int64_t generation = stream.device->generation.load(std::memory_order_relaxed);
    stream.tasks.push(generation, std::forward<Body>(body));
    if (!stream.claimed.exchange(true)) make_ready(stream);
  }
  /// `core`: which one's cache holds the data, counted round.
  void post(PoolTask& task, int part, std::size_t core);
  /// The core whose ready queue the calling thread looks into first.
  std::size_t own_core();
  /// The gate that the stream stands at, by the one who has left it.
  void complete_gate(StreamQueue& stream, const Failure& failure);
  void complete_latch(LatchCounter& latch, const Failure& failure);
  /// No deadlock is declared between the two.
  void begin_hold();
  void end_hold();

  // ---- hosts
  /// Blocks the calling thread until the mark is reached, running tasks meanwhile. The result is a
  /// deadlock that was declared while it waited.
  Failure wait(const Mark& mark, bool joins = false);
  /// wait for one mark, or for all streams of a device; then throws the device's asynchronous error
  /// if there is one, which clears it.
  void synchronize(DeviceState& device, const Mark& mark);
  void synchronize(DeviceState& device);
  void run(const std::vector<int>& ranks, const std::function<void(int)>& function);
  void drive(const std::function<void()>& function);
  void set_call_directory(CallDirectory* directory);

 private:
  using Lock = std::unique_lock<std::mutex>;
  /// A claimed stream, or, if null, a part of a posted task.
  struct Ready {
    StreamQueue* stream = nullptr;
    PoolTask* posted = nullptr;
    int part = 0;
  };

  // ---- scheduler.cpp
  std::size_t home_of(const StreamQueue& stream) const;
  void make_ready(StreamQueue& stream);
  void push(Ready item, std::size_t core);
  bool nothing_ready() const;
  /// Runs what is ready: of a stream a few tasks, or until the mark is reached. False if nothing is
  /// ready.
  bool run_ready(std::size_t core, const Mark* until);
  void run_stream(StreamQueue& stream, const Mark* until);
  void run_launch(StreamQueue& stream);
  void run_posted(PoolTask& posted, int part);
  void reach_gate(StreamQueue& stream);
  /// True if the stream may go on past the mark that is its first task; else it is not the caller's
  /// any more.
  bool pass_mark(StreamQueue& stream);
  /// True if the stream has nothing to do; it is not the caller's any more then.
  bool release(StreamQueue& stream);
  void finish_first(StreamQueue& stream);
  void grow(Counter& counter);
  void delay(const StreamQueue& stream) const;

  // ---- parking.cpp
  /// How long an idle thread looks on before it parks.
  class Patience {
   public:
    explicit Patience(bool crowded) : busy_looks_(crowded ? 20 : 200) {}
    /// True if the thread may look again; false once it is time to park.
    bool again();

   private:
    // About as long as waking a sleeper takes. A count of yields would not do: where other programs
    // run, one may last for milliseconds, and a sleeper is then back sooner.
    static constexpr std::chrono::microseconds kYielding{50};
    int busy_looks_;
    int looks_ = 0;
    std::chrono::steady_clock::time_point yields_since_;
  };
  bool enough_workers() const;
  void need_worker();
  bool start_worker();
  bool surplus() const;
  void work(std::size_t core);
  enum class Woken { kToWork, kToRelieve, kToEnd };
  Woken park_worker();
  Woken sleep_until_woken(Lock& lock);
  Woken wake_up(Woken why);
  void park_host(Host& host);
  void wake_hosts(Counter& counter);

  // ---- hosts.cpp
  Host* current_host();
  std::size_t core_of(const Host& host) const;
  void add_host(Host& host);
  void remove_host(Host& host);
  void finish_work_without_workers();
  void declare_deadlocks(Lock& lock);
  Failure wait_as(Host& host, const Mark& mark, bool joins);
  void run_as(Host& host, const std::function<void(int)>& function);
  void end_host(Host& host, Counter& ended, const std::exception_ptr& error);
  std::exception_ptr settle();

  // ---- deadlock.cpp; with the parking lock held. `callers`: 1 if the caller counts as active
  bool nothing_can_run(int callers) const;
  /// If nothing can run any more: declares the deadlock (the lock is given up meanwhile) and
  /// returns true.
  bool declare_deadlock(Lock& lock, int callers);
  Error describe_deadlock(Lock& lock);
  /// What keeps streams and hosts from going on, in the end: gates and latches.
  struct Blockers {
    std::vector<Gate> gates;
    std::vector<std::shared_ptr<LatchCounter>> latches;
  };
  Blockers find_blockers();
  void unblock(const Blockers& blockers, const Failure& failure);

  static thread_local std::size_t worker_core_;  ///< of a worker, which belongs to one scheduler

  const EngineOptions options_;
  const std::size_t cores_;
  std::vector<std::unique_ptr<ReadyQueue<Ready>>> ready_;  // by core
  std::vector<std::shared_ptr<DeviceState>> devices_;
  std::atomic<bool> stopping_{false};

  std::mutex parking_;  // guards what follows; the atomic ones may be read without it
  std::atomic<int> active_{0};
  std::atomic<int> spare_workers_;     ///< parked, or not yet started
  std::atomic<bool> attended_{false};  ///< a worker is awake, or watches
  std::atomic<bool> crowded_{false};   ///< more hosts than cores
  std::list<Host*> hosts_;
  std::vector<std::thread> workers_;
  std::condition_variable work_;
  std::atomic<bool> threads_refused_{false};  ///< the system starts no more of them
  int parked_workers_ = 0;
  int wakes_ = 0;         ///< parked workers that have been counted as active and will wake
  bool watched_ = false;  ///< a parked worker looks now and then
  std::vector<std::size_t> seen_taken_;  ///< of each ready queue, when the watcher last looked
  int holds_ = 0;
  bool declaring_ = false;  ///< a thread is about it, perhaps without the lock
  std::condition_variable declared_;
  CallDirectory* directory_ = nullptr;
};

}  // namespace ringside::sim
