// Each document of --json has the form that docs/json.md gives it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/documented_json.h"
#include "cli/subprocess.h"

namespace ringside::test {
namespace {

using nlohmann::json;

TEST(JsonDocuments, HaveTheDocumentedForm) {
  const ScratchDirectory scratch;
  expect_documented("run", {"run", "--steps", "3", "--batch-size", "16", "--strategy", "dp",
                            "--trace", scratch / "t.json"});
  run_ringside({"run", "--steps", "2", "--optimizer", "adam", "--save", scratch / "a.safetensors"});
  expect_documented("checkpoint", {"checkpoint", scratch / "a.safetensors"});
  expect_documented("draw", {"draw", "--trace", scratch / "t.json", "--out", scratch / "drawn",
                             "--format", "dot"});
  expect_documented("collective", {"collective", "all-reduce"});
  expect_documented("collective", {"collective", "reduce", "--count", "100"});
  expect_documented("collective", {"collective", "gather", "--counts", "3,3,3,1"});
  expect_documented("collective", {"collective", "send"});
  expect_documented("bench", {"bench", "all-reduce", "--end", "64"});
  expect_documented("bench", {"bench", "gather", "--end", "64", "--step", "8", "--check=false"});
  expect_documented("explanation", {"collective", "all-reduce", "--explain"});
  expect_documented("explanation", {"collective", "barrier", "--explain", "--ranks", "1"});
  expect_documented("calc", {"calc", "split", "--batch", "10", "--devices", "4"});
  expect_documented("calc", {"calc", "sampler", "--length", "10", "--world", "4", "--shuffle"});
  expect_documented("calc", {"calc", "batch", "--per-gpu", "16", "--gpus", "4"});
  expect_documented("calc", {"calc", "buckets", "--model", "resnet18"});
  expect_documented("calc", {"calc", "memory", "--params", "1.5e9", "--gpus", "8"});
  expect_documented("calc", {"calc", "traffic", "--model", "resnet50", "--gpus", "8"});
  expect_documented("calc", {"calc", "ranks", "--nodes", "2", "--gpus-per-node", "4"});
  expect_documented("calc", {"calc", "devices", "--physical", "4", "--visible", "2, 3"});
  expect_documented("doctor", {"doctor"});
  expect_documented("completion", {"completion", "bash"});
  expect_documented("error", {"run", "--devices", "0"});
}

TEST(JsonDocuments, TheVersionIsOneToo) {
  const ProcessResult result = run_ringside({"--version", "--json"});
  EXPECT_EQ(result.status, 0);
  const json document = json::parse(result.output, nullptr, false);
  ASSERT_TRUE(document.is_object()) << result.output;
  EXPECT_EQ(document["ringside"], "version");
  EXPECT_EQ(run_ringside({"--version"}).output,
            fmt::format("ringside {}\n", document["program"].get<std::string>()));
}

}  // namespace
}  // namespace ringside::test
