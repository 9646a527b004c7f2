// The demo, from the outside. Not built with sanitizers, under which its training takes minutes:
// there run_test.cpp takes the same network a few steps far.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/documented_json.h"
#include "cli/subprocess.h"

namespace ringside::test {
namespace {

using nlohmann::json;

TEST(Demo, ProvesThatAllThreeAgree) {
  const ScratchDirectory scratch;
  const ProcessResult result = run_ringside({"demo", "--out", scratch / "demo", "--json"});
  const json document = result_of(result);
  EXPECT_EQ(document["passed"], true) << document["failures"];
  EXPECT_LT(document["largest_relative_difference"], 1e-4);
  EXPECT_GT(document["test_accuracy"], 0.95);
  EXPECT_EQ(document["buckets"], 3);
  ASSERT_EQ(document["runs"].size(), 3u);
  EXPECT_TRUE(document["runs"][0]["strategy"] == "single");
  EXPECT_GE(document["runs"][1]["step"].size(), 4u);
  EXPECT_GE(document["runs"][2]["step"].size(), 3u);
  EXPECT_GE(document["files"].size(), 6u);
  for (const json& path : document["files"]) {
    EXPECT_TRUE(std::filesystem::exists(path.get<std::string>())) << path;
  }
}

TEST(Demo, WhatItSuggestsNextWorks) {
  const ScratchDirectory scratch;
  ProcessOptions options;
  options.directory = scratch.path();
  const ProcessResult demo = run_ringside({"demo"}, options);
  ASSERT_EQ(demo.status, 0) << demo.errors;
  std::size_t tried = 0;
  std::size_t at = demo.output.find("Try next:");
  ASSERT_NE(at, std::string::npos) << demo.output;
  // The program is not on the path here, so that the lines have its own.
  while ((at = demo.output.find("\n  " RINGSIDE_PROGRAM " ", at)) != std::string::npos) {
    const std::size_t end = demo.output.find('\n', at + 1);
    const std::string line = demo.output.substr(at + 3, end - at - 3);
    const ProcessResult next = run_process({"/bin/sh", "-c", line}, options);
    EXPECT_EQ(next.status, 0) << line << "\n" << next.errors;
    ++tried;
    at = end - 1;
  }
  EXPECT_EQ(tried, 3u);
}

TEST(Demo, ItsDocumentHasTheDocumentedForm) {
  const ScratchDirectory scratch;
  expect_documented("demo", {"demo", "--out", scratch / "demo"});
}

}  // namespace
}  // namespace ringside::test
