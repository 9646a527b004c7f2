#include "ringside/version.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace ringside {
namespace {

TEST(Version, TextAgreesWithItsNumbers) {
  EXPECT_EQ(kVersion, fmt::format("{}.{}.{}", kVersionMajor, kVersionMinor, kVersionPatch));
}

}  // namespace
}  // namespace ringside
