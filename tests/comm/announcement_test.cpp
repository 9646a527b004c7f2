// What a listener hears of a communicator's op.
#include <gtest/gtest.h>

#include <vector>

#include "comm/announcement.h"
#include "comm/fake_communicator.h"

namespace ringside {
namespace {

struct Heard : OpListener {
  OpId on_submit(Stream&, const OpInfo& info) override {
    kind = info.kind;
    name = info.name;
    bytes = info.bytes;
    peer = info.peer;
    reads = info.reads.size();
    writes = info.writes.size();
    request = info.collective->request;
    communicator = info.collective->communicator;
    sequence = info.collective->sequence;
    rank = info.collective->rank;
    world_ranks.assign(info.collective->world_ranks.begin(), info.collective->world_ranks.end());
    return 17;
  }
  void on_enqueued(Stream&, OpId id, const OpInfo&) override { enqueued = id; }
  OpId on_host(Device&, const OpInfo&) override { return kNoOp; }

  OpKind kind{};
  std::string name;
  std::size_t bytes = 0, reads = 0, writes = 0;
  int peer = 0, rank = 0;
  ScheduleRequest request;
  std::int64_t communicator = 0, sequence = 0;
  std::vector<int> world_ranks;
  OpId enqueued = kNoOp;
};

TEST(Announcement, OfACollective) {
  test::InlineDevice device;
  Heard heard;
  device.set_listener(&heard);
  CollectiveCall call;
  call.operation = Operation::kAllGather;
  call.count = 3;
  call.dtype = DType::kFloat64;
  call.send = test::array_on<double>(device, 3);
  call.recv = test::array_on<double>(device, 12);
  const CallSignature signature = signature_of(call, 2, 4, {});
  const CommunicatorName name{5, {1, 3, 5, 7}};
  Announcement announcement(device.compute(), call, signature, name, 2, 9);
  EXPECT_EQ(heard.enqueued, kNoOp);
  announcement.enqueued();
  EXPECT_EQ(heard.enqueued, 17);
  EXPECT_EQ(heard.kind, OpKind::kCollective);
  EXPECT_EQ(heard.name, "all-gather");
  EXPECT_EQ(heard.bytes, 4 * 3 * sizeof(double));  // the full buffer
  EXPECT_EQ(heard.reads, 1U);
  EXPECT_EQ(heard.writes, 1U);
  EXPECT_EQ(heard.request.algorithm, Algorithm::kRing);  // chosen, never automatic
  EXPECT_EQ(heard.communicator, 5);
  EXPECT_EQ(heard.sequence, 9);
  EXPECT_EQ(heard.rank, 2);
  EXPECT_EQ(heard.world_ranks, name.world_ranks);
  EXPECT_EQ(heard.peer, -1);
}

TEST(Announcement, OfASend) {
  test::InlineDevice device;
  Heard heard;
  device.set_listener(&heard);
  CollectiveCall call;
  call.operation = Operation::kSend;
  call.count = 3;
  call.peer = 1;
  call.send = test::array_on<float>(device, 3);
  const CallSignature signature = signature_of(call, 0, 2, {});
  const CommunicatorName name{5, {4, 6}};
  Announcement announcement(device.compute(), call, signature, name, 0, 1);
  announcement.enqueued();
  EXPECT_EQ(heard.kind, OpKind::kSend);
  EXPECT_EQ(heard.peer, 6);  // a world rank
  EXPECT_EQ(heard.bytes, 12U);
  EXPECT_EQ(heard.writes, 0U);
}

}  // namespace
}  // namespace ringside
