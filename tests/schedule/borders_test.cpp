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
  // 5 MiB of float32 on 2 ranks: segments of 1 MiB, five rounded up to six, three for each rank.
  EXPECT_EQ(lengths(5 << 18, 2, Border::kGloo, DType::kFloat32), (Lengths{786432, 524288}));
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
