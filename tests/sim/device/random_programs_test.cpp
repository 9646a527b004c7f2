// Random programs on many streams: whatever a launch waits for has happened when it runs. What the
// launches share are plain integers, so that ThreadSanitizer too sees an order that is missing.
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <random>

#include "sim/device/fixture.h"

namespace ringside::sim {
namespace {

constexpr int kDevices = 3;
constexpr std::size_t kStreams = 3 * kDevices;

class Program {
 public:
  Program(std::uint32_t seed, const EngineOptions& options)
      : random_(seed), machine_(kDevices, options) {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      const std::size_t s = pick(kStreams);
      switch (pick(8)) {
        case 0:
          record(s);
          break;
        case 1:
        case 2:
          if (!marks_.empty()) wait(s, marks_[pick(marks_.size())]);
          break;
        case 3:
          if (pick(10) == 0) synchronize(s);
          break;
        case 4:
          machine_.engine->enqueue_gate(stream(s), keeper([this](const Gate& gate) {
                                          machine_.engine->post(completion(gate));
                                        }));
          break;
        default:
          launch(s);
      }
    }
    for (std::size_t s = 0; s < kStreams; ++s) synchronize(s);
    EXPECT_EQ(violations_, 0);
  }

 private:
  struct Completion : PoolTask {
    explicit Completion(Gate to_complete) : gate(std::move(to_complete)) {}
    void run(int /*part*/) override { gate.complete(); }
    Gate gate;
  };
  struct MarkedEvent {
    std::shared_ptr<Event> event;
    int written = 0;  ///< by the last launch that the event covers
  };

  std::size_t pick(std::size_t n) { return random_() % n; }

  Stream& stream(std::size_t s) {
    return machine_.device(static_cast<int>(s / 3)).stream(static_cast<StreamKind>(s % 3));
  }

  void launch(std::size_t s) {
    stream(s).enqueue([this, s, expected = enqueued_[s]](LaunchContext&) {
      if (done_[s] != expected) ++violations_;
      done_[s] = expected + 1;
    });
    ++enqueued_[s];
  }

  PoolTask& completion(const Gate& gate) {
    const std::lock_guard lock(mutex_);
    return completions_.emplace_back(gate);
  }

  void record(std::size_t s) {
    MarkedEvent& mark = marks_.emplace_back();
    stream(s).enqueue([&mark](LaunchContext&) { mark.written = 1; });
    mark.event = stream(s).record();
  }

  void wait(std::size_t s, const MarkedEvent& mark) {
    stream(s).wait(mark.event);
    stream(s).enqueue([this, &mark](LaunchContext&) {
      if (mark.written != 1) ++violations_;
    });
  }

  void synchronize(std::size_t s) {
    stream(s).synchronize();
    EXPECT_EQ(done_[s], enqueued_[s]);
  }

  std::mt19937 random_;
  std::array<int, kStreams> enqueued_{};
  std::array<int, kStreams> done_{};
  std::deque<MarkedEvent> marks_;
  std::atomic<int> violations_ = 0;
  std::mutex mutex_;
  std::deque<Completion> completions_;  // guarded by mutex_
  Machine machine_;
};

TEST(RandomPrograms, KeepEveryOrder) {
  with_time_limit([] {
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(seed);
      EngineOptions options;
      options.workers = static_cast<int>(seed % 4) + 1;
      options.random_delay_us = seed % 3 == 0 ? 20 : 0;
      options.delay_seed = seed;
      Program(seed, options).run(300);
    }
  });
}

}  // namespace
}  // namespace ringside::sim
