// The embedded bytes must be the repository's file, bit for bit.

#include "data/embedded_digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace ringside {
namespace {

TEST(EmbeddedDigits, EqualsTheFileInTheRepository) {
  std::ifstream file(std::string(RINGSIDE_TEST_DATA_DIR) + "/../data/digits.csv.gz",
                     std::ios::binary);
  ASSERT_TRUE(file) << "data/digits.csv.gz cannot be opened";
  const std::vector<char> expected{std::istreambuf_iterator<char>(file), {}};
  const auto embedded = embedded_digits_gz();
  ASSERT_EQ(embedded.size(), expected.size());
  EXPECT_TRUE(
      std::equal(embedded.begin(), embedded.end(), expected.begin(),
                 [](unsigned char a, char b) { return a == static_cast<unsigned char>(b); }));
}

}  // namespace
}  // namespace ringside
