// Ringside's names in NCCL's words, what the backend refuses, and that CUDA and NCCL are linked.
#include "backends/cuda/nccl_names.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "backends/cuda/check.h"
#include "backends/cuda/cuda_world.h"
#include "support/error_text.h"

namespace ringside::cuda {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(NcclNames, EveryDtypeHasItsType) {
  EXPECT_EQ(nccl_type(DType::kFloat32), ncclFloat32);
  EXPECT_EQ(nccl_type(DType::kFloat64), ncclFloat64);
  EXPECT_EQ(nccl_type(DType::kInt32), ncclInt32);
  EXPECT_EQ(nccl_type(DType::kInt64), ncclInt64);
}

TEST(NcclNames, EveryReductionHasItsOperation) {
  EXPECT_EQ(nccl_op(ReduceOp::kSum), ncclSum);
  EXPECT_EQ(nccl_op(ReduceOp::kAvg), ncclAvg);
  EXPECT_EQ(nccl_op(ReduceOp::kMin), ncclMin);
  EXPECT_EQ(nccl_op(ReduceOp::kMax), ncclMax);
}

TEST(NcclNames, AnOperationThatIsMissingIsNamed) {
  for (const Operation there : {Operation::kAllReduce, Operation::kBroadcast}) {
    CollectiveCall call;
    call.operation = there;
    EXPECT_NO_THROW(check_available(call));
  }
  for (const Operation missing :
       {Operation::kScatter, Operation::kGather, Operation::kReduce, Operation::kAllGather,
        Operation::kReduceScatter, Operation::kSend, Operation::kRecv, Operation::kBarrier}) {
    CollectiveCall call;
    call.operation = missing;
    const std::string text =
        test::error_text(ErrorKind::kUnavailable, [&] { check_available(call); });
    EXPECT_TRUE(contains(text, to_string(missing))) << text;
    EXPECT_TRUE(contains(text, "all-reduce and broadcast")) << text;
  }
}

TEST(CudaLibraries, AreLinkedInTheVersionsThatWereCompiledFor) {
  int nccl = 0;
  ASSERT_EQ(ncclGetVersion(&nccl), ncclSuccess);
  EXPECT_GE(nccl, NCCL_VERSION_CODE);
  int runtime = 0;
  ASSERT_EQ(cudaRuntimeGetVersion(&runtime), cudaSuccess);
  EXPECT_GE(runtime, CUDART_VERSION);
}

TEST(CudaCheck, AFailedCallSaysWhichWhereAndWhy) {
  const std::string text =
      test::error_text(ErrorKind::kDevice, [] { RINGSIDE_CUDA_CHECK(cudaErrorInvalidValue); });
  EXPECT_TRUE(contains(text, "cudaErrorInvalidValue (nccl_names_test.cpp:")) << text;
  EXPECT_TRUE(contains(text, "invalid argument")) << text;
}

TEST(NcclCheck, AFailedCallSaysWhichWhereAndWhy) {
  const std::string text =
      test::error_text(ErrorKind::kDevice, [] { RINGSIDE_NCCL_CHECK(ncclInvalidUsage); });
  EXPECT_TRUE(contains(text, "ncclInvalidUsage (nccl_names_test.cpp:")) << text;
  EXPECT_TRUE(contains(text, "invalid usage")) << text;
}

TEST(CudaWorld, OptionsThatCannotBeRightAreRefusedBeforeADeviceIsAsked) {
  WorldOptions options;
  options.size = 0;
  EXPECT_TRUE(contains(
      test::error_text(ErrorKind::kInvalidArgument, [&] { open_cuda_world(options); }), "0 ranks"));
  options.size = 2;
  options.memory_capacities = {1 << 20};
  EXPECT_TRUE(
      contains(test::error_text(ErrorKind::kInvalidArgument, [&] { open_cuda_world(options); }),
               "1 memory capacities for 2 devices"));
}

}  // namespace
}  // namespace ringside::cuda
