// Values as people write them, good and bad.

#include "scenario/values.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ringside/error.h"

namespace ringside {
namespace {

std::string error_text(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    return error.what();
  }
  return "";
}

TEST(Values, WholeNumbers) {
  EXPECT_EQ(parse_integer("n", "12"), 12);
  EXPECT_EQ(parse_integer("n", "-12"), -12);
  EXPECT_EQ(parse_unsigned("seed", "18446744073709551615"), 18446744073709551615u);
  EXPECT_EQ(error_text([] { parse_integer("n", "12x"); }), "n '12x': is not a whole number");
  EXPECT_EQ(error_text([] { parse_integer("n", ""); }), "n '': is not a whole number");
  for (const char* text : {"1.5", " 1", "1 ", "+1", "0x10", "one", "1e3", "-"}) {
    EXPECT_NE(error_text([&] { parse_integer("n", text); }), "") << text;
  }
  EXPECT_EQ(error_text([] { parse_integer("n", "9223372036854775808"); }),
            "n '9223372036854775808': does not fit; the range is -9223372036854775808 to "
            "9223372036854775807");
  EXPECT_NE(error_text([] { parse_unsigned("seed", "-1"); }), "");
  EXPECT_EQ(error_text([] { parse_integer("n", "0", 1, 8); }), "n 0: must be at least 1");
  EXPECT_EQ(error_text([] { check_range("n", 9, 1, 8, "why"); }), "n 9: must be at most 8: why");
}

TEST(Values, Numbers) {
  EXPECT_EQ(parse_number("lr", "0.1"), 0.1);
  EXPECT_EQ(parse_number("lr", "1e-3"), 1e-3);
  EXPECT_EQ(parse_number("lr", "-2"), -2);
  for (const char* text : {"", "x", "0.1x", "0,1", "1e", "0.1 "}) {
    EXPECT_EQ(error_text([&] { parse_number("lr", text); }),
              "lr '" + std::string(text) + "': is not a number");
  }
  for (const char* text : {"nan", "inf", "-inf"}) {
    EXPECT_EQ(error_text([&] { parse_number("lr", text); }),
              "lr '" + std::string(text) + "': must be a finite number");
  }
  EXPECT_EQ(error_text([] { parse_number("lr", "1e999"); }), "lr '1e999': does not fit a number");
}

TEST(Values, ListsAndFlags) {
  EXPECT_EQ(parse_integers("ids", "0,1,2"), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(parse_integers("ids", "5"), (std::vector<std::int64_t>{5}));
  for (const char* text : {"", ",", "0,", ",0", "0,,1", "0, 1", "a", "0;1"}) {
    EXPECT_NE(error_text([&] { parse_integers("ids", text); }), "") << text;
  }
  EXPECT_TRUE(parse_flag("f", "true"));
  EXPECT_FALSE(parse_flag("f", "false"));
  EXPECT_EQ(error_text([] { parse_flag("f", "yes"); }), "f 'yes': must be true or false");
}

TEST(Values, Bytes) {
  EXPECT_EQ(parse_bytes("memory", "1048576"), 1048576u);
  EXPECT_EQ(parse_bytes("memory", "64MB"), 64'000'000u);
  EXPECT_EQ(parse_bytes("memory", "64 MB"), 64'000'000u);
  EXPECT_EQ(parse_bytes("memory", "1GiB"), 1073741824u);
  EXPECT_EQ(parse_bytes("memory", "1.5KiB"), 1536u);
  EXPECT_EQ(parse_bytes("memory", "2TB"), 2'000'000'000'000u);
  for (const char* text : {"", "MB", "-1", "-1MB", "0", "0.2", "64MBx", "64mb", "1e30", "nan"}) {
    EXPECT_NE(error_text([&] { parse_bytes("memory", text); }), "") << text;
  }
  EXPECT_EQ(error_text([] { parse_bytes("memory", "1.5"); }),
            "memory '1.5': is not a whole number of bytes");
  EXPECT_EQ(error_text([] { parse_bytes("memory", "3XB"); }),
            "memory '3XB': 'XB' is not a unit of bytes");
}

}  // namespace
}  // namespace ringside
