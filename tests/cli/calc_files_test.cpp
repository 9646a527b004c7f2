// ringside calc: what its files are taken for, what of them counts, and what is refused.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/documented_json.h"
#include "cli/subprocess.h"
#include "ringside/checkpoint.h"

namespace ringside::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class CalcFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(scratch_ / name, std::ios::binary) << bytes;
    return scratch_ / name;
  }
  /// Tensors of eight elements.
  std::string write_tensors(const std::string& name,
                            const std::vector<std::pair<std::string, std::string>>& list) const {
    SafetensorsFile file;
    for (const auto& [tensor, dtype] : list) {
      const std::vector<std::byte> bytes(8 * *safetensors_element_bytes(dtype));
      file.add(tensor, dtype, std::vector<std::int64_t>{8}, bytes);
    }
    write_safetensors(file, scratch_ / name);
    return scratch_ / name;
  }
  static json calc(Words words) {
    words.insert(words.begin(), "calc");
    words.emplace_back("--json");
    return result_of(run_ringside(words));
  }
  static void expect_refused(Words words, const std::string& message) {
    words.insert(words.begin(), "calc");
    const ProcessResult result = run_ringside(words);
    EXPECT_EQ(result.status, 2) << result.command << "\n" << result.output.substr(0, 300);
    EXPECT_NE(result.errors.find(message), std::string::npos) << message << "\n" << result.errors;
  }

  ScratchDirectory scratch_;
};

TEST_F(CalcFiles, AnOwnCheckpointCountsItsModelAlone) {
  const std::string file = scratch_ / "a.safetensors";
  run_ringside({"run", "--steps", "2", "--optimizer", "adam", "--save", file});
  const json document = calc({"buckets", "--model", file});
  EXPECT_EQ(document["results"]["total_parameters"], 2410);
  EXPECT_EQ(document["results"]["order"], "registration");
  EXPECT_EQ(document["rows"], calc({"buckets", "--model", "mlp:64,32,10"})["rows"]);
  EXPECT_NE(document["notes"][0].get<std::string>().find("12 optimizer tensors are not parameters"),
            std::string::npos);
  EXPECT_EQ(calc({"traffic", "--model", file, "--gpus", "2"})["results"]["parameter_bytes"], 9640);
  EXPECT_EQ(calc({"prefix", "--keys", file})["results"]["keys"], 4);
}

TEST_F(CalcFiles, BuffersAreNoParameters) {
  const std::string file = write_tensors("bn.safetensors", {{"1.weight", "F16"},
                                                            {"1.bias", "F16"},
                                                            {"1.running_mean", "F32"},
                                                            {"1.running_var", "F32"},
                                                            {"1.num_batches_tracked", "I64"}});
  const json document = calc({"buckets", "--model", file});
  EXPECT_EQ(document["results"]["total_parameters"], 16);
  EXPECT_EQ(document["results"]["bucket_bytes"], json({32}));
  EXPECT_NE(document["notes"][0].get<std::string>().find("3 buffers are not parameters: 1."),
            std::string::npos);
  const json traffic = calc({"traffic", "--model", file, "--gpus", "2"});
  EXPECT_EQ(traffic["results"]["parameter_bytes"], 32);
  const json memory = calc({"memory", "--model", file, "--gpus", "2", "--precision", "float32"});
  EXPECT_EQ(memory["rows"][2]["weights"], 16 * 4);
  const std::string list = write("bn.json", R"([["1.weight", [16], "torch.float16"],
                                                ["1.running_var", [16]], ["ids", [4], "int64"]])");
  EXPECT_EQ(calc({"buckets", "--model", list})["results"]["bucket_bytes"], json({32}));
  expect_refused({"buckets", "--model", write_tensors("ids.safetensors", {{"ids", "BOOL"}})},
                 "ids.safetensors: has no parameters");
}

TEST_F(CalcFiles, AFileThatIsSortedByNameHasNoOrderOfRegistration) {
  const json sorted =
      calc({"buckets", "--model",
            write_tensors(
                "s.safetensors",
                {{"0.bias", "F32"}, {"0.weight", "F32"}, {"10.bias", "F32"}, {"2.bias", "F32"}})});
  EXPECT_EQ(sorted["results"]["order"], "names");
  EXPECT_EQ(sorted["rows"][0]["first"], "0.weight");
  EXPECT_EQ(sorted["rows"][0]["last"], "10.bias");
  const json other =
      calc({"buckets", "--model",
            write_tensors("o.safetensors", {{"stem.weight", "F32"}, {"head.weight", "F32"}})});
  EXPECT_EQ(other["results"]["order"], "file");
  for (const json& document : {sorted, other}) {
    EXPECT_EQ(document.dump().find("exactly"), std::string::npos);
    EXPECT_NE(document["notes"][0].get<std::string>().find("order of registration"),
              std::string::npos);
  }
}

TEST_F(CalcFiles, AFileIsWhatItsContentSays) {
  const std::string tensors = write_tensors("wrapped.st", {{"module.a", "F32"}});
  EXPECT_EQ(calc({"prefix", "--keys", tensors})["rows"][0]["stripped"], "a");
  EXPECT_EQ(calc({"buckets", "--model", tensors})["results"]["total_parameters"], 8);
  EXPECT_EQ(calc({"buckets", "--model",
                  write("list.txt", R"([["a", [3]]])")})["results"]["total_parameters"],
            3);
  for (const std::string& bytes :
       {std::string("PK\x03\x04zip data, more of it"), std::string("\x80\x02}q\x00X\x08", 7)}) {
    const std::string file = write("x.pt", bytes);
    expect_refused({"prefix", "--keys", file}, "safetensors.torch.save_file");
    expect_refused({"buckets", "--model", file}, "x.pt: is a");
  }
  expect_refused({"buckets", "--model", write("x.st", "no tensors")},
                 "x.st: is neither a safetensors file nor JSON");
  expect_refused({"buckets", "--model", "none.st"}, "cannot read none.st: No such file");
}

TEST_F(CalcFiles, KeysOfATextAreText) {
  const auto refuse = [&](const std::string& text, const std::string& message) {
    expect_refused({"prefix", "--keys", write("keys", text)}, message);
  };
  refuse(std::string("a\nb\0c\n", 6), "line 2, byte 2: 0x00 is no letter");
  refuse("a\n\xff\xfe", "line 2, byte 1: 0xff is no letter");
  refuse("a\x1b[2J", "line 1, byte 2: 0x1b is no letter");
  refuse("", "has no keys");
  refuse(" \n\n", "has no keys");
  refuse("module.\n", "renaming leaves nothing of 'module.'");
  refuse("module.a\na\n", "renaming makes one key, 'a', of two: 'module.a' and 'a'");
  refuse("a\nb\na\n", "'a' stands there twice: lines 1 and 3");
  const json document = calc({"prefix", "--keys", write("keys", "\xEF\xBB\xBFmodule.a\r\n   \n")});
  EXPECT_EQ(document["results"]["keys"], 1);
  EXPECT_EQ(document["rows"][0]["stripped"], "a");
  EXPECT_NE(document["notes"][0].get<std::string>().find("1 line without a key"),
            std::string::npos);
}

TEST_F(CalcFiles, FaultsOfJsonHaveTheirPlaceAndTheirLimit) {
  const auto refuse = [&](const std::string& text, const std::string& message) {
    expect_refused({"buckets", "--model", write("m.json", text)}, "m.json: " + message);
  };
  refuse("[[\"a\", [2]],\n [\"b\",", "is no JSON: ends too early, at line 2, column 7");
  refuse("[[\"a\", [NaN]]]", "is no JSON: line 1, column 9");
  refuse("[[\"a\", [2]]]\ntrailing", "is no JSON: line 2, column 1");
  refuse(R"([["a", [2]], ["b", [2]], ["a", [3]]])", "'a' stands there twice: entries 1 and 3");
  refuse(R"([["a", [2], "int3"]])", "'a': dtype 'int3'");
  refuse(R"([["a", [2], 16]])", "'a': its dtype is 16");
  refuse(R"([["a", [2], "float16", 1]])", "entry 1 is no [name, shape]");
  refuse("[[\"a\", [1000000000000, 1000000000000]]]",
         "'a': a tensor of more than 1099511627776 elements");
  refuse(R"([["a", [1e999]]])", "has a number that is too large");
  refuse(std::string(100'000, '['), "has lists 8 deep");
  const std::string keys = write("k.json", R"({"a": 1, "a": 2})");
  expect_refused({"prefix", "--keys", keys}, "'a' stands there twice: keys 1 and 2");
  expect_refused({"prefix", "--keys", write("k.json", "[1]")}, "k.json: entry 1 is no [name");
  expect_refused({"prefix", "--keys", write("k.json", R"(["a", 1])")}, "write a list of names: [");
}

TEST_F(CalcFiles, HostileNamesStayOnTheirLineInTextAndWholeInJson) {
  const std::string hostile = "a\nb\x1b[2J" + std::string(200'000, 'x');
  const std::string file = write_tensors("h.safetensors", {{hostile, "F32"}});
  for (const Words& words : {Words{"calc", "buckets", "--model", file},
                             Words{"calc", "prefix", "--keys", file}, Words{"checkpoint", file}}) {
    const ProcessResult result = run_ringside(words);
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_LT(result.output.size(), 3000U) << result.command;
    EXPECT_EQ(result.output.find('\x1b'), std::string::npos) << result.command;
    EXPECT_NE(result.output.find("a b [2Jxx"), std::string::npos) << result.output;
  }
  EXPECT_EQ(calc({"prefix", "--keys", file})["rows"][0]["key"], hostile);
  const ProcessResult refused = run_ringside({"run", "--steps", "1", "--load", file});
  EXPECT_EQ(refused.status, 2);
  EXPECT_LT(refused.errors.size(), 1000U);
  EXPECT_EQ(refused.errors.find("a\nb"), std::string::npos) << refused.errors;
}

}  // namespace
}  // namespace ringside::test
