// The table of kernels, checked without a GPU: no kernel is missing from it, every row runs on the
// CPU, and a row notices a wrong result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "backends/cuda/run_kernel.h"
#include "support/inline_device.h"

namespace ringside::test {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(RINGSIDE_TEST_DATA_DIR) + "/../" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> names(const std::string& text, const char* pattern) {
  std::set<std::string> found;
  const std::regex expression(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it) {
    found.insert((*it)[1]);
  }
  return found;
}

TEST(KernelTable, HasEveryKernelOfTheInterface) {
  std::set<std::string> expected =
      names(text_of("include/ringside/kernels.h"), "virtual void (\\w+)\\(");
  ASSERT_GT(expected.size(), 40U);
  EXPECT_EQ(expected.erase("copy_from_host") + expected.erase("copy_to_host"), 2U)
      << "every row copies";
  std::set<std::string> tabulated;
  for (const KernelCase& each : all_kernel_cases()) tabulated.insert(each.kernel);
  EXPECT_THAT(tabulated, testing::ContainerEq(expected));
}

TEST(KernelTable, TheCudaKernelsImplementEveryKernelOfTheInterface) {
  EXPECT_THAT(
      names(text_of("src/backends/cuda/cuda_kernels.h"), "\n  void (\\w+)\\(LaunchContext"),
      testing::ContainerEq(names(text_of("include/ringside/kernels.h"), "virtual void (\\w+)\\(")));
}

TEST(KernelTable, EveryRowRunsOnTheCpu) {
  InlineDevice cpu;
  for (const KernelCase& each : all_kernel_cases()) {
    SCOPED_TRACE(each.kernel + " " + each.name);
    const Results first = run_kernel(cpu, each, DType::kFloat32, 7, false);
    KernelCase exact = each;
    exact.tolerance = kExact;
    EXPECT_EQ(
        differences(exact, DType::kFloat32, first, run_kernel(cpu, each, DType::kFloat32, 7, true)),
        "");
  }
}

TEST(KernelTable, ARowNoticesAWrongResult) {
  KernelCase row{"fill", "", {random({3})}, {}, kRounding};
  EXPECT_EQ(differences(row, DType::kFloat32, {{1, 2, 3}}, {{1, 2, 3 + 1e-6}}), "");
  EXPECT_NE(differences(row, DType::kFloat32, {{1, 2, 3}}, {{1, 2, 3 + 1e-3}}), "");
  EXPECT_NE(differences(row, DType::kFloat64, {{1, 2, 3}}, {{1, 2, 3 + 1e-6}}), "");
  EXPECT_NE(differences(row, DType::kFloat32, {{1, 2, 3}}, {{1, NAN, 3}}), "");
  row.tolerance = kExact;
  EXPECT_NE(differences(row, DType::kFloat32, {{1, 2, 3}}, {{1, 2, 3 + 1e-6}}), "");
}

}  // namespace
}  // namespace ringside::test
