// Chunks and buckets against PyTorch's own functions.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "parallel/chunks.h"
#include "parallel/coalesce.h"
#include "ringside/strategy.h"
#include "support/inline_device.h"
#include "support/oracle_file.h"

namespace ringside::test {
namespace {

TEST(Chunks, AreTorchChunks) {
  int compared = 0;
  for (const OracleLine& line : oracle_lines("chunk.txt")) {
    const std::vector<std::int64_t> numbers = oracle_integers(line, 0);
    const std::vector<std::int64_t> sizes(numbers.begin() + 2, numbers.end());
    EXPECT_EQ(chunk_sizes(numbers[0], static_cast<int>(numbers[1])), sizes)
        << numbers[0] << " on " << numbers[1];
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

/// "1 2 | 3" -> {{1, 2}, {3}}.
std::vector<std::vector<std::size_t>> groups_of(const OracleLine& words) {
  std::vector<std::vector<std::size_t>> groups(1);
  for (const std::string& word : words) {
    if (word == "|") {
      groups.emplace_back();
    } else {
      groups.back().push_back(std::stoul(word));
    }
  }
  return groups;
}

TEST(Buckets, AreC10dsAssignment) {
  int compared = 0;
  for (const OracleLine& line : oracle_lines("buckets.txt")) {
    std::vector<OracleLine> fields(1);
    for (const std::string& word : line) {
      if (word == "/") {
        fields.emplace_back();
      } else {
        fields.back().push_back(word);
      }
    }
    ASSERT_EQ(fields.size(), 4U);
    const BucketAssignment assignment =
        assign_buckets(groups_of(fields[1]).front(), groups_of(fields[0]).front());
    EXPECT_EQ(assignment.buckets, groups_of(fields[2]));
    EXPECT_EQ(assignment.limits, groups_of(fields[3]).front());
    ++compared;
  }
  EXPECT_EQ(compared, 42);
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
