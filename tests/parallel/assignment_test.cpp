// Buckets and coalesced pieces beyond what assignment_oracle_test.cpp compares with PyTorch's.
#include <gtest/gtest.h>

#include <vector>

#include "parallel/coalesce.h"
#include "ringside/error.h"
#include "ringside/strategy.h"
#include "support/error_text.h"
#include "support/inline_device.h"

namespace ringside::test {
namespace {

TEST(Buckets, NeedALimitAndAnIndexPerTensor) {
  const std::vector<BucketedTensor> tensors(2);
  EXPECT_EQ(error_text(ErrorKind::kInvalidArgument, [&] { assign_buckets(tensors, {}); }),
            "buckets: there is no limit");
  EXPECT_EQ(error_text(ErrorKind::kInvalidArgument, [&] { assign_buckets(tensors, {1}, {0}); }),
            "buckets: 1 index for 2 tensors");
}

TEST(Buckets, TenLayersOfFourMebibytesWithTheDefaultLimits) {
  const std::vector<std::size_t> bytes(10, 4 << 20);
  const BucketAssignment assignment = assign_buckets(bytes, {1 << 20, 25 << 20});
  std::vector<std::size_t> sizes;
  for (const auto& bucket : assignment.buckets) sizes.push_back(bucket.size() * 4);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 28, 8}));
}

TEST(Coalesce, ClosesAPieceBeforeItWouldOverflow) {
  InlineDevice device;
  std::vector<Tensor> tensors;
  for (const std::int64_t elements : {2, 3, 1, 9, 1}) {
    tensors.push_back(
        Tensor::empty(device, Shape{elements}, DType::kFloat32, MemoryKind::kParameters));
  }
  // Limit 20 bytes: 2+3 elements fill it, 1 cannot be joined by 9, which is too large for any
  // piece.
  EXPECT_EQ(coalesce(tensors, 20), (std::vector<std::vector<std::size_t>>{{0, 1}, {2}, {3}, {4}}));
}

}  // namespace
}  // namespace ringside::test
