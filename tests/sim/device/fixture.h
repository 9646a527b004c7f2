// What the tests of simulated devices share: an engine with a few devices, a message-collecting
// expectation of errors, and a minimal communicator.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ringside/error.h"
#include "sim/device/engine.h"
#include "support/time_limit.h"

namespace ringside::sim {

using test::with_time_limit;

class NoKernels : public Kernels {
 public:
  std::string_view name() const override { return "none"; }
};

/// An engine with `count` devices "sim:0", ...
struct Machine {
  explicit Machine(int count, const EngineOptions& options = {}, std::size_t capacity = 0)
      : engine(std::make_unique<Engine>(options)) {
    for (int rank = 0; rank < count; ++rank) {
      devices.push_back(
          engine->make_device(rank, "sim:" + std::to_string(rank), capacity, kernels));
      ranks.push_back(rank);
    }
  }
  Device& device(int rank) { return *devices[static_cast<std::size_t>(rank)]; }
  Stream& compute(int rank) { return device(rank).compute(); }
  Stream& communication(int rank) { return device(rank).stream(StreamKind::kCommunication); }

  NoKernels kernels;
  std::unique_ptr<Engine> engine;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<int> ranks;
};

/// Has `function` called when the stream comes to the gate.
template <typename Function>
std::shared_ptr<GateKeeper> keeper(Function function) {
  struct Keeper : GateKeeper {
    explicit Keeper(Function to_call) : call(std::move(to_call)) {}
    void reached(Gate gate) override { call(std::move(gate)); }
    Function call;
  };
  return std::make_shared<Keeper>(std::move(function));
}

/// Runs `function` on the pool; to be kept until it has run.
template <typename Function>
class Job : public PoolTask {
 public:
  explicit Job(Function function) : function_(std::move(function)) {}
  void run(int /*part*/) override { function_(); }

 private:
  Function function_;
};

inline OpInfo named(std::string_view name, std::string_view label = {}) {
  OpInfo info;
  info.name = name;
  info.label = label;
  return info;
}

/// Calls `function`, which must throw an Error, and returns it.
template <typename Function>
Error error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not an Error: " << error.what();
    return Error(ErrorKind::kIo, "");
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorKind::kIo, "");
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in\n" << text;
}

/// The smallest communicator: a barrier of all ranks on their communication streams.
class Barrier : public CallDirectory {
 public:
  Barrier(Machine& machine, int size) : machine_(machine), size_(size) {
    machine.engine->set_call_directory(this);
  }
  ~Barrier() override { machine_.engine->set_call_directory(nullptr); }
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  void enter(int rank) {
    machine_.engine->enqueue_gate(machine_.communication(rank), keeper([this, rank](Gate gate) {
                                    std::vector<Gate> complete;
                                    {
                                      const std::lock_guard lock(mutex_);
                                      waiting_.emplace_back(rank, std::move(gate));
                                      if (waiting_.size() < static_cast<std::size_t>(size_)) return;
                                      for (auto& [other, open] : waiting_)
                                        complete.push_back(std::move(open));
                                      waiting_.clear();
                                    }
                                    for (Gate& open : complete) open.complete();
                                  }));
  }

  std::string describe(int rank) override {
    const std::lock_guard lock(mutex_);
    for (const auto& [other, gate] : waiting_) {
      if (other == rank) return "waits in the barrier";
    }
    return {};
  }

  void abort(Failure failure) override {
    std::vector<std::pair<int, Gate>> open;
    {
      const std::lock_guard lock(mutex_);
      open.swap(waiting_);
      ++aborts_;
    }
    for (auto& [rank, gate] : open) gate.complete(failure);
  }

  int aborts() {
    const std::lock_guard lock(mutex_);
    return aborts_;
  }

 private:
  Machine& machine_;
  int size_;
  std::mutex mutex_;
  std::vector<std::pair<int, Gate>> waiting_;
  int aborts_ = 0;
};

}  // namespace ringside::sim
