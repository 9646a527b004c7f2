// ringside calc: the numbers of its documents, its files, and what it refuses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/documented_json.h"
#include "cli/subprocess.h"

namespace ringside::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

json calc(Words words) {
  words.insert(words.begin(), "calc");
  words.emplace_back("--json");
  return result_of(run_ringside(words));
}

/// Of every row.
json column(const json& document, const std::string& key) {
  json values = json::array();
  for (const json& row : document["rows"]) values.push_back(row[key]);
  return values;
}

TEST(Calc, SplitIsTorchChunk) {
  const json document = calc({"split", "--batch", "10", "--devices", "4"});
  EXPECT_EQ(column(document, "rows"), json({3, 3, 3, 1}));
  EXPECT_EQ(calc({"split", "--batch", "1e1", "--devices", "4"})["rows"], document["rows"]);
  EXPECT_EQ(column(calc({"split", "--batch", "5", "--devices", "4"}), "rows"), json({2, 2, 1, 0}));
  EXPECT_EQ(calc({"split", "--batch", "9", "--devices", "4"})["results"]["idle_devices"], 1);
}

TEST(Calc, SamplerShowsWhatIsRepeatedAndWhatIsDropped) {
  const json padded = calc({"sampler", "--length", "10", "--world", "4"});
  EXPECT_EQ(padded["rows"][3]["indices"], json({3, 7, 1}));
  EXPECT_EQ(padded["results"]["repeated"], 2);
  const json dropped = calc({"sampler", "--length", "10", "--world", "4", "--drop-last"});
  EXPECT_EQ(dropped["results"]["never_seen"], json({8, 9}));
  const json shuffled =
      calc({"sampler", "--length", "8", "--world", "2", "--shuffle", "--epoch", "1"});
  EXPECT_EQ(shuffled["rows"][0]["indices"], json({5, 2, 7, 1}));
}

TEST(Calc, BucketsOfABuiltInModelAndOfAFileAreTheSame) {
  const json built_in = calc({"buckets", "--model", "resnet50"});
  EXPECT_EQ(built_in["results"]["bucket_bytes"],
            json({8196000, 31502336, 26255360, 26550272, 9724160}));
  EXPECT_EQ(built_in["results"]["first_iteration_bytes"], json({102228128}));

  const ScratchDirectory scratch;
  std::ofstream(scratch / "mlp.json") << R"([["0.weight", [32, 64]], ["0.bias", [32]],
                                             ["2.weight", [10, 32]], ["2.bias", [10]]])";
  const json of_file = calc({"buckets", "--model", scratch / "mlp.json"});
  const json of_name = calc({"buckets", "--model", "mlp:64,32,10"});
  EXPECT_EQ(of_file["rows"], of_name["rows"]);
  EXPECT_EQ(of_file["results"]["bucket_bytes"], json({9640}));
}

TEST(Calc, RanksHaveTheirLaunchersArguments) {
  const json torchrun = calc({"ranks", "--nodes", "2", "--gpus-per-node", "4"});
  EXPECT_EQ(torchrun["rows"][5]["local_rank"], 1);
  EXPECT_EQ(torchrun["rows"][5]["environment"]["GROUP_RANK"], "1");
  EXPECT_EQ(torchrun["rows"][5]["argv"], json({"train.py"}));
  EXPECT_EQ(torchrun["rows"][5]["own_environment"],
            json({{"RANK", "5"}, {"LOCAL_RANK", "1"}, {"GROUP_RANK", "1"}, {"ROLE_RANK", "5"}}));
  EXPECT_EQ(torchrun["results"]["common_environment"]["WORLD_SIZE"], "8");
  const json launch = calc({"ranks", "--gpus-per-node", "2", "--as", "launch-2"});
  EXPECT_EQ(launch["rows"][1]["argv"], json({"train.py", "--local-rank=1"}));
  const std::string text = run_ringside({"calc", "ranks", "--gpus-per-node", "2"}).output;
  EXPECT_NE(text.find("RANK=1 LOCAL_RANK=1 GROUP_RANK=0 ROLE_RANK=1"), std::string::npos) << text;
}

TEST(Calc, BatchMultiplies) {
  const json document = calc({"batch", "--per-gpu", "16", "--gpus", "4", "--accumulate", "2"});
  EXPECT_EQ(document["results"]["effective_batch"], 128);
  EXPECT_EQ(column(document, "loader_batch"), json({64, 16}));
}

TEST(Calc, DevicesFollowTheVariable) {
  const json document = calc({"devices", "--physical", "4", "--visible", "2, 3"});
  EXPECT_EQ(column(document, "physical"), json({2, 3}));
  EXPECT_EQ(document["results"]["warnings"].size(), 1U);
  EXPECT_EQ(document["results"]["hidden"], json({0, 1}));
  const auto warning_of = [](const std::string& visible) {
    return calc({"devices", "--physical", "4", "--visible", visible})["results"]["warnings"][0]
        .get<std::string>();
  };
  EXPECT_EQ(warning_of("1,5"),
            "entry 2, '5', is no device of this machine, which has 0 to 3: it and all after it are "
            "hidden");
  EXPECT_NE(warning_of("GPU-123").find("'GPU-123', names a device by its UUID"), std::string::npos);
  const json fastest = calc({"devices", "--physical", "4", "--visible", "0,1", "--order", "fastest",
                             "--speeds", "1,5,1,9"});
  EXPECT_EQ(column(fastest, "physical"), json({3, 1}));
}

TEST(Calc, PrefixReadsKeysInEveryForm) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "keys.txt") << "module.submodule.weight\nmy_module.w\n";
  std::ofstream(scratch / "keys.json") << R"(["module.submodule.weight", "my_module.w"])";
  std::ofstream(scratch / "state.json") << R"({"module.submodule.weight": 1, "my_module.w": 2})";
  for (const char* file : {"keys.txt", "keys.json", "state.json"}) {
    const json document = calc({"prefix", "--keys", scratch / file});
    EXPECT_EQ(column(document, "stripped"), json({"submodule.weight", "my_module.w"})) << file;
    EXPECT_EQ(column(document, "replaced"), json({"subweight", "my_w"})) << file;
    EXPECT_EQ(document["results"]["broken_by_replace"], 2) << file;
  }
}

TEST(Calc, MemoryAndTrafficCountBytes) {
  const json memory = calc({"memory", "--params", "7.5e9", "--gpus", "64"});
  EXPECT_EQ(column(memory, "total"),
            json({120000000000, 30000000000, 120000000000, 31406250000, 16640625000, 1875000000}));
  const json traffic = calc({"traffic", "--params", "1001000", "--gpus", "4"});
  EXPECT_EQ(
      calc({"traffic", "--params", "1e3", "--gpus", "4", "--servers", "2"})["rows"][1]["bytes_in"],
      8000);
  EXPECT_EQ(column(traffic, "bytes_out"),
            json({12012000, 16016000, 6006000, 6006000, 6006000, 9009000}));
}

TEST(Calc, TextIsATableWithResultsAndReasons) {
  const std::string text = run_ringside({"calc", "split", "--batch", "3", "--devices", "2"}).output;
  EXPECT_EQ(text,
            "A batch of 3 rows on 2 devices, as torch.chunk cuts it\n\n"
            "device  first row  rows\n0       0          2\n1       2          1\n\n"
            "chunk sizes: 2, 1\ndevices that get rows: 2\ndevices that get nothing: 0\n"
            "Every chunk has ceil(3 / 2) = 2 rows until none are left; the last one has the "
            "rest.\n");
}

/// Ten tensors, each as large as one may be.
std::string many_parameters() {
  json list = json::array();
  for (int i = 0; i < 10; ++i) {
    list.push_back(json::array({fmt::format("w{}", i), {1048576, 1048576}}));
  }
  return list.dump();
}

TEST(Calc, RefusesWhatCannotBe) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "bad.json") << R"([["0.weight", [-1]]])";
  std::ofstream(scratch / "empty.json") << "[]";
  std::ofstream(scratch / "huge.json") << R"([["w", [1048576, 1048576, 64]]])";
  std::ofstream(scratch / "many.json") << many_parameters();
  const std::vector<std::pair<Words, std::string>> cases = {
      {{}, "calc: no calculator is given: one of split, sampler"},
      {{"splt"}, "calculator 'splt': must be one of"},
      {{"split", "--batch", "10"}, "calc split: --devices is missing"},
      {{"split", "--batch", "10", "--devices", "0"}, "--devices 0: must be at least 1"},
      {{"split", "--batch", "10", "--devices", "2", "--world", "3"},
       "--world: calc split has none"},
      {{"sampler", "--length", "-1", "--world", "2"}, "--length -1: must be at least 0"},
      {{"sampler", "--length", "1", "--world", "2", "--seed", "x"}, "--seed 'x'"},
      {{"sampler", "--length", "1000000", "--world", "1000"}, "--length 1000000 with --world 1000"},
      {{"memory", "--params", "1e14", "--gpus", "2"},
       "--params 1e14: must be at most 10000000000000"},
      {{"traffic", "--model", scratch / "huge.json", "--gpus", "2"}, scratch / "huge.json: 'w'"},
      {{"traffic", "--model", scratch / "many.json", "--gpus", "2"},
       scratch / "many.json: 10995116277760 parameters up to 'w9': at most 10000000000000"},
      {{"memory", "--model", "mlp:16777216,16777216", "--gpus", "2"},
       "mlp:16777216,16777216: 281474976710656 parameters up to '0.weight': at most"},
      {{"buckets", "--model", "resnet51"}, "model 'resnet51': must be resnet18"},
      {{"buckets", "--model", "mlp:3,x"}, "model 'mlp:3,x': size 'x': must be"},
      {{"buckets", "--model", "none.safetensors"}, "none.safetensors"},
      {{"buckets", "--model", scratch / "bad.json"}, scratch / "bad.json" + ": '0.weight': -1"},
      {{"buckets", "--model", scratch / "empty.json"},
       scratch / "empty.json" + ": has no parameters"},
      {{"buckets", "--model", "resnet18", "--bucket-cap-mb", "-1"}, "--bucket-cap-mb -1: must be"},
      {{"memory", "--params", "1.5", "--gpus", "2"}, "--params '1.5': is not a whole number"},
      {{"memory", "--params", "1e9", "--gpus", "2", "--optimizer", "lion"}, "optimizer 'lion'"},
      {{"memory", "--params", "1e9", "--gpus", "2", "--precision", "int8"}, "precision 'int8'"},
      {{"memory", "--params", "1", "--model", "vgg16", "--gpus", "2"}, "--params and --model"},
      {{"ranks", "--gpus-per-node", "2", "--as", "mpirun"}, "launcher 'mpirun': must be torchrun"},
      {{"devices", "--physical", "4", "--visible", "1,1"}, "CUDA_VISIBLE_DEVICES='1,1': device 1"},
      {{"devices", "--physical", "4", "--visible", "0", "--order", "slowest"}, "--order 'slowest'"},
      {{"devices", "--physical", "4", "--visible", "0", "--speeds", "1"},
       "--speeds: has no meaning"},
      {{"prefix", "--keys", "none.txt"}, "none.txt"},
      {{"buckets", "--model", "mlp:4000000000,4"},
       "size '4000000000': must be a whole number from"},
      {{"buckets", "--model", "mlp:-1,3"}, "size '-1': must be a whole number from 1 to 16777216"},
      {{"buckets", "--model", "mlp:64"}, "model 'mlp:64': one size: a layer has two"},
      {{"ranks", "--gpus-per-node", "2", "--master", ""}, "--master '': must name a machine"},
      {{"ranks", "--gpus-per-node", "2", "--master", "a b"}, "--master 'a b': is no host name"},
      {{"split", "--batch", "1e30", "--devices", "2"},
       "--batch 1e30: must be at most 1000000000000"},
      {{"split", "--batch", "1e-1", "--devices", "2"}, "--batch '1e-1': is not a whole number"},
      {{"traffic", "--params", "1", "--gpus", "2", "--servers", "0"}, "--servers 0: must be at"},
  };
  for (const auto& [words, message] : cases) {
    Words arguments{"calc"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const ProcessResult result = run_ringside(arguments);
    EXPECT_EQ(result.status, 2) << result.command;
    EXPECT_NE(result.errors.find(message), std::string::npos) << message << "\n" << result.errors;
  }
}

}  // namespace
}  // namespace ringside::test
