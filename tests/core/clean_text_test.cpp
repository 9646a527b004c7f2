// What of a name may be shown. (tests/views has clean_text() on hostile UTF-8.)
#include "core/clean_text.h"

#include <gtest/gtest.h>

#include <string>

namespace ringside {
namespace {

TEST(CleanText, ShortNamesAreShownWhole) {
  EXPECT_EQ(shown_name("layer1.0.conv1.weight"), "layer1.0.conv1.weight");
  EXPECT_EQ(shown_name("a\nb\x1b[2J"), "a b [2J");
  const std::string longest(kLongestShownName, 'x');
  EXPECT_EQ(shown_name(longest), longest);
}

TEST(CleanText, OfLongNamesBeginningAndEndAreShown) {
  const std::string name = "begin." + std::string(200'000, 'x') + ".end";
  const std::string shown = shown_name(name);
  EXPECT_TRUE(shown.starts_with("begin.xxx")) << shown;
  EXPECT_TRUE(shown.ends_with("x.end (200010 bytes)")) << shown;
  EXPECT_LT(shown.size(), 2 * kLongestShownName);
}

TEST(CleanText, LettersOfSeveralBytesAreNotCut) {
  std::string name;
  for (int i = 0; i < 500; ++i) name += "é漢";
  const std::string shown = shown_name(name, 10);
  EXPECT_TRUE(shown.starts_with("é漢é漢é漢é")) << shown;
  EXPECT_EQ(shown.find("\uFFFD"), std::string::npos) << shown;
  EXPECT_EQ(shown_name("漢字漢字", 4), "漢字漢字");
}

}  // namespace
}  // namespace ringside
