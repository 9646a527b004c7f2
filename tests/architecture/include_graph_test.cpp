// The repository keeps to the table of rooms; and the check, given bad files, says so.

#include "architecture/include_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ringside::test {
namespace {

std::string first_violation(const std::string& path, const std::string& text) {
  const std::vector<std::string> violations = check_includes({{path, text}});
  return violations.empty() ? "" : violations.front();
}

TEST(IncludeGraph, TheRepositoryKeepsToTheTable) {
  const SourceFiles files = read_source_files(std::string(RINGSIDE_TEST_DATA_DIR) + "/..");
  EXPECT_GE(files.size(), 15u) << "the sources were not found";
  const std::vector<std::string> violations = check_includes(files);
  EXPECT_TRUE(violations.empty()) << fmt::format("{}", fmt::join(violations, "\n"));
}

TEST(IncludeGraph, TheTableGoesDownwardsOnly) {
  EXPECT_EQ(check_table(), std::vector<std::string>());
}

TEST(IncludeGraph, AllowsWhatIsBelowAndTheRoomItself) {
  EXPECT_EQ(first_violation("src/nn/linear.cpp",
                            "#pragma once\n#include \"nn/linear.h\"\n"
                            "#include \"ringside/tensor.h\"\n#include <vector>\n"),
            "");
  EXPECT_EQ(first_violation("src/core/device.cpp", "#include \"ringside/device.h\"\n"), "");
  EXPECT_EQ(first_violation("src/backends/cuda/checks.h", "#ifdef X\n#include <nccl.h>\n"), "");
}

TEST(IncludeGraph, FindsAnIncludeUpwards) {
  EXPECT_EQ(first_violation("src/nn/linear.cpp", "\n  #  include \"ringside/comm.h\"  // why\n"),
            "src/nn/linear.cpp:2: nn may not include comm (ringside/comm.h)");
  EXPECT_EQ(first_violation("include/ringside/tensor.h", "#include \"ringside/nn.h\"\n"),
            "include/ringside/tensor.h:1: tensor may not include nn (ringside/nn.h)");
  EXPECT_EQ(first_violation("src/core/error.cpp", "#include \"ringside/device.h\"\n"),
            "src/core/error.cpp:1: core may not include device (ringside/device.h)");
}

TEST(IncludeGraph, FindsABackendReachedWithoutTheRegistry) {
  EXPECT_EQ(first_violation("src/parallel/ddp.cpp", "#include \"sim/device/engine.h\"\n"),
            "src/parallel/ddp.cpp:1: parallel may not include sim/device (sim/device/engine.h)");
  EXPECT_EQ(first_violation("src/cli/doctor.cpp", "#include \"backends/cuda/world.h\"\n"),
            "src/cli/doctor.cpp:1: cli may not include backends/cuda (backends/cuda/world.h)");
}

TEST(IncludeGraph, FindsIncludesOfUnknownOrRelativePlaces) {
  EXPECT_NE(first_violation("src/nn/linear.cpp", "#include \"linear.h\"\n"), "");
  EXPECT_NE(first_violation("src/nn/linear.cpp", "#include \"nn/../comm/checks.h\"\n"), "");
  EXPECT_NE(first_violation("src/cloud/rent.cpp", ""), "");
  EXPECT_NE(first_violation("include/ringside/unheard_of.h", ""), "");
}

TEST(IncludeGraph, FindsLibrariesOutsideTheRoomThatWrapsThem) {
  EXPECT_EQ(first_violation("src/comm/group.cpp", "#include <mpi.h>\n"),
            "src/comm/group.cpp:1: <mpi.h> is for backends/mpi alone");
  EXPECT_EQ(first_violation("src/trace/json.h", "#include <nlohmann/json.hpp>\n"),
            "src/trace/json.h:1: <nlohmann/json.hpp> belongs in a source, not in a header");
}

TEST(IncludeGraph, FindsConditionalCompilationAndMacros) {
  for (const char* line : {"#ifdef X", "#if defined(X)", "# ifndef X", "#define X 1"}) {
    EXPECT_NE(first_violation("src/views/render.cpp", line), "") << line;
  }
}

}  // namespace
}  // namespace ringside::test
