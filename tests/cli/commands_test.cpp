// collective and doctor, from the outside.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/documented_json.h"
#include "cli/subprocess.h"
#include "core/files.h"
#include "ringside/world.h"
#include "scenario/options.h"

namespace ringside::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

TEST(Collective, ShowsARingRoundByRound) {
  const json document = result_of(run_ringside(
      {"collective", "all-reduce", "--ranks", "2", "--count", "2", "--border", "even", "--json"}));
  EXPECT_EQ(document["ringside"], "collective");
  EXPECT_EQ(document["request"]["algorithm"], "ring");
  EXPECT_EQ(document["executed"], true);
  const json expected = json::parse(R"([
    {"after": "input", "ranks": [[10, 11], [20, 21]]},
    {"after": "round 1", "ranks": [[30, 11], [20, 32]]},
    {"after": "round 2", "ranks": [[30, 32], [30, 32]]}])");
  EXPECT_EQ(document["values"], expected) << document["values"];
  EXPECT_EQ(document["cost"]["messages"], 4);
  EXPECT_EQ(document["cost"]["bytes"], 16);
  EXPECT_EQ(document["closed_form"]["bytes_formula"], "2(n-1)S");
  EXPECT_EQ(document["closed_form"]["bytes"], 16);
  EXPECT_EQ(document["rounds"][0][0]["from"], 0);
}

TEST(Collective, EveryOperationAndAlgorithmRunsAndCostsWhatItsFormulaSays) {
  const std::vector<std::pair<std::string, Words>> kAll = {
      {"broadcast", {"ring", "star", "tree", "chain", "hierarchical"}},
      {"reduce", {"ring", "star", "tree", "chain", "hierarchical"}},
      {"all-reduce",
       {"ring", "star", "tree", "chain", "double-tree", "halving-doubling", "hierarchical",
        "direct"}},
      {"all-gather", {"ring", "star", "tree", "halving-doubling", "hierarchical", "direct"}},
      {"reduce-scatter", {"ring", "star", "tree", "halving-doubling", "hierarchical", "direct"}},
      {"scatter", {"star", "tree"}},
      {"gather", {"star", "tree"}},
      {"all-to-all", {"auto", "direct"}},
      {"send", {"auto"}},
      {"barrier", {"auto"}}};
  for (const auto& [operation, algorithms] : kAll) {
    for (const std::string& algorithm : algorithms) {
      for (const char* ranks : {"2", "5", "6", "8"}) {
        Words words{"collective", operation, "--algorithm", algorithm, "--ranks", ranks, "--json"};
        if (operation == "all-reduce" && algorithm == "ring") {
          words.insert(words.end(), {"--border", "even"});
        }
        if (operation != "barrier") words.insert(words.end(), {"--count", "40"});
        const json document = result_of(run_ringside(words));
        SCOPED_TRACE(operation + " " + algorithm + " on " + ranks);
        EXPECT_EQ(document["executed"], true);
        EXPECT_EQ(document["closed_form"]["bytes"], document["cost"]["bytes"]);
        EXPECT_EQ(document["closed_form"]["rounds"], document["cost"]["rounds"]);
      }
    }
  }
}

TEST(Collective, EveryOpAndDtypeAgreesWithTheDevices) {
  for (const char* op : {"sum", "avg", "min", "max", "prod"}) {
    for (const char* dtype : {"float32", "float64", "int32", "int64"}) {
      const ProcessResult result = run_ringside({"collective", "reduce-scatter", "--ranks", "3",
                                                 "--count", "3", "--op", op, "--dtype", dtype});
      EXPECT_EQ(result.status, 0) << result.command << result.errors;
      EXPECT_NE(result.output.find("computed the same values"), std::string::npos);
    }
  }
}

TEST(Collective, EdgesOfSizes) {
  EXPECT_EQ(run_ringside({"collective", "all-reduce", "--ranks", "1"}).status, 0);
  EXPECT_EQ(run_ringside({"collective", "all-reduce", "--count", "0"}).status, 0);
  EXPECT_EQ(run_ringside({"collective", "gather", "--counts", "3,0,0,1"}).status, 0);
  const ProcessResult large =
      run_ringside({"collective", "all-reduce", "--count", "100000", "--dtype", "float64"});
  EXPECT_EQ(large.status, 0) << large.errors;
  EXPECT_NE(large.output.find("100000 values, norm "), std::string::npos) << large.output;
  const json huge =
      result_of(run_ringside({"collective", "all-reduce", "--count", "1000000000000", "--json"}));
  EXPECT_EQ(huge["executed"], false);
  EXPECT_EQ(huge["cost"]["bytes"], 24'000'000'000'000);
}

TEST(Collective, DrawsEveryRound) {
  const ScratchDirectory scratch;
  const json document = result_of(run_ringside(
      {"collective", "broadcast", "--algorithm", "tree", "--draw", scratch / "p", "--json"}));
  EXPECT_GE(document["pictures"].size(), 3u);
  for (const json& path : document["pictures"]) {
    EXPECT_TRUE(std::filesystem::exists(path.get<std::string>())) << path;
  }
}

TEST(Doctor, FindsSomethingOfEverything) {
  const json document = result_of(run_ringside({"doctor", "--json"}));
  EXPECT_EQ(document["ringside"], "doctor");
  std::vector<std::string> names;
  for (const json& finding : document["findings"]) {
    names.push_back(finding["name"]);
    EXPECT_NE(finding["detail"], "") << finding;
    if (!finding["found"].get<bool>()) {
      EXPECT_NE(finding["cost"], "") << finding;
      EXPECT_NE(finding["remedy"], "") << finding;
    }
  }
  for (const char* name :
       {"Ringside", "System", "CPU", "Linear algebra", "Graphviz library", "Graphviz program",
        "Font", "MPI", "CUDA and NCCL", "GPUs", "Backend sim"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

TEST(Doctor, WorksWhereNothingIsInstalled) {
  ProcessOptions options;
  options.environment = {{"PATH", "/nowhere"}};
  const ProcessResult result = run_ringside({"doctor"}, options);
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.output.find("missing  Graphviz program  no dot on PATH"), std::string::npos)
      << result.output;
}

TEST(Options, TheTableKnowsTheBackends) {
  const std::string choices = " " + std::string(find_scenario_option("backend")->choices) + " ";
  for (const Backend& backend : backends()) {
    EXPECT_NE(choices.find(" " + std::string(backend.name) + " "), std::string::npos)
        << backend.name;
  }
}

TEST(Options, TheTableKnowsTheAlgorithms) {
  const std::string choices = " " + std::string(find_scenario_option("algorithm")->choices) + " ";
  const ProcessResult help = run_ringside({"collective", "--help"});
  for (const Operation operation : {Operation::kAllReduce, Operation::kGather}) {
    for (const Algorithm algorithm : algorithms_for(operation)) {
      const std::string name(to_string(algorithm));
      EXPECT_NE(choices.find(" " + name + " "), std::string::npos) << name;
      EXPECT_NE(help.output.find(name), std::string::npos) << name;
    }
  }
}

}  // namespace
}  // namespace ringside::test
