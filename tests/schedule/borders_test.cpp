// Where the ring cuts a buffer, by each rule.
#include <gtest/gtest.h>

#include "ringside/schedule.h"

namespace ringside {
namespace {

std::vector<std::size_t> lengths(std::size_t elements, int ranks, Border border, DType dtype) {
  std::vector<std::size_t> result;
  result.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    result.push_back(ring_chunk(elements, ranks, rank, border, dtype).size());
  }
  return result;
}

using Lengths = std::vector<std::size_t>;

TEST(RingChunk, NcclRoundsUpTo16Bytes) {
  EXPECT_EQ(lengths(1000, 3, Border::kNccl, DType::kFloat32), (Lengths{336, 336, 328}));
  EXPECT_EQ(lengths(1000, 3, Border::kNccl, DType::kFloat64), (Lengths{334, 334, 332}));
  EXPECT_EQ(lengths(7, 4, Border::kNccl, DType::kFloat32), (Lengths{4, 3, 0, 0}));
  EXPECT_EQ(lengths(0, 2, Border::kNccl, DType::kInt64), (Lengths{0, 0}));
}

TEST(RingChunk, GlooTakesTwoSegmentsPerRank) {
  // ceil(4000 / 6) = 667 bytes, rounded up to 668, which are 167 elements a segment.
  EXPECT_EQ(lengths(1000, 3, Border::kGloo, DType::kFloat32), (Lengths{334, 334, 332}));
  EXPECT_EQ(lengths(7, 4, Border::kGloo, DType::kFloat32), (Lengths{2, 2, 2, 1}));
  EXPECT_EQ(lengths(3, 4, Border::kGloo, DType::kFloat32), (Lengths{2, 1, 0, 0}));
}

TEST(RingChunk, GlooTakesMoreSegmentsAboveOneMebibyteEach) {
  // 5 MiB of float32 on 2 ranks: five segments of 1 MiB, which become six, three for each rank, of
  // ceil(5 MiB / 6) bytes, rounded up to 218454 elements.
  EXPECT_EQ(lengths(5 << 18, 2, Border::kGloo, DType::kFloat32), (Lengths{655362, 655358}));
}

// With these chunks every element of an all-reduce of PyTorch 1.13.1 over gloo is the sum that
// begins at rank k - 1 and goes down, bit for bit.
TEST(RingChunk, GlooIsWhatPyTorchWasSeenToDo) {
  const auto first = [](std::size_t elements, int ranks, DType dtype) {
    return lengths(elements, ranks, Border::kGloo, dtype).front();
  };
  EXPECT_EQ(first(30'001, 3, DType::kFloat32), 10'002U);
  EXPECT_EQ(first(30'001, 4, DType::kFloat32), 7'502U);
  EXPECT_EQ(first(30'001, 5, DType::kFloat32), 6'002U);
  EXPECT_EQ(first(1'966'080, 3, DType::kFloat32), 655'362U);
  EXPECT_EQ(first(2'000'003, 3, DType::kFloat32), 666'669U);
  EXPECT_EQ(first(5'000'000, 4, DType::kFloat32), 1'250'000U);
  EXPECT_EQ(first(7'000'001, 3, DType::kFloat16), 2'333'335U);
  EXPECT_EQ(first(2'000'003, 3, DType::kFloat64), 666'672U);
}

TEST(RingChunk, EvenGivesTheFirstChunksOneMore) {
  EXPECT_EQ(lengths(10, 4, Border::kEven, DType::kFloat32), (Lengths{3, 3, 2, 2}));
  EXPECT_EQ(lengths(2, 4, Border::kEven, DType::kInt32), (Lengths{1, 1, 0, 0}));
}

TEST(RingChunk, ChunksCoverTheBufferSideBySide) {
  for (const auto border : {Border::kNccl, Border::kGloo, Border::kEven}) {
    for (int ranks = 1; ranks <= 16; ++ranks) {
      for (std::size_t elements = 0; elements < 100; ++elements) {
        std::size_t end = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const Range chunk = ring_chunk(elements, ranks, rank, border, DType::kFloat32);
          ASSERT_EQ(chunk.begin, end);
          ASSERT_LE(chunk.begin, chunk.end);
          end = chunk.end;
        }
        ASSERT_EQ(end, elements);
      }
    }
  }
}

}  // namespace
}  // namespace ringside
