// Host threads that prepare batches ahead, a bounded number of them, and hand them out in order.
//
// Invariants: 1. batch b is prepared only when b < taken + window, so that at most `window` batches
// wait. 2. take() returns batch 0, 1, 2, ... whichever worker finished first. 3. The destructor
// waits for the batches being prepared, never for those not yet begun. Threads: take() is called by
// one thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "data/staging.h"

namespace ringside {

class Prefetcher {
 public:
  /// Called on the workers, for each batch once.
  using Prepare = std::function<std::shared_ptr<Staging>(std::int64_t batch)>;

  /// Throws Error(kUnavailable) if the system gives no more threads.
  Prefetcher(int workers, std::int64_t window, std::int64_t batches, Prepare prepare);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The next batch; waits for it. Throws what `prepare` threw for it, and again when called again.
  std::shared_ptr<Staging> take();

 private:
  struct Slot {
    std::shared_ptr<Staging> batch;
    std::exception_ptr error;
    bool ready() const { return batch != nullptr || error != nullptr; }
  };

  void work();
  void stop();
  Slot& slot(std::int64_t batch) { return slots_[static_cast<std::size_t>(batch) % slots_.size()]; }

  const std::int64_t batches_;
  const Prepare prepare_;
  std::mutex mutex_;
  std::condition_variable room_;   // a batch was taken, or it is time to stop
  std::condition_variable ready_;  // a batch was prepared
  std::vector<Slot> slots_;        // a ring of `window`
  std::int64_t begun_ = 0;
  std::int64_t taken_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace ringside
