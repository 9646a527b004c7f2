// Ranks in tests are threads: run_ranks() starts them, waits at most a time limit, and rethrows
// the error of the lowest rank that failed.
//
// A rank that does not come back cannot be stopped, so a deadlock ends the whole test program
// with a message that names the missing ranks: a failed test, not a hung one.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ringside::test {

/// Calls `body(rank)` on `world_size` threads and returns when all have ended. The first error, by
/// rank, is rethrown as std::runtime_error with "rank N: " in front of its text.
inline void run_ranks(int world_size, const std::function<void(int)>& body,
                      std::chrono::seconds limit = std::chrono::seconds(30)) {
  std::mutex mutex;
  std::condition_variable ended;
  int running = world_size;
  std::vector<bool> done(static_cast<size_t>(world_size), false);
  std::vector<std::string> errors(static_cast<size_t>(world_size));

  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      std::string error;
      try {
        body(rank);
      } catch (const std::exception& e) {
        error = e.what();
        if (error.empty()) error = "(no text)";
      }
      const std::lock_guard lock(mutex);
      errors[static_cast<size_t>(rank)] = std::move(error);
      done[static_cast<size_t>(rank)] = true;
      --running;
      ended.notify_one();
    });
  }

  std::unique_lock lock(mutex);
  if (!ended.wait_for(lock, limit, [&] { return running == 0; })) {
    std::string missing;
    for (int rank = 0; rank < world_size; ++rank) {
      if (!done[static_cast<size_t>(rank)]) missing += " " + std::to_string(rank);
    }
    std::fprintf(stderr, "run_ranks: after %lld s still running: rank%s\n",
                 static_cast<long long>(limit.count()), missing.c_str());
    std::_Exit(1);
  }
  lock.unlock();
  for (std::thread& thread : threads) thread.join();

  for (int rank = 0; rank < world_size; ++rank) {
    const std::string& error = errors[static_cast<size_t>(rank)];
    if (!error.empty()) throw std::runtime_error("rank " + std::to_string(rank) + ": " + error);
  }
}

}  // namespace ringside::test
