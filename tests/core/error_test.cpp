// What an Error quotes reaches the reader: whole, or told that it is not, and as text only.
#include "ringside/error.h"

#include <gtest/gtest.h>

#include <string>

namespace ringside {
namespace {

std::string message(const std::string& text) {
  return Error(ErrorKind::kInvalidInput, text).what();
}

TEST(Error, KeepsPlainTextAsItIs) {
  EXPECT_EQ(message("model 'a': one\n  two\tthree\n"), "model 'a': one\n  two\tthree\n");
  EXPECT_EQ(message("\u56fe.json: caf\u00e9"), "\u56fe.json: caf\u00e9");
  EXPECT_EQ(message(""), "");
}

TEST(Error, ShowsControlCharactersInsteadOfSendingThem) {
  using namespace std::string_literals;
  EXPECT_EQ(message("model 'a\0b': no\x1b[31m\r\x7f"s), "model 'a\\x00b': no\\x1b[31m\\x0d\\x7f");
  EXPECT_EQ(Error(ErrorKind::kIo, "x", "try '\x1b'").hint(), "try '\\x1b'");
}

TEST(Error, LeavesOutTheMiddleOfALongLine) {
  const std::string as(1'000'000, 'a');
  EXPECT_EQ(message("key '" + as + "'\nsecond line"), "key '" + std::string(1195, 'a') +
                                                          " ... (998406 bytes left out) ... " +
                                                          std::string(399, 'a') + "'\nsecond line");
  const std::string whole(2000, 'b');
  EXPECT_EQ(message(whole), whole);
}

TEST(Error, CutsBetweenCharacters) {
  std::string text = "x";
  for (int i = 0; i < 1000; ++i) text += "\u56fe";  // three bytes each
  const std::string shown = message(text);
  EXPECT_EQ(shown.find(" ... ("), 1U + 3 * 399);
  EXPECT_TRUE(shown.ends_with("... " + text.substr(text.size() - 3 * 133)));
}

TEST(Error, APrefixChangesNothingElse) {
  const Error error(ErrorKind::kIo, "cannot '\x1b'", "hint");
  EXPECT_STREQ(error.with_prefix("rank 2: ").what(), "rank 2: cannot '\\x1b'");
  EXPECT_EQ(error.with_prefix("rank 2: ").hint(), "hint");
}

}  // namespace
}  // namespace ringside
