// The registry finds backends by name and says what there is when it does not.
#include <gtest/gtest.h>

#include <set>

#include "ringside/world.h"
#include "support/error_text.h"

namespace ringside {
namespace {

TEST(Registry, EveryBackendHasAName) {
  std::set<std::string_view> names;
  for (const Backend& backend : backends()) {
    EXPECT_TRUE(names.insert(backend.name).second) << backend.name;
    EXPECT_FALSE(backend.description.empty()) << backend.name;
  }
  EXPECT_TRUE(names.count("sim"));
}

TEST(Registry, AnUnavailableBackendSaysWhy) {
  for (const Backend& backend : backends()) {
    const std::string reason = backend.why_unavailable();
    if (reason.empty()) continue;
    const std::string text = test::error_text(ErrorKind::kUnavailable,
                                              [&] { open_world(backend.name, WorldOptions{}); });
    EXPECT_NE(text.find(reason), std::string::npos);
  }
}

TEST(Registry, AnUnknownNameIsAnsweredWithTheList) {
  const std::string text =
      test::error_text(ErrorKind::kInvalidArgument, [] { open_world("gpu", WorldOptions{}); });
  EXPECT_NE(text.find("'gpu'"), std::string::npos) << text;
  EXPECT_NE(text.find("sim"), std::string::npos) << text;
}

TEST(Registry, SaysWhereTheMemoryIsAndWhoStartsTheRanks) {
  EXPECT_TRUE(find_backend("sim").uses_host_memory);
  EXPECT_FALSE(find_backend("sim").is_launched);
  EXPECT_TRUE(find_backend("mpi").uses_host_memory);
  EXPECT_TRUE(find_backend("mpi").is_launched);
  EXPECT_FALSE(find_backend("cuda").uses_host_memory);
}

TEST(Registry, SimOpensAWorld) {
  WorldOptions options;
  options.size = 3;
  const auto world = open_world("sim", options);
  EXPECT_EQ(world->backend(), "sim");
  EXPECT_EQ(world->size(), 3);
  EXPECT_EQ(world->local_ranks(), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(world->local_communicators().size(), 3U);
}

}  // namespace
}  // namespace ringside
