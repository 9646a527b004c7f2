// A line of progress stays one line, on whatever terminal.
#include "cli/terminal.h"

#include <gtest/gtest.h>

namespace ringside::cli {
namespace {

TEST(Terminal, ProgressFitsTheTerminal) {
  EXPECT_EQ(fitting("step 1 of 4", 40), "step 1 of 4");
  EXPECT_EQ(fitting("step 1 of 4", 11), "step 1 of 4");
  EXPECT_EQ(fitting("step 1 of 4", 6), "step 1");
  EXPECT_EQ(fitting("step 1 of 4", 0), "step 1 of 4");  // no one knows how wide it is
  EXPECT_EQ(fitting("", 5), "");
}

TEST(Terminal, ACharacterIsNotCut) {
  EXPECT_EQ(fitting("a\u56fe\u56fe", 5), "a\u56fe\u56fe");
  EXPECT_EQ(fitting("a\u56fe\u56fe", 4), "a\u56fe");
  EXPECT_EQ(fitting("a\u56fe\u56fe", 2), "a");
}

}  // namespace
}  // namespace ringside::cli
