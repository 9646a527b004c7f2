#include "core/nearest_name.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace ringside {
namespace {

constexpr std::array<std::string_view, 5> kNames{"batch-size", "backend", "seed", "steps", "lr"};

TEST(NearestName, FindsMisspeltNames) {
  EXPECT_EQ(nearest_name("batchsize", kNames), "batch-size");
  EXPECT_EQ(nearest_name("bakcend", kNames), "backend");
  EXPECT_EQ(nearest_name("sede", kNames), "seed");
  EXPECT_EQ(nearest_name("step", kNames), "steps");
  EXPECT_EQ(nearest_name("r", kNames), "lr");
}

TEST(NearestName, ABeginningIsNear) { EXPECT_EQ(nearest_name("bat", kNames), "batch-size"); }

TEST(NearestName, CapitalsCountAsSmallLetters) {
  EXPECT_EQ(nearest_name("SEED", kNames), "seed");
  EXPECT_EQ(nearest_name("Lr", kNames), "lr");
  constexpr std::array<std::string_view, 3> kStrategies{"single", "dp", "ddp"};
  EXPECT_EQ(nearest_name("DDP", kStrategies), "ddp");
  constexpr std::array<std::string_view, 1> kParameters{"Head.weight"};
  EXPECT_EQ(nearest_name("head.weight", kParameters), "Head.weight");
}

TEST(NearestName, SaysNothingWhereNothingIsNear) {
  EXPECT_EQ(nearest_name("optimizer", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name("zz", kNames), "");
  EXPECT_EQ(nearest_name("seed", {}), "");
}

}  // namespace
}  // namespace ringside
