// What processes of one mpirun say together. tests/cli/mpi_errors.sh tries it with real ones.
#include "cli/say_once.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "cli/subprocess.h"

namespace ringside::cli {
namespace {

/// What PMIx tells the processes that it starts, until the end of the scope.
class SaidOnce : public testing::Test {
 protected:
  void SetUp() override {
    set("PMIX_SERVER_TMPDIR", directory_.path());
    set("PMIX_NAMESPACE", "job1");
  }
  void TearDown() override {
    for (const char* name : {"PMIX_SERVER_TMPDIR", "PMIX_NAMESPACE", "PMIX_RANK"}) ::unsetenv(name);
  }
  static void set(const char* name, const std::string& value) {
    ::setenv(name, value.c_str(), /*overwrite=*/1);
  }
  /// As the process of `rank`: whether it has said so.
  static bool says(int rank, const std::string& text) {
    set("PMIX_RANK", std::to_string(rank));
    bool said = false;
    say_once(text, [&] { said = true; });
    return said;
  }

  test::ScratchDirectory directory_;
};

TEST_F(SaidOnce, TheFirstOfAJobSaysIt) {
  EXPECT_TRUE(says(1, "no such file"));
  EXPECT_FALSE(says(0, "no such file"));
  EXPECT_FALSE(says(2, "no such file"));
  EXPECT_TRUE(says(2, "another"));
  set("PMIX_NAMESPACE", "job2");
  EXPECT_TRUE(says(0, "no such file"));
}

TEST_F(SaidOnce, TheOwnRankInFrontMakesNoDifference) {
  EXPECT_TRUE(says(0, "rank 0: no such file"));
  EXPECT_FALSE(says(1, "rank 1: no such file"));
  EXPECT_TRUE(says(2, "rank 1: no such file")) << "that of another rank does";
}

TEST_F(SaidOnce, EachTimeThatARankHasItIsAnotherTime) {
  EXPECT_TRUE(says(0, "no such file"));
  EXPECT_TRUE(says(0, "no such file"));
  EXPECT_FALSE(says(1, "no such file"));
  EXPECT_FALSE(says(1, "no such file"));
  EXPECT_TRUE(says(1, "no such file"));
}

TEST_F(SaidOnce, AllSayItWhereTheyCannotMeet) {
  set("PMIX_SERVER_TMPDIR", directory_ / "missing");
  EXPECT_TRUE(says(0, "no such file"));
  EXPECT_TRUE(says(1, "no such file"));
  ::unsetenv("PMIX_SERVER_TMPDIR");
  EXPECT_TRUE(says(1, "no such file"));
}

}  // namespace
}  // namespace ringside::cli
