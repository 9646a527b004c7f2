// Names go both ways, and a wrong one is answered with the list.
#include <gtest/gtest.h>

#include "ringside/device.h"
#include "ringside/error.h"
#include "ringside/schedule.h"

namespace ringside {
namespace {

TEST(ScheduleNames, ParseIsTheInverse) {
  for (int i = 0; i <= static_cast<int>(Operation::kBarrier); ++i) {
    const auto operation = static_cast<Operation>(i);
    EXPECT_EQ(parse_operation(to_string(operation)), operation);
  }
  for (const auto op : {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kMin, ReduceOp::kMax}) {
    EXPECT_EQ(parse_reduce_op(to_string(op)), op);
  }
  for (const auto algorithm :
       {Algorithm::kAutomatic, Algorithm::kRing, Algorithm::kStar, Algorithm::kTree}) {
    EXPECT_EQ(parse_algorithm(to_string(algorithm)), algorithm);
  }
  for (const auto border : {Border::kNccl, Border::kGloo, Border::kEven}) {
    EXPECT_EQ(parse_border(to_string(border)), border);
  }
}

TEST(ScheduleNames, AnOperationHasAKindOfOp) {
  EXPECT_EQ(kind_of(Operation::kSend), OpKind::kSend);
  EXPECT_EQ(kind_of(Operation::kRecv), OpKind::kRecv);
  EXPECT_EQ(kind_of(Operation::kAllReduce), OpKind::kCollective);
  EXPECT_EQ(kind_of(Operation::kBarrier), OpKind::kCollective);
}

TEST(ScheduleNames, OperationsAreKnownWithAndWithoutHyphen) {
  EXPECT_EQ(parse_operation("allreduce"), Operation::kAllReduce);
  EXPECT_EQ(parse_operation("all_reduce"), Operation::kAllReduce);
  EXPECT_EQ(parse_operation("reduce_scatter"), Operation::kReduceScatter);
}

TEST(ScheduleNames, AWrongNameIsAnsweredWithTheList) {
  try {
    parse_operation("alreduce");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("alreduce"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("all-reduce"), std::string::npos);
  }
  EXPECT_THROW(parse_algorithm("rign"), Error);
  EXPECT_THROW(parse_reduce_op("mean"), Error);
  EXPECT_THROW(parse_border("odd"), Error);
}

}  // namespace
}  // namespace ringside
