#include "core/short_text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace ringside {
namespace {

TEST(ShortText, KeepsTextsOfEveryLength) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, ShortText::kInPlace,
                                 ShortText::kInPlace + 1, std::size_t{500}}) {
    std::string text(size, 'x');
    if (size > 0) text.back() = 'y';
    ShortText kept(text);
    EXPECT_EQ(kept.view(), text);
    const ShortText moved = std::move(kept);
    EXPECT_EQ(moved.view(), text);
    EXPECT_EQ(kept.view(), "");  // NOLINT(bugprone-use-after-move): what this test asks
  }
  EXPECT_EQ(ShortText().view(), "");
}

}  // namespace
}  // namespace ringside
