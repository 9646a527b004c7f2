// Random programs on many streams: whatever they wait for has happened when they run. The counters
// are plain integers, so that ThreadSanitizer sees any order that events do not give.
#include <array>
#include <cstdint>
#include <random>

#include "sim/device/fixture.h"

namespace ringside::sim {
namespace {

constexpr int kDevices = 3;
constexpr int kStreams = 3 * kDevices;

/// What has been enqueued: a stream's length, and an event with the length it covers.
struct Recorded {
  std::shared_ptr<Event> event;
  std::size_t stream;
  int length;
};

class Program {
 public:
  Program(std::uint32_t seed, const EngineOptions& options)
      : random_(seed), machine_(kDevices, options) {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      const std::size_t s = pick(kStreams);
      switch (pick(8)) {
        case 0:
          events_.push_back({stream(s).record(), s, enqueued_[s]});
          break;
        case 1:
        case 2:
          if (!events_.empty()) wait(s, events_[pick(events_.size())]);
          break;
        case 3:
          if (pick(10) == 0) synchronize(s);
          break;
        case 4:
          machine_.engine->enqueue_gate(stream(s), [this](Gate gate) {
            machine_.engine->post([gate]() mutable { gate.complete(); });
          });
          break;
        default:
          launch(s);
      }
    }
    for (std::size_t s = 0; s < kStreams; ++s) synchronize(s);
    EXPECT_EQ(violations_, 0);
  }

 private:
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

  // Followed by a launch that checks it.
  void wait(std::size_t s, const Recorded& recorded) {
    stream(s).wait(recorded.event);
    stream(s).enqueue([this, other = recorded.stream, length = recorded.length](LaunchContext&) {
      // The other stream may have gone on: only what the event covers may be read.
      if (length > 0 && snapshots_[other] < length) ++violations_;
    });
  }

  void synchronize(std::size_t s) {
    stream(s).synchronize();
    EXPECT_EQ(done_[s], enqueued_[s]);
  }

  std::mt19937 random_;
  std::array<int, kStreams> enqueued_{};
  std::array<int, kStreams> done_{};
  std::array<std::atomic<int>, kStreams> snapshots_{};
  std::atomic<int> violations_ = 0;
  std::vector<Recorded> events_;
  Machine machine_;
};

}  // namespace
}  // namespace ringside::sim
