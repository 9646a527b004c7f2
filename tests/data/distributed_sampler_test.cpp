// The sampler beyond its order, which sampler_oracle_test.cpp compares with PyTorch's.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "ringside/data.h"
#include "ringside/error.h"

namespace ringside {
namespace {

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
