// The sampler against PyTorch's, index for index.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ringside/data.h"
#include "ringside/error.h"
#include "support/oracle_file.h"

namespace ringside {
namespace {

TEST(DistributedSampler, DealsAsPyTorchDoes) {
  int checked = 0;
  for (const test::OracleLine& line : test::oracle_lines("sampler.txt")) {
    const std::vector<std::int64_t> head = test::oracle_integers(line, 0, 6);
    const std::vector<std::int64_t> dealt = test::oracle_integers(line, 6);
    const auto replicas = static_cast<int>(head[1]);
    const SamplerOptions options{head[4] != 0, static_cast<std::uint64_t>(head[2]), head[5] != 0};
    for (int rank = 0; rank < replicas; ++rank) {
      std::vector<std::int64_t> expected;
      for (std::size_t i = static_cast<std::size_t>(rank); i < dealt.size();
           i += static_cast<std::size_t>(replicas)) {
        expected.push_back(dealt[i]);
      }
      ASSERT_EQ(distributed_sampler(head[0], replicas, rank, head[3], options), expected)
          << "length " << head[0] << ", rank " << rank << " of " << replicas << ", seed " << head[2]
          << ", epoch " << head[3] << ", shuffle " << head[4] << ", drop_last " << head[5];
    }
    ++checked;
  }
  EXPECT_EQ(checked, 915);
}

TEST(DistributedSampler, AddsSeedAndEpoch) {
  EXPECT_EQ(distributed_sampler(50, 2, 1, 3, {true, 0, false}),
            distributed_sampler(50, 2, 1, 0, {true, 3, false}));
}

TEST(DistributedSampler, NamesWhatCannotBe) {
  const auto message = [](std::int64_t length, int replicas, int rank) -> std::string {
    try {
      distributed_sampler(length, replicas, rank, 0, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(10, 4, 4), "sampler for rank 4: must be in [0, 3]");
  EXPECT_EQ(message(10, 4, -1), "sampler for rank -1: must be in [0, 3]");
  EXPECT_EQ(message(10, 0, 0), "sampler for 0 replicas: must be at least 1");
  EXPECT_EQ(message(-1, 1, 0), "sampler over -1 samples: must not be negative");
}

}  // namespace
}  // namespace ringside
