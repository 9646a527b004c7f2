#include "views/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/files.h"

namespace ringside::test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The first line that differs, instead of two whole files.
std::string first_difference(const std::string& expected, const std::string& actual) {
  const std::vector<std::string> a = lines_of(expected);
  const std::vector<std::string> b = lines_of(actual);
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  std::ostringstream text;
  text << "line " << i + 1 << "\n  kept: " << (i < a.size() ? a[i] : "(end)")
       << "\n  now:  " << (i < b.size() ? b[i] : "(end)");
  return text.str();
}

}  // namespace

void expect_golden(const Picture& picture, const std::string& name) {
  const std::string path = std::string(RINGSIDE_TEST_DATA_DIR) + "/golden/views/" + name + ".dot";
  const char* update = std::getenv("RINGSIDE_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    write_whole_file(path, picture.dot);
    return;
  }
  const std::string expected = read_whole_file(path);
  EXPECT_TRUE(expected == picture.dot)
      << path << " differs at " << first_difference(expected, picture.dot)
      << "\nIf the new picture is right, run this program with RINGSIDE_UPDATE_GOLDEN=1.";
}

}  // namespace ringside::test
