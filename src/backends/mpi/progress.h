// The progress thread: makes all MPI calls of a world, one job after the other, in the order in
// which the host posted them.
//
// That order is the contract's: all ranks call in the same order, also across communicators, so a
// job may block for the other ranks without keeping a later one from them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ringside::mpi {

class Progress {
 public:
  Progress() = default;
  /// Runs what has been posted, then ends the thread.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Jobs do not throw. The thread starts with the first one.
  void post(std::function<void()> job);
  /// Posts a job and blocks until it has run; throws what it threw.
  void call(const std::function<void()>& job);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ringside::mpi
