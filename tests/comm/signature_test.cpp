// What ranks must agree on: its canonical form, its text, its code for other processes; and the
// errors when they do not.
#include <gtest/gtest.h>

#include <vector>

#include "comm/call_signature.h"
#include "comm/call_slot.h"
#include "comm/communicator_name.h"

namespace ringside {
namespace {

CollectiveCall call_of(Operation operation, std::size_t count) {
  CollectiveCall call;
  call.operation = operation;
  call.count = count;
  return call;
}

TEST(CallText, ReadsAsTheCall) {
  CollectiveCall call = call_of(Operation::kAllReduce, 1000);
  EXPECT_EQ(to_string(call), "all-reduce(count=1000, float32, sum)");
  call = call_of(Operation::kBroadcast, 8);
  call.dtype = DType::kInt64;
  call.root = 2;
  EXPECT_EQ(to_string(call), "broadcast(count=8, int64, root=2)");
  call = call_of(Operation::kSend, 3);
  call.peer = 1;
  EXPECT_EQ(to_string(call), "send(count=3, float32, to rank 1)");
  call.operation = Operation::kRecv;
  EXPECT_EQ(to_string(call), "recv(count=3, float32, from rank 1)");
  call = call_of(Operation::kScatter, 0);
  call.counts = {3, 3, 1};
  EXPECT_EQ(to_string(call), "scatter(counts=[3, 3, 1], float32, root=0)");
  EXPECT_EQ(to_string(call_of(Operation::kBarrier, 0)), "barrier()");
}

TEST(CallSignature, LeavesOutWhatTheOperationDoesNotUse) {
  CollectiveCall a = call_of(Operation::kAllGather, 4);
  CollectiveCall b = a;
  b.op = ReduceOp::kMax;
  b.root = 3;
  b.peer = 2;
  EXPECT_EQ(signature_of(a, 0, 4, {}), signature_of(b, 1, 4, {}));

  a = call_of(Operation::kGather, 2);
  b = call_of(Operation::kGather, 0);
  b.counts = {2, 2, 2};
  EXPECT_EQ(signature_of(a, 0, 3, {}), signature_of(b, 0, 3, {}));
  b.counts = {2, 2, 3};
  EXPECT_FALSE(signature_of(a, 0, 3, {}) == signature_of(b, 0, 3, {}));
}

TEST(CallSignature, DefaultsDecideWhereTheyCan) {
  const Communicator::Defaults defaults{Algorithm::kRing, Direction::kDown, Border::kGloo};
  const auto request_of = [&](Operation operation) {
    return signature_of(call_of(operation, 4), 0, 2, defaults).request;
  };
  EXPECT_EQ(request_of(Operation::kAllReduce).border, Border::kGloo);
  EXPECT_EQ(request_of(Operation::kAllReduce).direction, Direction::kDown);
  EXPECT_EQ(request_of(Operation::kGather).algorithm, Algorithm::kStar);  // no ring gather
  CollectiveCall own = call_of(Operation::kAllReduce, 4);
  own.algorithm = Algorithm::kTree;
  EXPECT_EQ(signature_of(own, 0, 2, defaults).request.algorithm, Algorithm::kTree);
}

TEST(CallSignature, ASendHasItsSourceAsRootAndItsDestinationAsPeer) {
  CollectiveCall call = call_of(Operation::kSend, 4);
  call.peer = 2;
  EXPECT_EQ(signature_of(call, 1, 4, {}).request.root, 1);
  EXPECT_EQ(signature_of(call, 1, 4, {}).request.peer, 2);
  call.operation = Operation::kRecv;
  EXPECT_EQ(signature_of(call, 1, 4, {}).request.root, 2);
  EXPECT_EQ(signature_of(call, 1, 4, {}).request.peer, 1);
}

TEST(CallSignature, SurvivesTheWayToAnotherProcess) {
  CollectiveCall call = call_of(Operation::kGather, 0);
  call.dtype = DType::kInt64;
  call.root = 2;
  call.counts = {1, 0, 5};
  const CallSignature gather = signature_of(call, 1, 3, {});
  EXPECT_EQ(decode(encode(gather)), gather);
  call = call_of(Operation::kAllReduce, 77);
  call.op = ReduceOp::kMin;
  const CallSignature reduce =
      signature_of(call, 0, 3, {Algorithm::kRing, Direction::kDown, Border::kEven});
  EXPECT_EQ(decode(encode(reduce)), reduce);
  EXPECT_EQ(decode(encode(split_signature(3))), split_signature(3));
}

TEST(FindMismatch, NamesTheCommunicatorAndGroupsEqualCalls) {
  const CommunicatorName name{3, {4, 6, 8}};
  const auto sum = signature_of(call_of(Operation::kAllReduce, 8), 0, 3, {});
  const auto gather = signature_of(call_of(Operation::kAllGather, 8), 0, 3, {});
  EXPECT_FALSE(find_mismatch(name, 5, std::vector{sum, sum, sum}));
  const auto error = find_mismatch(name, 5, std::vector{sum, gather, sum});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kCommMismatch);
  EXPECT_EQ(std::string(error->what()),
            "call 5 of communicator 3 (world ranks 4, 6, 8): ranks 0, 2 called all-reduce(count=8, "
            "float32, sum), rank 1 called all-gather(count=8, float32)");
  EXPECT_FALSE(error->hint().empty());
}

TEST(SplitGroups, ByColorThenKeyThenRank) {
  const auto groups = split_groups({1, 0, -1, 1, 0}, {5, 0, 0, 2, 0});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].members, (std::vector<int>{1, 4}));
  EXPECT_EQ(groups[1].members, (std::vector<int>{3, 0}));
  const CommunicatorName child = child_of({0, {0, 1, 2, 3, 4}}, 2, groups[1].members);
  EXPECT_EQ(child.number, 2);
  EXPECT_EQ(child.world_ranks, (std::vector<int>{3, 0}));
  const CommunicatorName grandchild = child_of(child, 1, {1});
  EXPECT_EQ(grandchild.number, 2000001);
  EXPECT_EQ(grandchild.world_ranks, (std::vector<int>{0}));
}

TEST(CallSignature, SaysWhatItIsForWithoutAskingRanksToAgree) {
  CallSignature bucket = signature_of(call_of(Operation::kAllReduce, 4), 0, 2, {});
  CallSignature losses = bucket;
  bucket.purpose = {6, Phase::kAllReduce, 0};
  losses.purpose = {-1, Phase::kEvaluate, -1};
  EXPECT_EQ(bucket, losses);
  EXPECT_EQ(decode(encode(bucket)).purpose, bucket.purpose);
  EXPECT_EQ(to_string(bucket.purpose), " for bucket 0 of step 6");
  EXPECT_EQ(to_string(losses.purpose), " for the losses of an epoch");
  EXPECT_EQ(to_string(CallPurpose{2, Phase::kSyncBuffers, -1}), " for the sync-buffers of step 2");
  EXPECT_EQ(to_string(CallPurpose{}), "");
}

}  // namespace
}  // namespace ringside
