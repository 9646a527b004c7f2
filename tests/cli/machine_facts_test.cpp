// What the doctor reads from the system's files, and the programs it runs.

#include "cli/machine_facts.h"

#include <gtest/gtest.h>

#include <chrono>

namespace ringside::cli {
namespace {

TEST(MachineFacts, ReadsX86AndArm) {
  const CpuFacts x86 = cpu_facts_from(
      "processor\t: 0\nmodel name\t: Fast CPU @ 3GHz\nflags\t\t: fpu avx avx2 avx512f\n",
      "MemTotal:       16384 kB\nMemFree: 1 kB\n");
  EXPECT_EQ(x86.model, "Fast CPU @ 3GHz");
  EXPECT_EQ(x86.simd, (std::vector<std::string>{"avx", "avx2", "avx512f"}));
  EXPECT_EQ(x86.memory_bytes, 16384u * 1024);
  EXPECT_GE(x86.cores, 1);
  const CpuFacts arm = cpu_facts_from("Features : fp asimd sve\n", "");
  EXPECT_EQ(arm.model, "unknown");
  EXPECT_EQ(arm.simd, (std::vector<std::string>{"asimd", "sve"}));
  EXPECT_EQ(arm.memory_bytes, 0u);
}

TEST(MachineFacts, OfAControlGroupOnlyItsPartOfTheMemoryCanBeUsed) {
  const char* meminfo = "MemTotal: 16384 kB\nMemAvailable:    8192 kB\n";
  EXPECT_EQ(available_memory_from(meminfo, "", ""), 8192u * 1024);
  EXPECT_EQ(available_memory_from(meminfo, "max\n", "anon 5\nfile 7\n"), 8192u * 1024);
  EXPECT_EQ(available_memory_from(meminfo, "1000000\n", "anon 400000\nfile 900000\n"), 600'000u);
  EXPECT_EQ(available_memory_from(meminfo, "1000\n", "anon 2000\n"), 1u) << "not unknown: none";
  EXPECT_EQ(available_memory_from("", "1000\n", "anon 400\n"), 600u);
  EXPECT_EQ(available_memory_from("", "", ""), 0u);
  EXPECT_GT(available_memory(), 0u);
}

TEST(MachineFacts, RunsToolsWithALimit) {
  EXPECT_EQ(output_of({"echo", "hello"}), "hello\n");
  EXPECT_EQ(output_of({"false"}), std::nullopt);
  EXPECT_EQ(output_of({"no-such-program-anywhere"}), std::nullopt);
  EXPECT_EQ(output_of({"sleep", "30"}), std::nullopt) << "is ended after two seconds";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(output_of({"sh", "-c", "exec >&-; exec sleep 30"}), std::nullopt)
      << "although its output has ended";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(MachineFacts, FindsProgramsOnThePath) {
  EXPECT_NE(find_program("sh"), "");
  EXPECT_EQ(find_program("no-such-program-anywhere"), "");
}

}  // namespace
}  // namespace ringside::cli
