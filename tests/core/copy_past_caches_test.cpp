// Every way in which the ends of a copy can lie to cache lines.
#include "core/copy_past_caches.h"

#include <gtest/gtest.h>

#include <vector>

namespace ringside {
namespace {

TEST(CopyPastCaches, CopiesThatAndNothingElse) {
  constexpr std::size_t kRoom = 512;
  std::vector<unsigned char> from(kRoom);
  for (std::size_t i = 0; i < kRoom; ++i) from[i] = static_cast<unsigned char>(i * 7 + 1);
  for (std::size_t bytes = 0; bytes <= 200; ++bytes) {
    for (const std::size_t target : {0, 1, 15, 16, 63, 64}) {
      for (const std::size_t source : {0, 3, 32}) {
        std::vector<unsigned char> to(kRoom, 0xee);
        std::vector<unsigned char> expected = to;
        for (std::size_t i = 0; i < bytes; ++i) expected[target + i] = from[source + i];
        copy_past_caches(to.data() + target, from.data() + source, bytes);
        ASSERT_EQ(to, expected) << bytes << " bytes from " << source << " to " << target;
      }
    }
  }
}

}  // namespace
}  // namespace ringside
