// A benchmark on simulated devices: rows, figures, and that a wrong element is found.
#include "benchmark/measure.h"

#include <gtest/gtest.h>

#include <memory>

#include "benchmark/altered_world.h"
#include "ringside/error.h"
#include "sim/comm/sim_world.h"
#include "support/collective_case.h"
#include "support/error_text.h"

namespace ringside::benchmark {
namespace {

std::unique_ptr<World> sim_world(int ranks) {
  WorldOptions options;
  options.size = ranks;
  return open_sim_world(options);
}

Request small(Operation operation) {
  Request request;
  request.operation = operation;
  request.sizes = {8, 4096, 100'000};
  request.iterations = 3;
  return request;
}

TEST(Measure, EveryOperationIsTimedAndRightWhateverDtypeAndOp) {
  constexpr int kRanks = 3;
  const auto world = sim_world(kRanks);
  for (const Operation operation : test::kCollectives) {
    if (operation == Operation::kBarrier) continue;
    for (const DType dtype : test::kDTypes) {
      for (const ReduceOp op : test::kReduceOps) {
        if (!combines(operation) && op != ReduceOp::kSum) continue;
        Request request = small(operation);
        request.dtype = dtype;
        request.op = op;
        request.root = has_root(operation) ? 1 : 0;
        const std::vector<Row> rows = measure(*world, request);
        ASSERT_EQ(rows.size(), 3U);
        EXPECT_EQ(total_wrong(rows), 0U)
            << to_string(operation) << ' ' << to_string(dtype) << ' ' << to_string(op);
        EXPECT_EQ(rows.back().in_place.has_value(), operation != Operation::kAllToAll);
      }
    }
  }
  const std::vector<Row> rows = measure(*world, small(Operation::kSend));
  EXPECT_EQ(total_wrong(rows), 0U);
  EXPECT_FALSE(rows.front().in_place.has_value());
}

TEST(Measure, TheBandwidthsFollowFromSizeAndTime) {
  const auto world = sim_world(4);
  const std::vector<Row> rows = measure(*world, small(Operation::kAllReduce));
  double sum = 0;
  for (const Row& row : rows) {
    for (const Measurement& measured : {row.out_of_place, *row.in_place}) {
      EXPECT_GT(measured.seconds, 0);
      EXPECT_GE(measured.seconds, measured.mean_seconds);
      EXPECT_DOUBLE_EQ(measured.algorithm_bandwidth,
                       static_cast<double>(row.extent.bytes) / measured.seconds);
      EXPECT_DOUBLE_EQ(measured.bus_bandwidth, 1.5 * measured.algorithm_bandwidth);
      EXPECT_EQ(measured.wrong, 0U);
      sum += measured.bus_bandwidth;
    }
  }
  EXPECT_DOUBLE_EQ(average_bus_bandwidth(rows), sum / 6);
  EXPECT_EQ(average_bus_bandwidth({}), 0);
}

TEST(Measure, TellsOfEachSizeInOrder) {
  const auto world = sim_world(2);
  std::vector<std::size_t> told;
  Observer observer;
  observer.progress = [&](std::size_t done, const Extent& next) {
    EXPECT_EQ(done, told.size() / 2);
    told.push_back(next.bytes);
  };
  observer.row = [&](const Row& row) { told.push_back(row.extent.bytes); };
  measure(*world, small(Operation::kAllReduce), observer);
  EXPECT_EQ(told, (std::vector<std::size_t>{8, 8, 4096, 4096, 100'000, 100'000}));
}

TEST(Measure, LeavesOutWhatIsNotAskedFor) {
  const auto world = sim_world(2);
  Request request = small(Operation::kAllReduce);
  request.check = false;
  request.in_place = false;
  request.warmup = 0;
  request.iterations = 1;
  for (const Row& row : measure(*world, request)) {
    EXPECT_FALSE(row.in_place.has_value());
    EXPECT_FALSE(row.out_of_place.wrong.has_value());
  }
}

TEST(Measure, MoreCallsThanMayBeUnderWay) {
  const auto world = sim_world(2);
  Request request = small(Operation::kAllReduce);
  request.sizes = {64};
  request.iterations = 3000;
  EXPECT_EQ(total_wrong(measure(*world, request)), 0U);
}

TEST(Measure, FindsOneWrongElementOnOneRank) {
  const auto world = sim_world(3);
  for (const Operation operation :
       {Operation::kAllReduce, Operation::kAllGather, Operation::kBroadcast}) {
    for (const std::size_t element : {std::size_t{0}, std::size_t{1000}}) {
      test::AlteredWorld altered(*world, 2, element);
      Request request = small(operation);
      request.sizes = {100'000};
      const std::vector<Row> rows = measure(altered, request);
      EXPECT_EQ(rows.front().out_of_place.wrong, 1U) << to_string(operation);
      EXPECT_EQ(rows.front().in_place->wrong, 1U) << to_string(operation);
      EXPECT_EQ(total_wrong(rows), 2U);
    }
  }
}

TEST(Measure, FindsResultsThatWereNeverWritten) {
  const auto world = sim_world(2);
  test::AlteredWorld altered(*world, 1, test::AlteredWorld::kNoCall);
  Request request = small(Operation::kAllGather);
  request.sizes = {4096};
  EXPECT_GE(measure(altered, request).front().out_of_place.wrong, 512U);
}

TEST(Measure, RefusesBuffersThatDoNotFitBeforeAnythingRuns) {
  const auto world = sim_world(4);
  Request request = small(Operation::kAllReduce);
  request.sizes = {8, 1'000'000};
  request.host_memory = 7'999'999;  // four ranks with two buffers each
  bool ran = false;
  Observer observer;
  observer.row = [&](const Row&) { ran = true; };
  const std::string text =
      test::error_text(ErrorKind::kOutOfMemory, [&] { measure(*world, request, observer); });
  EXPECT_NE(text.find("the buffers of 4 ranks on this machine need 8.000 MB"), std::string::npos)
      << text;
  EXPECT_FALSE(ran);
  request.host_memory = 8'000'000;
  EXPECT_EQ(measure(*world, request).size(), 2U);
}

TEST(Measure, RefusesWhatTheWorldDoesNotHave) {
  const auto world = sim_world(3);
  Request request = small(Operation::kBroadcast);
  request.root = 3;
  const auto fault = [&] {
    return test::error_text(ErrorKind::kInvalidArgument, [&] { measure(*world, request); });
  };
  EXPECT_NE(fault().find("root 3: must be in [0, 2]"), std::string::npos);
  request = small(Operation::kAllReduce);
  request.algorithm.algorithm = Algorithm::kHierarchical;
  request.algorithm.node_size = 2;
  EXPECT_NE(fault().find("node size 2: must divide the 3 ranks"), std::string::npos);
  const auto alone = sim_world(1);
  const std::string text = test::error_text(ErrorKind::kInvalidArgument,
                                            [&] { measure(*alone, small(Operation::kSend)); });
  EXPECT_NE(text.find("sendrecv needs two ranks"), std::string::npos) << text;
}

}  // namespace
}  // namespace ringside::benchmark
