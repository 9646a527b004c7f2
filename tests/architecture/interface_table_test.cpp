// docs/architecture.md says of every function of the interfaces what it does on every backend: its
// table names each virtual function that a caller can see, and has a full row for it.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace ringside::test {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(std::string(RINGSIDE_TEST_DATA_DIR) + "/../" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The rows of the table; each begins with the functions that it is about.
std::vector<std::string> rows() {
  std::string page = read("docs/architecture.md");
  page = page.substr(std::min(page.size(), page.find("## Every function on every backend")));
  page = page.substr(0, page.find("\n## Errors"));
  std::vector<std::string> result;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| ")) result.push_back(line);
  }
  return result;
}

std::string functions_of(const std::string& row) { return row.substr(0, row.find(" |", 1)); }

// The public virtual functions of a header, and a few that are not virtual: "Stream::record".
std::vector<std::string> functions_in(const std::string& header) {
  static const std::regex kClass(R"(^(?:class|struct) (\w+).*\{$)");
  static const std::regex kFunction(R"(^  virtual [^~=(]*?(\w+)\()");
  std::vector<std::string> result;
  std::string name;
  bool is_public = true;
  std::istringstream lines(read("include/ringside/" + header));
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, kClass)) {
      name = match[1];
      is_public = line.starts_with("struct");
    }
    if (line == " public:") is_public = true;
    if (line == " protected:" || line == " private:") is_public = false;
    if (is_public && std::regex_search(line, match, kFunction)) {
      result.push_back(fmt::format("{}::{}", name, match[1].str()));
    }
  }
  return result;
}

// As `Class::function`, or as `function` in a row that is about the class or in one of a World.
bool is_named(const std::string& function) {
  const std::string last = function.substr(function.rfind(':') + 1);
  const std::string type = function.substr(0, function.find(':'));
  const std::vector<std::string> all = rows();
  return std::any_of(all.begin(), all.end(), [&](const std::string& row) {
    const std::string functions = functions_of(row);
    const bool of_type = functions.find("`" + type + "::") != std::string::npos || type == "World";
    const std::regex word(fmt::format(R"(`({}::)?{}(\(\w*\))?`)", type, last));
    return of_type && std::regex_search(functions, word);
  });
}

TEST(InterfaceTable, NamesEveryFunction) {
  std::size_t functions = 0;
  for (const char* header : {"world.h", "device.h", "comm.h"}) {
    for (const std::string& function : functions_in(header)) {
      ++functions;
      EXPECT_TRUE(is_named(function)) << function << " of " << header;
    }
  }
  EXPECT_GE(functions, 30U);
  EXPECT_TRUE(is_named("Stream::submit"));
  EXPECT_FALSE(is_named("Stream::nothing"));
}

TEST(InterfaceTable, HasACellForEveryBackend) {
  constexpr int kCells = 5;  // the function and four backends
  ASSERT_GE(rows().size(), 30U);
  for (const std::string& row : rows()) {
    std::string rest = row;
    int cells = 0;
    for (std::size_t end = 0; (end = rest.find(" |", 1)) != std::string::npos; ++cells) {
      EXPECT_GT(end, 2U) << "an empty cell: " << row;
      rest = rest.substr(end + 1);
    }
    EXPECT_EQ(cells, kCells) << row;
  }
  EXPECT_THAT(rows().front(), testing::StrEq("| function | sim | meta | cuda | mpi |"));
}

}  // namespace
}  // namespace ringside::test
