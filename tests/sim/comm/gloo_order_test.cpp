// A ring that goes down, with gloo's borders, adds as gloo does: a DDP average of equal local
// gradients is PyTorch's, bit for bit.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ringside/nn.h"
#include "sim/comm/world_fixture.h"
#include "support/device_arrays.h"
#include "support/time_limit.h"

namespace ringside::sim {
namespace {

using test::array_of;
using test::communication;
using test::values_of;
using test::with_time_limit;

using Values = std::vector<float>;

/// Numbers whose sum depends on the order of additions: of every size, and of both signs.
Values gradient_of(int rank, std::size_t count) {
  Values values(count);
  std::uint32_t state = 2463534242U + 977U * static_cast<std::uint32_t>(rank);
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    const float fraction = static_cast<float>(state >> 8) / float{1 << 23} - 1;
    value = fraction * static_cast<float>(1U << (state % 11));
  }
  return values;
}

/// Elements of a chunk, which is two segments where none would be above 1 MiB. Larger ones:
/// RingChunk.GlooIsWhatPyTorchWasSeenToDo.
std::size_t gloo_chunk_elements(std::size_t count, std::size_t ranks) {
  return (count + 2 * ranks - 1) / (2 * ranks) * 2;
}

enum class Division { kBeforeTheSum, kAfterTheSum };

/// Chunk k is summed from rank k-1 on, going down, and ends at rank k. gloo's ranks multiply by 1/N
/// before; popular texts have it that the sum is divided.
Values average_by_definition(const std::vector<Values>& gradients,
                             Division division = Division::kBeforeTheSum) {
  const std::size_t ranks = gradients.size();
  const std::size_t count = gradients.front().size();
  const float share = 1.0F / static_cast<float>(ranks);
  const float before = division == Division::kBeforeTheSum ? share : 1;
  const float after = division == Division::kAfterTheSum ? share : 1;
  const std::size_t chunk = gloo_chunk_elements(count, ranks);
  Values average(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t owner = i / chunk;
    float sum = gradients[(owner + ranks - 1) % ranks][i] * before;
    for (std::size_t back = 2; back <= ranks; ++back) {
      sum += gradients[(owner + 2 * ranks - back) % ranks][i] * before;
    }
    average[i] = sum * after;
  }
  return average;
}

/// What rank 0 has after the all-reduce.
Values average_on_devices(const std::vector<Values>& gradients) {
  const auto world = world_of(static_cast<int>(gradients.size()));
  Values result;
  world->run([&](Rank& rank) {
    rank.communicator.set_defaults({Algorithm::kRing, Direction::kDown, Border::kGloo});
    const DeviceArray array = array_of(rank.device, gradients[static_cast<std::size_t>(rank.rank)]);
    Stream& stream = communication(rank);
    rank.communicator.all_reduce(array, array, array.count(), ReduceOp::kAvg, stream).synchronize();
    if (rank.rank == 0) result = values_of<float>(array);
  });
  return result;
}

TEST(Golden, G22TheRingDownAveragesAsGlooDoes) {
  with_time_limit([] {
    for (const int ranks : {2, 3, 4, 5}) {
      for (const std::size_t count : {1U, 7U, 1000U, 30'001U}) {
        std::vector<Values> gradients;
        for (int rank = 0; rank < ranks; ++rank) gradients.push_back(gradient_of(rank, count));
        EXPECT_EQ(average_on_devices(gradients), average_by_definition(gradients))
            << count << " elements on " << ranks << " ranks";
      }
    }
  });
}

/// What torch.randn(count) gives after manual_seed(rank).
Values normal_gradient_of(int rank, std::size_t count) {
  const auto drawn = Generator(static_cast<std::uint64_t>(rank)).randn(count, DType::kFloat32);
  return {drawn.begin(), drawn.end()};
}

/// The part of the elements in which "sum, then divide" is what the devices have.
double agreement(int ranks) {
  constexpr std::size_t kCount = 60'000;
  std::vector<Values> gradients;
  for (int rank = 0; rank < ranks; ++rank) {
    gradients.push_back(normal_gradient_of(rank, kCount));
  }
  const Values average = average_on_devices(gradients);
  const Values divided = average_by_definition(gradients, Division::kAfterTheSum);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < kCount; ++i) equal += average[i] == divided[i] ? 1 : 0;
  return static_cast<double>(equal) / kCount;
}

TEST(Golden, G22SummingFirstAndDividingThenAgreesIn52OfAHundredAtThreeRanks) {
  with_time_limit([] {
    // Three standard deviations of 60,000 elements are 0.006.
    EXPECT_NEAR(agreement(3), 0.52, 0.006);
  });
}

/// A power of two divides without rounding.
TEST(Golden, G22SummingFirstAndDividingThenAgreesAtTwoAndFourRanks) {
  with_time_limit([] {
    EXPECT_EQ(agreement(2), 1);
    EXPECT_EQ(agreement(4), 1);
  });
}

}  // namespace
}  // namespace ringside::sim
