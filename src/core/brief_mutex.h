// BriefMutex: a mutex that is only ever held for a moment.
//
// A thread that is put to sleep costs tens of microseconds until it runs again, far more than any
// holder takes. So a thread that finds it locked looks again, gives its core away between looks
// (the holder may need it), and sleeps only if that has been in vain.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

#include "core/pause.h"

namespace ringside {

class BriefMutex {
 public:
  void lock() {
    for (int look = 0; look < kLooks; ++look) {
      if (mutex_.try_lock()) return;
      pause_core();
    }
    // By time, not by number: where other programs run, one yield may last for milliseconds.
    const auto until = std::chrono::steady_clock::now() + kYielding;
    do {
      std::this_thread::yield();
      if (mutex_.try_lock()) return;
    } while (std::chrono::steady_clock::now() < until);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kLooks = 50;
  static constexpr std::chrono::microseconds kYielding{50};
  std::mutex mutex_;
};

}  // namespace ringside
