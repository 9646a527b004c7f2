// A benchmark over MPI, run by mpirun: every process is one rank.
#include <gtest/gtest.h>

#include <memory>

#include "backends/mpi/mpi_world.h"
#include "benchmark/measure.h"
#include "support/collective_case.h"
#include "support/error_text.h"

namespace ringside::benchmark {
namespace {

std::unique_ptr<World> mpi_world() {
  WorldOptions options;
  options.size = 0;
  return open_mpi_world(options);
}

TEST(MpiBenchmark, EveryOperationIsTimedAndRight) {
  const auto world = mpi_world();
  for (const Operation operation : test::kCollectives) {
    if (operation == Operation::kBarrier) continue;
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      Request request;
      request.operation = operation;
      request.dtype = dtype;
      request.sizes = {8, 100'000};
      request.iterations = 3;
      request.root = has_root(operation) ? world->size() - 1 : 0;
      const std::vector<Row> rows = measure(*world, request);
      ASSERT_EQ(rows.size(), 2U);
      EXPECT_EQ(total_wrong(rows), 0U) << to_string(operation) << ' ' << to_string(dtype);
      EXPECT_GE(rows.back().out_of_place.seconds, rows.back().out_of_place.mean_seconds);
    }
  }
}

TEST(MpiBenchmark, OfSendrecvAndOfAnAlgorithm) {
  const auto world = mpi_world();
  Request request;
  request.sizes = {4096};
  request.algorithm.algorithm = Algorithm::kTree;
  EXPECT_EQ(total_wrong(measure(*world, request)), 0U);
  request.algorithm = {};
  request.operation = Operation::kSend;
  if (world->size() > 1) {
    EXPECT_EQ(total_wrong(measure(*world, request)), 0U);
  }
}

TEST(MpiBenchmark, RanksOfOneMachineShareItsMemory) {
  const auto world = mpi_world();
  Request request;
  request.sizes = {1'000'000};
  const auto needed = static_cast<std::size_t>(world->size()) * 2'000'000;
  request.host_memory = needed - 1;
  const std::string text =
      test::error_text(ErrorKind::kOutOfMemory, [&] { measure(*world, request); });
  EXPECT_NE(text.find("on this machine need"), std::string::npos) << text;
  request.host_memory = needed;
  EXPECT_EQ(total_wrong(measure(*world, request)), 0U);
}

}  // namespace
}  // namespace ringside::benchmark
