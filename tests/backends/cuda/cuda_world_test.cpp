// What the cuda backend says on a machine without CUDA or without a GPU. On one with a GPU the
// checks that need none still hold.
#include "backends/cuda/cuda_world.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/error_text.h"

namespace ringside {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

WorldOptions world_of(int size) {
  WorldOptions options;
  options.size = size;
  return options;
}

TEST(CudaWorld, SaysWhatIsMissingAndWhatToDo) {
  const std::string reason = cuda_why_unavailable();
  if (reason.empty()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_TRUE(contains(reason, "CUDA")) << reason;
  EXPECT_TRUE(contains(reason, "cudaGetDeviceCount says") || contains(reason, "built without"))
      << reason;
  EXPECT_TRUE(contains(reason, "sim backend")) << reason;
  EXPECT_EQ(reason, cuda_why_unavailable()) << "asking twice must not change the answer";
}

TEST(CudaWorld, OpensOnlyWithAGpu) {
  const std::string reason = cuda_why_unavailable();
  if (reason.empty()) GTEST_SKIP() << "this machine has a GPU";
  const auto direct =
      test::error_text(ErrorKind::kUnavailable, [] { open_cuda_world(world_of(1)); });
  EXPECT_EQ(direct, reason);
  const auto by_name =
      test::error_text(ErrorKind::kUnavailable, [] { open_world("cuda", world_of(2)); });
  EXPECT_TRUE(contains(by_name, "'cuda'")) << by_name;
  EXPECT_TRUE(contains(by_name, reason)) << by_name;
}

TEST(CudaWorld, IsRegisteredBetweenMetaAndMpi) {
  std::vector<std::string_view> names;
  for (const Backend& backend : backends()) names.push_back(backend.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"sim", "meta", "cuda", "mpi"}));
}

}  // namespace
}  // namespace ringside
