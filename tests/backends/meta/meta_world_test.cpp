// The meta world calls ranks one after the other, compares and announces what they call, and says
// at the end which calls do not match.
#include "backends/meta/meta_world.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "ringside/error.h"

namespace ringside {
namespace {

/// Remembers in words what the streams are told.
class Ear : public OpListener {
 public:
  OpId on_submit(Stream& stream, const OpInfo& info) override {
    std::string line = std::to_string(stream.device().rank()) + " " + std::string(info.name);
    if (info.collective != nullptr) {
      line += " #" + std::to_string(info.collective->sequence) + " of " +
              std::to_string(info.collective->communicator) + " " + std::to_string(info.bytes) +
              " bytes";
    }
    heard.push_back(line);
    return static_cast<OpId>(heard.size()) - 1;
  }
  void on_enqueued(Stream& /*stream*/, OpId /*id*/, const OpInfo& /*info*/) override { ++enqueued; }
  OpId on_host(Device& /*device*/, const OpInfo& /*info*/) override { return kNoOp; }

  std::vector<std::string> heard;
  int enqueued = 0;
};

/// `count` float32 elements on the device.
struct Data {
  Data(Device& device, std::size_t count)
      : buffer(device.allocate(count * 4, MemoryKind::kBuckets)),
        array(buffer.array(DType::kFloat32, Shape{static_cast<std::int64_t>(count)})) {}
  Buffer buffer;
  DeviceArray array;
};

std::unique_ptr<World> open(int size, OpListener* listener = nullptr) {
  WorldOptions options;
  options.size = size;
  options.listener = listener;
  return open_meta_world(options);
}

template <typename Function>
Error error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error was thrown";
  return Error(ErrorKind::kIo, "");
}

using Heard = std::vector<std::string>;

TEST(MetaWorld, RunsRanksOneAfterTheOtherOnTheCallingThread) {
  const auto world = open(3);
  EXPECT_EQ(world->backend(), "meta");
  EXPECT_EQ(world->local_ranks(), (std::vector<int>{0, 1, 2}));
  std::vector<int> ranks;
  world->run([&](Rank& rank) {
    EXPECT_EQ(&rank.device, &world->device(rank.rank));
    EXPECT_EQ(&rank.communicator, &world->communicator(rank.rank));
    ranks.push_back(rank.rank);
  });
  EXPECT_EQ(ranks, (std::vector<int>{0, 1, 2}));
}

TEST(MetaWorld, RefusesOptionsThatCannotBeRight) {
  EXPECT_EQ(error_of([] { open(0); }).kind(), ErrorKind::kInvalidArgument);
  WorldOptions options;
  options.size = 2;
  options.memory_capacities = {1, 2, 3};
  EXPECT_EQ(error_of([&] { open_meta_world(options); }).kind(), ErrorKind::kInvalidArgument);
  const auto world = open(2);
  EXPECT_EQ(error_of([&] { world->device(2); }).kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(error_of([&] { world->communicator(-1); }).kind(), ErrorKind::kInvalidArgument);
}

TEST(MetaWorld, AnnouncesCollectivesOncePerRank) {
  Ear ear;
  const auto world = open(2, &ear);
  world->run([](Rank& rank) {
    const Data data(rank.device, 8);
    Stream& stream = rank.device.stream(StreamKind::kCommunication);
    const Work work =
        rank.communicator.all_reduce(data.array, data.array, 8, ReduceOp::kSum, stream);
    EXPECT_TRUE(work.done());
    work.wait(rank.device.compute());
    work.synchronize();
    rank.communicator.broadcast(data.array, data.array, 4, 1, stream);
  });
  EXPECT_EQ(ear.heard, (Heard{"0 all-reduce #1 of 0 32 bytes", "0 wait-event",
                              "0 broadcast #2 of 0 16 bytes", "1 all-reduce #1 of 0 32 bytes",
                              "1 wait-event", "1 broadcast #2 of 0 16 bytes"}));
  EXPECT_EQ(ear.enqueued, 6);
}

TEST(MetaWorld, ChecksArguments) {
  const auto world = open(2);
  const Data data(world->device(0), 8);
  EXPECT_EQ(error_of([&] {
              world->communicator(0).broadcast(data.array, data.array, 8, 5,
                                               world->device(0).compute());
            }).kind(),
            ErrorKind::kInvalidArgument);
}

TEST(MetaWorld, GroupsActAtTheirEnd) {
  Ear ear;
  const auto world = open(2, &ear);
  world->drive([&] {
    const Data zero(world->device(0), 4);
    const Data one(world->device(1), 4);
    const std::vector<Communicator*> all = world->local_communicators();
    Work work;
    {
      GroupScope group(all);
      work = all[0]->broadcast(zero.array, zero.array, 4, 0, world->device(0).compute());
      all[1]->broadcast(one.array, one.array, 4, 0, world->device(1).compute());
      EXPECT_FALSE(work.done());
      EXPECT_EQ(ear.heard, Heard{});
    }
    EXPECT_TRUE(work.done());
    EXPECT_EQ(ear.heard.size(), 2U);
  });
}

TEST(MetaWorld, RanksThatDisagreeAreAMismatch) {
  const auto world = open(3);
  const Error error = error_of([&] {
    world->run([](Rank& rank) {
      const Data data(rank.device, 8);
      const std::size_t count = rank.rank == 1 ? 7 : 8;
      rank.communicator.all_reduce(data.array, data.array, count, ReduceOp::kSum,
                                   rank.device.compute());
    });
  });
  EXPECT_EQ(error.kind(), ErrorKind::kCommMismatch);
  EXPECT_STREQ(error.what(),
               "rank 2: call 1 of the world: ranks 0, 2 called all-reduce(count=8, float32, sum), "
               "rank 1 called all-reduce(count=7, float32, sum)");
  world->run([](Rank& rank) { rank.communicator.barrier(rank.device.compute()); });
}

TEST(MetaWorld, CallsThatNotAllRanksMakeAreADeadlock) {
  const auto world = open(2);
  const Error error = error_of([&] {
    world->run([](Rank& rank) {
      if (rank.rank == 0) rank.communicator.barrier(rank.device.compute());
    });
  });
  EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
  EXPECT_NE(std::string(error.what()).find("rank 0 waits in barrier"), std::string::npos)
      << error.what();
  EXPECT_NE(std::string(error.what()).find("rank 1 has not called it"), std::string::npos);
  world->run([](Rank& rank) { rank.communicator.barrier(rank.device.compute()); });
}

TEST(MetaWorld, MessagesMatchInOrderPerPair) {
  Ear ear;
  const auto world = open(2, &ear);
  const auto exchange = [](int received) {
    return [received](Rank& rank) {
      const Data data(rank.device, 4);
      for (std::size_t count = 1; count <= 3; ++count) {
        if (rank.rank == 0) rank.communicator.send(data.array, count, 1, rank.device.compute());
        if (rank.rank == 1 && static_cast<int>(count) <= received) {
          rank.communicator.recv(data.array, count, 0, rank.device.compute());
        }
      }
    };
  };
  world->run(exchange(3));
  EXPECT_EQ(ear.heard.front(), "0 send #1 of 0 4 bytes");
  EXPECT_EQ(ear.heard.back(), "1 recv #3 of 0 12 bytes");
  const Error error = error_of([&] { world->run(exchange(2)); });
  EXPECT_EQ(error.kind(), ErrorKind::kDeadlock);
  EXPECT_NE(
      std::string(error.what())
          .find("rank 0 waits in send(count=3, float32, to rank 1), message 6 of the world; rank 1 "
                "has not called recv for it"),
      std::string::npos)
      << error.what();
  world->run(exchange(3));
}

TEST(MetaWorld, ARanksErrorCarriesItsRankAndLeavesNothingBehind) {
  const auto world = open(2);
  const Error error = error_of([&] {
    world->run([](Rank& rank) {
      rank.communicator.barrier(rank.device.compute());
      if (rank.rank == 1) throw Error(ErrorKind::kNotFinite, "loss is NaN");
      rank.communicator.barrier(rank.device.compute());
    });
  });
  EXPECT_STREQ(error.what(), "rank 1: loss is NaN");
  EXPECT_THROW(world->run([](Rank&) { throw std::range_error("plain"); }), std::runtime_error);
  EXPECT_THROW(world->drive([&] {
    world->communicator(0).barrier(world->device(0).compute());
    throw std::range_error("plain");
  }),
               std::range_error);
  world->run([](Rank& rank) { rank.communicator.barrier(rank.device.compute()); });
}

TEST(MetaWorld, SplitAllMakesSubCommunicators) {
  Ear ear;
  const auto world = open(4, &ear);
  world->drive([&] {
    const auto parts = split_all(*world, {0, 1, -1, 1}, {0, 1, 0, 0});
    ASSERT_NE(parts[0], nullptr);
    EXPECT_EQ(parts[0]->size(), 1);
    EXPECT_EQ(parts[2], nullptr);
    EXPECT_EQ(parts[1]->size(), 2);
    EXPECT_EQ(parts[3]->rank(), 0);
    EXPECT_EQ(parts[1]->rank(), 1);
    EXPECT_EQ(parts[1]->world_ranks()[0], 3);
    EXPECT_EQ(&parts[1]->device(), &world->device(1));
    parts[1]->barrier(world->device(1).compute());
    parts[3]->barrier(world->device(3).compute());
  });
  ASSERT_EQ(ear.heard.size(), 2U);
  EXPECT_EQ(ear.heard[0].rfind("1 barrier #1 of ", 0), 0U);
  EXPECT_EQ(ear.heard[0].find(" of 0 "), std::string::npos);
}

TEST(MetaWorld, SplitInsideRunIsRefusedWithAReason) {
  const auto world = open(2);
  const Error error =
      error_of([&] { world->run([](Rank& rank) { rank.communicator.split(0, rank.rank); }); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
  EXPECT_FALSE(error.hint().empty());
  const auto alone = open(1);
  alone->run([](Rank& rank) { EXPECT_EQ(rank.communicator.split(0, 0)->size(), 1); });
}

}  // namespace
}  // namespace ringside
