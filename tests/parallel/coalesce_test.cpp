// Flat buffers: what they have room for, and what they refuse.
#include "parallel/coalesce.h"

#include <gtest/gtest.h>

#include "ringside/error.h"
#include "support/error_text.h"
#include "toy.h"

namespace ringside::test {
namespace {

TEST(FlatBuffer, HasOneDType) {
  const auto world = sim_world(1);
  world->drive([&] {
    Device& device = world->device(0);
    const auto make = [&](DType dtype, const char* name) {
      return Tensor::full(device, Shape{3}, dtype, 1, MemoryKind::kWorkspace, name);
    };
    const Tensor small = make(DType::kFloat32, "small");
    const Tensor large = make(DType::kFloat64, "large");
    const auto flat = [&](const std::vector<Tensor>& tensors) {
      return FlatBuffer(device, tensors, MemoryKind::kWorkspace, "flat");
    };
    EXPECT_EQ(flat({small, small}).flat.bytes(), 24U);
    EXPECT_EQ(error_text(ErrorKind::kInvalidArgument,
                         [&] {
                           flat({small, large});
                         }),
              "'small' is float32 and 'large' is float64: a flat buffer has one dtype");
    EXPECT_EQ(flat({}).flat.numel(), 0);
  });
}

TEST(DdpBuckets, AreNotRestoredWithTwoDTypesInOne) {
  const auto world = sim_world(1);
  world->run([&](Rank& rank) {
    Generator generator(0);
    const auto module =
        make_sequential({make_linear({rank.device, DType::kFloat32, generator}, 2, 2, false),
                         make_linear({rank.device, DType::kFloat64, generator}, 2, 2, false)});
    DistributedDataParallel ddp(module, rank, {});
    ddp.restore_buckets({{"1.weight"}, {"0.weight"}});
    EXPECT_EQ(ddp.buckets().size(), 2U);
    EXPECT_EQ(error_text(ErrorKind::kInvalidInput,
                         [&] {
                           ddp.restore_buckets({{"1.weight", "0.weight"}});
                         }),
              "buckets: '0.weight' is float32 in a bucket of float64, which has one dtype");
  });
}

}  // namespace
}  // namespace ringside::test
