// Checkpoints whose header is right and whose content is not: names, element types, values and
// texts changed in a thousand ways. Each is trained on or refused with an error; none ends the
// program, and none makes a rank wait for another.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "data/temporary_folder.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"
#include "ringside/scenario.h"

namespace ringside::test {
namespace {

class ContentMutator {
 public:
  explicit ContentMutator(unsigned seed) : random_(seed) {}

  void change(SafetensorsFile& file) {
    SafetensorsEntry& entry = file.header.entries[below(file.header.entries.size())];
    switch (below(7)) {
      case 0:
        entry.name = text();
        break;
      case 1:
        entry.name.insert(0, below(2) == 0 ? "module." : "optimizer.");
        break;
      case 2:  // one of as many bytes
        if (entry.dtype == "F32") entry.dtype = below(2) == 0 ? "I32" : "U32";
        if (entry.dtype == "I64") entry.dtype = below(2) == 0 ? "F64" : "U64";
        break;
      case 3:
        entry.shape.push_back(1);
        break;
      case 4: {  // also infinities, numbers that are none, and counters below zero
        const std::array<std::uint64_t, 5> values = {0, ~0ULL, 0x7f8000007f800000, 1ULL << 63U,
                                                     0x7ff0000000000000};
        const std::uint64_t value = values[below(values.size())];
        for (std::size_t i = entry.begin; i < entry.end; ++i) {
          std::memcpy(&file.data[i], reinterpret_cast<const char*>(&value) + (i % 8), 1);
        }
        break;
      }
      case 5:
        file.header.metadata.erase(std::next(file.header.metadata.begin(), place(file)));
        break;
      default:
        std::next(file.header.metadata.begin(), place(file))->second = text();
        break;
    }
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::ptrdiff_t place(const SafetensorsFile& file) {
    return static_cast<std::ptrdiff_t>(below(file.header.metadata.size()));
  }
  std::string text() {
    const std::vector<std::string> texts = {"",
                                            "0",
                                            "1",
                                            "2",
                                            "-1",
                                            "99999999999999999999",
                                            "1000000",
                                            "0.bias",
                                            ";;;",
                                            ",,,",
                                            "nan",
                                            "0.bias,0.weight;;2.bias,2.weight",
                                            "0.bias,0.weight,2.bias",
                                            "optimizer.",
                                            "module.",
                                            "\n"};
    return texts[below(texts.size())];
  }

  std::mt19937 random_;
};

/// Whether the run went through; fails the test for anything but an error of bad input.
bool runs(const Scenario& scenario) {
  try {
    run_scenario(scenario, {}, nullptr, {});
    return true;
  } catch (const Error& error) {
    EXPECT_TRUE(error.exit_status() == 2 || error.kind() == ErrorKind::kNotFinite ||
                error.kind() == ErrorKind::kRankFailed)
        << to_string(error.kind()) << ": " << error.what();
    return false;
  }
}

TEST(CheckpointMutation, EveryContentIsTrainedOnOrRefused) {
  const TemporaryFolder folder;
  int refused = 0;
  int resumed = 0;
  for (const std::string strategy : {"single", "ddp"}) {
    Scenario scenario;
    scenario.strategy = strategy;
    scenario.devices = strategy == "single" ? 1 : 2;
    scenario.model = "mlp:4,3,2:bn";
    scenario.data = "random:24:4:2";
    scenario.batch_size = 4;
    scenario.optimizer = "adam";
    scenario.steps = 3;
    scenario.save = folder.file("good.safetensors");
    run_scenario(scenario, {}, nullptr, {});
    const SafetensorsFile good = read_safetensors(scenario.save);
    scenario.save.clear();
    scenario.steps = 5;
    for (unsigned seed = 0; seed < 200; ++seed) {
      SafetensorsFile file = good;
      ContentMutator mutator(seed);
      mutator.change(file);
      if (seed % 3 == 0) mutator.change(file);
      const std::string path = folder.file("bad.safetensors");
      try {
        folder.write("bad.safetensors", to_safetensors(file));
      } catch (const Error&) {
        continue;  // two entries have one name: such a file cannot be written
      }
      scenario.resume = path;
      scenario.load.clear();
      if (seed % 5 == 0) std::swap(scenario.resume, scenario.load);
      ++(runs(scenario) ? resumed : refused);
      if (HasFailure()) FAIL() << strategy << " seed " << seed;
    }
  }
  EXPECT_GT(refused, 120);
  EXPECT_GT(resumed, 20);
}

}  // namespace
}  // namespace ringside::test
