// What layers draw where nothing is computed.

#include <gtest/gtest.h>

#include "ringside/nn.h"
#include "support/inline_device.h"

namespace ringside {
namespace {

TEST(InitialisationOnMeta, DrawsNothing) {
  test::InlineDevice meta(/*executes=*/false);
  Generator generator(0);
  const auto linear = make_linear({meta, DType::kFloat32, generator}, 64, 32);
  EXPECT_EQ(linear->named_parameters()[0].tensor.shape(), (Shape{32, 64}));
  EXPECT_EQ(generator.next_u32(), Generator(0).next_u32());
}

}  // namespace
}  // namespace ringside
