// The time of all-reduce and broadcast on simulated devices, called by one host thread per rank:
// enqueue, wait.
//
// Usage: collectives_bench RANKS [BYTES]. Prints one JSON line per operation and size: the median
// of five batches of back-to-back calls, timed on rank 0 between two barriers, after one checked
// call.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string_view>

#include "ringside/world.h"

namespace ringside::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::size_t, 5> kSizes = {4096, 65536, 1U << 20, 25U << 20, 100U << 20};
constexpr std::size_t kBatches = 5;

int calls_per_batch(std::size_t bytes) {
  if (bytes <= 4096) return 1000;
  if (bytes <= 65536) return 600;
  if (bytes <= 1U << 20) return 200;
  return bytes <= 25U << 20 ? 3 : 1;
}

void fill(std::span<float> values, int rank) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(rank + 1 + static_cast<int>(i % 7));
  }
}

bool holds_sum(std::span<const float> values, int ranks) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int sum = ranks * (ranks + 1) / 2 + ranks * static_cast<int>(i % 7);
    if (values[i] != static_cast<float>(sum)) return false;
  }
  return true;
}

bool holds_first(std::span<const float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<float>(1 + static_cast<int>(i % 7))) return false;
  }
  return true;
}

void measure(Rank& rank, const DeviceArray& array, bool all_reduce) {
  Stream& stream = rank.device.compute();
  const int ranks = rank.communicator.size();
  const auto call = [&] {
    const Work work =
        all_reduce
            ? rank.communicator.all_reduce(array, array, array.count(), ReduceOp::kSum, stream)
            : rank.communicator.broadcast(array, array, array.count(), 0, stream);
    work.synchronize();
  };
  const auto barrier = [&] { rank.communicator.barrier(stream).synchronize(); };

  fill(array.elements<float>(), rank.rank);
  barrier();
  call();
  barrier();
  const bool right =
      all_reduce ? holds_sum(array.elements<float>(), ranks) : holds_first(array.elements<float>());
  std::ranges::fill(array.elements<float>(), 0.0F);

  const int calls = calls_per_batch(array.bytes());
  std::array<double, kBatches> seconds{};
  for (double& batch : seconds) {
    barrier();
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    barrier();
    batch = std::chrono::duration<double>(Clock::now() - start).count() / calls;
  }
  if (rank.rank != 0) return;
  std::ranges::sort(seconds);
  const double time = seconds[kBatches / 2];
  const double volume =
      static_cast<double>(array.bytes()) * (all_reduce ? 2.0 * (ranks - 1) / ranks : 1.0);
  fmt::print(
      R"({{"suite":"allreduce","peer":"ours","op":"{}","ranks":{},"bytes":{},"us":{:.2f},"busbw_GBps":{:.3f},"ok":{}}})"
      "\n",
      all_reduce ? "allreduce" : "broadcast", ranks, array.bytes(), time * 1e6, volume / time / 1e9,
      right);
  std::fflush(stdout);
}

void run(int ranks, std::size_t only) {
  WorldOptions options;
  options.size = ranks;
  const auto world = open_world("sim", options);
  world->run([only](Rank& rank) {
    const Buffer buffer = rank.device.allocate(kSizes.back(), MemoryKind::kBuckets);
    for (const std::size_t bytes : kSizes) {
      if (only != 0 && bytes != only) continue;
      const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
      const DeviceArray array = buffer.array(DType::kFloat32, Shape{count});
      for (const bool all_reduce : {true, false}) measure(rank, array, all_reduce);
    }
  });
}

}  // namespace
}  // namespace ringside::bench

int main(int argc, char** argv) {
  try {
    const int ranks = argc >= 2 ? std::atoi(argv[1]) : 0;
    const long long only = argc == 3 ? std::atoll(argv[2]) : 0;
    if (ranks < 1 || only < 0 || argc > 3) {
      fmt::print(stderr, "usage: collectives_bench RANKS [BYTES]\n");
      return 2;
    }
    ringside::bench::run(ranks, static_cast<std::size_t>(only));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "collectives_bench: {}\n", error.what());
    return 1;
  }
}
