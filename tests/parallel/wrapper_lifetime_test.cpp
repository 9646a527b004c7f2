// Wrappers that go before what they wrapped, or before what came out of them.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "parallel/toy.h"
#include "ringside/data_parallel.h"
#include "ringside/ddp.h"

namespace ringside::test {
namespace {

Tensor ones(Device& device, std::int64_t rows, double value) {
  return Tensor::full(device, Shape{rows, 1}, DType::kFloat64, value, MemoryKind::kInputs, "x");
}

// The old wrapper goes after the new one has hooked the parameters, and takes its own hooks only.
TEST(WrapperLifetime, AModuleWrappedAgainIsReducedByTheNewWrapper) {
  std::vector<double> gradients(2);
  sim_world(2)->run([&](Rank& rank) {
    const std::shared_ptr<Module> module = toy_model(rank.device);
    auto ddp = std::make_unique<DistributedDataParallel>(module, rank, DdpWrapperOptions{});
    ddp = std::make_unique<DistributedDataParallel>(module, rank, DdpWrapperOptions{});
    ddp->backward(ddp->forward(ones(rank.device, 1, 1.0 + rank.rank)));
    gradients[static_cast<std::size_t>(rank.rank)] =
        host_values(module->named_parameters().front().tensor.grad()).front();
  });
  EXPECT_EQ(gradients[0], gradients[1]);
}

// The graph of an output has what its backward needs.
TEST(WrapperLifetime, AnOutputIsDifferentiatedAfterItsDataParallelIsGone) {
  const auto world = sim_world(2);
  world->drive([&] {
    const std::shared_ptr<Module> module = toy_model(world->device(0));
    Tensor output;
    {
      DataParallel wrapper(module, *world, {});
      output = wrapper.forward({{ones(world->device(0), 4, 0.5)}, {}}).get<Tensor>();
    }
    backward(output, Tensor::full(output.device(), output.shape(), output.dtype(), 1,
                                  MemoryKind::kGradients));
    EXPECT_TRUE(module->named_parameters().front().tensor.grad().defined());
  });
}

}  // namespace
}  // namespace ringside::test
