// Engine: the streams of all simulated devices of a world as task queues, served by one pool of
// workers.
//
// A stream is a queue, not a thread. The pool has as many workers as cores; a task never blocks; a
// host thread that waits runs ready tasks itself. Because of that a deadlock is exact knowledge:
// every registered host thread waits or has ended, and nothing is runnable. What a stream may wait
// for besides other streams' events are gates (collectives, sends, receives) and what a host may
// wait for besides events are latches; both are completed by communicators.
//
// Invariants: 1. launches of one stream run in order, one at a time. 2. Results do not depend on
// workers or timing: a task touches only what stream order and events give it. 3. Completing a gate
// or latch never runs user code on the completing thread. Used by sim (sim/comm/sim_world.cpp) and
// mpi (src/backends/mpi). Threads: every function may be called from any thread unless said.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/failure.h"
#include "ringside/device.h"
#include "ringside/kernels.h"

namespace ringside::sim {

struct EngineOptions {
  int workers = 0;          ///< 0 = one per core
  int random_delay_us = 0;  ///< each task starts late by up to this much (determinism tests)
  std::uint64_t delay_seed = 0;
  bool launch_blocking = false;  ///< RINGSIDE_LAUNCH_BLOCKING=1: submit waits for its launch
};

struct DeviceState;
struct StreamQueue;

/// A stream's place in a collective. Copyable; complete() counts once, later calls do nothing (nor
/// does it on a default-constructed gate).
class Gate {
 public:
  Gate() = default;
  /// The `number`-th task of `stream`, which belongs to `device`.
  Gate(std::shared_ptr<DeviceState> device, StreamQueue& stream, std::uint64_t number)
      : device_(std::move(device)), stream_(&stream), number_(number) {}
  /// The stream goes on; with a failure the stream takes it as its asynchronous error.
  void complete(const Failure& failure = {}) const;
  /// The asynchronous error that the stream already had when it reached the gate (its data cannot
  /// be trusted); null if none. To be asked before complete().
  Failure poison() const;

 private:
  std::shared_ptr<DeviceState> device_;
  StreamQueue* stream_ = nullptr;
  std::uint64_t number_ = 0;
};

/// Whom a stream tells that it has come to a gate.
class GateKeeper {
 public:
  virtual ~GateKeeper() = default;
  /// All earlier work of the stream has run. Called at most once, on some thread; must not block.
  /// The stream goes on when the gate is completed; what this throws completes it.
  virtual void reached(Gate gate) = 0;
  /// Instead of reached: the world is being closed, the gate is complete already.
  virtual void dropped() {}
};

/// Work for the pool, in one or more parts, that its owner keeps alive until all have run.
class PoolTask {
 public:
  virtual ~PoolTask() = default;
  /// Called once for each part that was posted, on some thread; must not block.
  virtual void run(int part) = 0;
};

/// An event that a communicator completes by hand (split, calls that carry no data).
class Latch : public Event {
 public:
  virtual void complete(Failure failure = {}) = 0;

 protected:
  Latch() : Event(kNoOp) {}
};

/// What the engine asks communicators when nothing can run any more. Called on one thread, with no
/// engine lock held.
class CallDirectory {
 public:
  virtual ~CallDirectory() = default;
  /// "waits in all-reduce(count=8, float32, sum), call 3 of the world, since 12 ms; rank 2 has not
  /// called it", or empty when the rank has no open call; and what its last completed call was
  /// ("last completed: broadcast(...), call 2").
  virtual std::string describe(int rank) = 0;
  /// Fails every open gate and latch with `error` and makes all communicators usable again (equal
  /// sequence numbers).
  virtual void abort(Failure failure) = 0;
};

class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  /// Stops the workers after the queues have run dry. Open gates are failed first.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// A device with three streams, its memory accounted against `capacity` (0 = unlimited).
  /// `kernels` must outlive the engine. `name` as in Device::name. Not thread-safe against running
  /// hosts.
  std::unique_ptr<Device> make_device(int rank, std::string name, std::size_t capacity,
                                      Kernels& kernels);

  void set_call_directory(CallDirectory* directory);

  /// When all earlier work of `stream` (a stream of this engine) has run, its `keeper` is told.
  void enqueue_gate(Stream& stream, std::shared_ptr<GateKeeper> keeper);
  /// Runs part `part` of `task` on the pool, on core `core` (counted round) unless another one is
  /// idle: tasks that work on the same memory should name the same. Counts as runnable.
  void post(PoolTask& task, int part = 0, std::size_t core = 0);
  /// The core whose tasks the calling thread, of a rank or of the pool, looks for first.
  std::size_t own_core();
  std::shared_ptr<Latch> make_latch();
  /// While a copy of the result lives, no deadlock is declared: something outside of the engine (an
  /// MPI request, say) is going to complete a gate or a latch.
  std::shared_ptr<void> hold();

  /// World::run: one registered host thread per entry of `ranks`; waits for all, synchronises all
  /// devices, rethrows the first cause with "rank r: " in front (a rank's own error before a
  /// Deadlock or RankFailed it caused). Deadlocks are declared with, per rank, the directory's
  /// words or how the rank ended.
  void run(const std::vector<int>& ranks, const std::function<void(int rank)>& function);
  /// World::drive: the calling thread is registered while `function` runs.
  void drive(const std::function<void()>& function);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ringside::sim
