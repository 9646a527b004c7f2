// Meta devices run nothing, know every shape, and account every byte.
#include <gtest/gtest.h>

#include "backends/meta/meta_world.h"
#include "ringside/error.h"
#include "ringside/kernels.h"

namespace ringside {
namespace {

TEST(MetaDevice, NeverRunsALaunch) {
  WorldOptions options;
  options.size = 2;
  const auto world = open_meta_world(options);
  Device& device = world->device(1);
  EXPECT_EQ(device.name(), "meta:1");
  EXPECT_EQ(device.rank(), 1);
  EXPECT_FALSE(device.executes());
  bool ran = false;
  device.compute().enqueue([&](LaunchContext&) { ran = true; });
  device.compute().submit({}, [&](LaunchContext&) { ran = true; });
  const auto event = device.compute().record();
  EXPECT_TRUE(event->done());
  event->synchronize();
  device.stream(StreamKind::kCopy).wait(event);
  device.synchronize();
  EXPECT_FALSE(ran);
}

TEST(MetaDevice, AccountsMemoryThatIsNotThere) {
  WorldOptions options;
  options.size = 2;
  options.memory_capacities = {0, std::size_t{1} << 40U};
  const auto world = open_meta_world(options);
  constexpr std::size_t kHuge = std::size_t{3} << 38U;
  {
    const Buffer buffer = world->device(1).allocate(kHuge, MemoryKind::kActivations);
    EXPECT_EQ(buffer.storage()->data(), nullptr);
    EXPECT_EQ(buffer.storage()->bytes(), kHuge);
    EXPECT_EQ(buffer.array(DType::kFloat32, Shape{4}).raw(), nullptr);
    try {
      world->device(1).allocate(kHuge, MemoryKind::kGradients);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kOutOfMemory);
      EXPECT_NE(std::string(error.what()).find("device meta:1: out of memory"), std::string::npos);
    }
    const Buffer unlimited = world->device(0).allocate(4 * kHuge, MemoryKind::kGradients);
  }
  EXPECT_EQ(world->device(1).memory().used, 0U);
  EXPECT_EQ(world->device(1).memory().peak, kHuge);
}

TEST(MetaDevice, ItsKernelsSayThatTheyAreNotThere) {
  const auto world = open_meta_world({});
  Kernels& kernels = world->device(0).kernels();
  LaunchContext context{kernels};
  EXPECT_THROW(kernels.relu(context, {}, {}), Error);
}

}  // namespace
}  // namespace ringside
