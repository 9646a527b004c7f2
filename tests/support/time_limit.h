// A time limit for tests of what must never hang.
//
// A thread that does not come back cannot be stopped, so going over the limit ends the whole test
// program with a message: a failed test, not a hung one.

#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <thread>
#include <utility>

namespace ringside::test {

/// Calls `body` on a thread of its own, rethrows what it throws, and ends the program with status 1
/// if it takes longer than `limit`.
inline void with_time_limit(std::chrono::seconds limit, std::function<void()> body) {
  std::packaged_task<void()> task(std::move(body));
  std::future<void> result = task.get_future();
  std::thread thread(std::move(task));
  if (result.wait_for(limit) != std::future_status::ready) {
    std::fprintf(stderr, "with_time_limit: still running after %lld s\n",
                 static_cast<long long>(limit.count()));
    std::_Exit(1);
  }
  thread.join();
  result.get();
}

/// With a limit that only a hang exceeds, even under a sanitizer on a busy machine.
inline void with_time_limit(std::function<void()> body) {
  with_time_limit(std::chrono::seconds(60), std::move(body));
}

}  // namespace ringside::test
