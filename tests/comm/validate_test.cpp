// What a rank's own call is refused for, and what of it reaches the backend.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "comm/fake_communicator.h"
#include "support/error_text.h"

namespace ringside {
namespace {

using test::array_on;

class Validate : public testing::Test {
 protected:
  // Rank 1 of 4.
  test::InlineDevice device_;
  test::FakeCommunicator communicator_{device_, 1, 4};
  Stream& stream_ = device_.compute();
  DeviceArray eight_ = array_on<float>(device_, 8);
  DeviceArray other_ = array_on<float>(device_, 32);

  static std::string refusal(const std::function<void()>& call) {
    return test::error_text(ErrorKind::kInvalidArgument, call);
  }
};

TEST_F(Validate, RootsAndPeers) {
  EXPECT_EQ(refusal([&] { communicator_.broadcast(eight_, eight_, 8, 4, stream_); }),
            "broadcast(count=8, float32, root=4): root 4: must be in [0, 3]");
  EXPECT_EQ(refusal([&] { communicator_.reduce(eight_, other_, 8, ReduceOp::kSum, -1, stream_); }),
            "reduce(count=8, float32, sum, root=-1): root -1: must be in [0, 3]");
  EXPECT_EQ(refusal([&] { communicator_.send(eight_, 8, 4, stream_); }),
            "send(count=8, float32, to rank 4): peer 4: must be in [0, 3]");
  EXPECT_EQ(refusal([&] { communicator_.recv(eight_, 8, -1, stream_); }),
            "recv(count=8, float32, from rank -1): peer -1: must be in [0, 3]");
}

TEST_F(Validate, ArraysThatAreTooSmall) {
  EXPECT_EQ(refusal([&] { communicator_.all_reduce(eight_, eight_, 9, ReduceOp::kSum, stream_); }),
            "all-reduce(count=9, float32, sum): send has 8 elements: this rank needs 9");
  EXPECT_EQ(refusal([&] { communicator_.all_gather(eight_, eight_, 8, stream_); }),
            "all-gather(count=8, float32): recv has 8 elements: this rank needs 32");
  EXPECT_EQ(
      refusal([&] { communicator_.reduce_scatter(eight_, other_, 8, ReduceOp::kSum, stream_); }),
      "reduce-scatter(count=8, float32, sum): send has 8 elements: this rank needs 32");
  EXPECT_EQ(refusal([&] { communicator_.gather(eight_, eight_, 8, 1, stream_); }),
            "gather(count=8, float32, root=1): recv has 8 elements: this rank needs 32");
  EXPECT_EQ(refusal([&] { communicator_.scatter(eight_, other_, 8, 1, stream_); }),
            "scatter(count=8, float32, root=1): send has 8 elements: this rank needs 32");
  EXPECT_EQ(refusal([&] { communicator_.all_reduce({}, eight_, 8, ReduceOp::kSum, stream_); }),
            "all-reduce(count=8, float32, sum): send is empty: this rank needs 8 elements");
}

TEST_F(Validate, DTypesThatDiffer) {
  const DeviceArray ints = array_on<std::int32_t>(device_, 8);
  EXPECT_EQ(refusal([&] { communicator_.all_reduce(ints, eight_, 8, ReduceOp::kSum, stream_); }),
            "all-reduce(count=8, float32, sum): send is int32, the call is float32");
}

TEST_F(Validate, CountsPerRank) {
  EXPECT_EQ(refusal([&] {
              communicator_.gather(eight_, other_, std::vector<std::size_t>{1, 2}, 0, stream_);
            }),
            "gather(counts=[1, 2], float32, root=0): 2 counts for 4 ranks: one per rank is needed");
  EXPECT_EQ(
      refusal([&] {
        communicator_.gather(eight_, other_, std::vector<std::size_t>{1, 9, 2, 2}, 0, stream_);
      }),
      "gather(counts=[1, 9, 2, 2], float32, root=0): send has 8 elements: this rank needs 9");
  CollectiveCall call;
  call.operation = Operation::kAllReduce;
  call.counts = {1, 1, 1, 1};
  EXPECT_NE(refusal([&] {
              communicator_.call(call, stream_);
            }).find("only gather, scatter and all-gather"),
            std::string::npos);
}

TEST_F(Validate, CountsThatCannotBeCounted) {
  const std::size_t huge = std::numeric_limits<std::size_t>::max() / 32;
  EXPECT_NE(refusal([&] {
              communicator_.all_gather(eight_, other_, huge, stream_);
            }).find("more elements than can be counted"),
            std::string::npos);
}

TEST_F(Validate, AlgorithmsThatDoNotExist) {
  CollectiveCall call;
  call.operation = Operation::kGather;
  call.algorithm = Algorithm::kRing;
  EXPECT_EQ(refusal([&] { communicator_.call(call, stream_); }),
            "gather(count=0, float32, root=0): algorithm ring: must be one of star, tree");
}

TEST_F(Validate, OverlapThatIsNotInPlace) {
  EXPECT_EQ(refusal([&] {
              communicator_.all_reduce(other_.slice(0, 8), other_.slice(4, 8), 8, ReduceOp::kSum,
                                       stream_);
            }),
            "all-reduce(count=8, float32, sum): send (bytes 0 to 32) and recv (bytes 16 to 48) "
            "overlap without being in place");
  // The block of another rank.
  EXPECT_NE(refusal([&] {
              communicator_.all_gather(other_.slice(0, 8), other_, 8, stream_);
            }).find("overlap"),
            std::string::npos);
}

// NCCL's places, for rank 1 of 4 and blocks of 8.
TEST_F(Validate, InPlaceIsNcclsPlace) {
  const DeviceArray own_block = other_.slice(8, 8);
  communicator_.all_reduce(eight_, eight_, 8, ReduceOp::kSum, stream_);
  communicator_.broadcast(eight_, eight_, 8, 1, stream_);
  communicator_.reduce(eight_, eight_, 8, ReduceOp::kSum, 1, stream_);
  communicator_.all_gather(own_block, other_, 8, stream_);
  communicator_.reduce_scatter(other_, own_block, 8, ReduceOp::kSum, stream_);
  communicator_.gather(own_block, other_, 8, 1, stream_);
  communicator_.scatter(other_, own_block, 8, 1, stream_);
  communicator_.gather(other_.slice(3, 8), other_, std::vector<std::size_t>{3, 8, 0, 1}, 1,
                       stream_);
  // Side by side is no overlap.
  communicator_.all_reduce(other_.slice(0, 8), other_.slice(8, 8), 8, ReduceOp::kSum, stream_);
  EXPECT_EQ(communicator_.calls.size(), 9U);
}

TEST_F(Validate, BuffersThatAreNotUsedDoNotReachTheBackend) {
  communicator_.broadcast(eight_, eight_, 8, 0, stream_);
  EXPECT_TRUE(communicator_.calls.back().send.empty());
  communicator_.reduce(eight_, other_, 8, ReduceOp::kSum, 0, stream_);
  EXPECT_TRUE(communicator_.calls.back().recv.empty());
  communicator_.scatter({}, eight_, 8, 0, stream_);
  communicator_.gather(eight_, {}, 8, 0, stream_);
  EXPECT_EQ(communicator_.calls.back().dtype, DType::kFloat32);
}

TEST_F(Validate, ACountOfZeroNeedsNoArrays) {
  communicator_.all_reduce({}, {}, 0, ReduceOp::kSum, stream_);
  communicator_.send({}, 0, 2, stream_);
  communicator_.barrier(stream_);
  EXPECT_EQ(communicator_.calls.size(), 3U);
}

TEST_F(Validate, AStreamOfAnotherDevice) {
  test::InlineDevice stranger(true, "inline:7");
  EXPECT_EQ(refusal([&] { communicator_.barrier(stranger.compute()); }),
            "barrier(): the stream belongs to device inline:7, the communicator to inline:0");
}

}  // namespace
}  // namespace ringside
