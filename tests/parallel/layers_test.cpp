// The layers under the strategies: random masks, buffers of replicas, shared arithmetic, clipping,
// and what meta records of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "parallel/text_file.h"
#include "ringside/scenario.h"
#include "tensor/random_values.h"
#include "toy.h"

namespace ringside::test {
namespace {

Scenario small_gpt(const std::string& strategy, int devices, const TextFile& text) {
  Scenario scenario;
  scenario.strategy = strategy;
  scenario.devices = devices;
  scenario.model = "gpt:layers=2,heads=2,width=8,context=8";
  scenario.data = text.spec();
  scenario.batch_size = strategy == "ddp" ? 12 / devices : 12;
  scenario.steps = 6;
  scenario.optimizer = "adam";
  scenario.lr = 0.01;
  scenario.dtype = DType::kFloat64;
  return scenario;
}

RunReport run_quietly(const Scenario& scenario) { return run_scenario(scenario, {}, nullptr, {}); }

TEST(LayersUnderStrategies, AGptTrainsAlikeUnderAll) {
  const TextFile text(1500);
  for (const double clip : {0.0, 0.3}) {
    Scenario scenario = small_gpt("single", 1, text);
    scenario.clip_grad_norm = clip;
    const RunReport single = run_quietly(scenario);
    for (const std::string strategy : {"dp", "ddp"}) {
      for (const int devices : {2, 3}) {
        scenario = small_gpt(strategy, devices, text);
        scenario.clip_grad_norm = clip;
        const RunReport report = run_quietly(scenario);
        for (std::size_t step = 0; step < 6; ++step) {
          EXPECT_NEAR(report.step_losses[step], single.step_losses[step], 1e-9)
              << strategy << " on " << devices << ", step " << step;
        }
        for (const std::string& checksum : report.rank_checksums) {
          EXPECT_EQ(checksum, report.checksum) << "clipping must see averaged gradients";
        }
      }
    }
  }
}

// A clipped step is another step, so the test above compares something.
TEST(LayersUnderStrategies, ClippingChangesTheTraining) {
  const TextFile text(1500);
  Scenario scenario = small_gpt("ddp", 2, text);
  scenario.optimizer = "sgd";
  const std::string unclipped = run_quietly(scenario).checksum;
  scenario.clip_grad_norm = 0.3;
  EXPECT_NE(run_quietly(scenario).checksum, unclipped);
}

TEST(LayersUnderStrategies, MasksDependOnTheSeedAndNotOnTheWorkers) {
  const TextFile text(1500);
  for (const std::string strategy : {"single", "dp", "ddp"}) {
    Scenario scenario = small_gpt(strategy, strategy == "single" ? 1 : 3, text);
    scenario.model += ",dropout=0.3";
    scenario.sim_workers = 1;
    const RunReport one = run_quietly(scenario);
    for (const int workers : {2, 5}) {
      scenario.sim_workers = workers;
      EXPECT_EQ(run_quietly(scenario).checksum, one.checksum) << strategy;
    }
    scenario.model = small_gpt(strategy, 1, text).model;
    EXPECT_NE(run_quietly(scenario).checksum, one.checksum) << strategy << ": nothing was dropped";
  }
}

/// y = Dropout(x) under DataParallel: which of 4 x 8 ones are left.
std::vector<double> masks_of_replicas(std::uint64_t seed, int step) {
  const auto world = sim_world(2);
  std::vector<double> output;
  world->drive([&] {
    Device& home = world->device(0);
    for (const int rank : {0, 1}) world->device(rank).set_random_seed(seed);
    Generator generator(0);
    const auto module = make_sequential(
        {make_dropout(0.5), make_linear({home, DType::kFloat64, generator}, 8, 8, false)});
    std::vector<double> identity(64, 0);
    for (std::size_t i = 0; i < 8; ++i) identity[i * 9] = 1;
    Tensor weight = module->named_parameters()[0].tensor;
    copy_in_place(
        weight, Tensor::from_host(home, {8, 8}, DType::kFloat64, identity, MemoryKind::kWorkspace));
    const auto dp = make_data_parallel(module, *world, {},
                                       {[&](const Tensor& y, const Tensor& targets) {
                                          output = host_values(y);
                                          return mse_loss(y, targets);
                                        },
                                        toy_sgd(0)});
    const Tensor ones = Tensor::full(home, {4, 8}, DType::kFloat64, 1, MemoryKind::kInputs);
    dp->train_step({ones, ones}, step);
  });
  return output;
}

TEST(LayersUnderStrategies, ReplicasDropDifferentElements) {
  const std::vector<double> mask = masks_of_replicas(1, 0);
  EXPECT_EQ(std::set<double>(mask.begin(), mask.end()), (std::set<double>{0, 2}));
  EXPECT_FALSE(std::equal(mask.begin(), mask.begin() + 16, mask.begin() + 16));
  EXPECT_EQ(masks_of_replicas(1, 0), mask);
  EXPECT_NE(masks_of_replicas(1, 1), mask);
  EXPECT_NE(masks_of_replicas(2, 0), mask);
}

// As in PyTorch: replica 0 works on the module's own buffers, the others on copies that are
// dropped. [torch/nn/parallel/replicate.py]
TEST(LayersUnderStrategies, RunningStatisticsAreReplicaZeros) {
  const auto world = sim_world(2);
  world->drive([&] {
    Device& home = world->device(0);
    Generator generator(0);
    const ModuleContext context{home, DType::kFloat64, generator};
    const auto module = make_sequential(
        {make_batch_norm2d(context, 1), make_flatten(), make_linear(context, 2, 1)});
    const auto dp = make_data_parallel(module, *world, {}, {toy_loss, toy_sgd(0)});
    // Chunks of mean 2 and mean 20.
    const Tensor x =
        Tensor::from_host(home, {4, 1, 1, 2}, DType::kFloat64,
                          std::vector<double>{0, 1, 3, 4, 10, 20, 20, 30}, MemoryKind::kInputs);
    const Tensor targets = Tensor::full(home, {4, 1}, DType::kFloat64, 1, MemoryKind::kInputs);
    dp->train_step({x, targets}, 0);
    const std::vector<NamedTensor> buffers = module->named_buffers();
    EXPECT_NEAR(host_value(buffers[0].tensor, 0), 0.1 * 2, 1e-12);
    EXPECT_NEAR(host_value(buffers[1].tensor, 0), 0.9 + 0.1 * 10.0 / 3, 1e-12);
    EXPECT_EQ(host_value(buffers[2].tensor, 0), 1);
  });
}

// Under DDP every rank normalises with its own rows. Parameters stay equal bit for bit; statistics
// differ from the end of a forward to the beginning of the next, which takes rank 0's.
TEST(LayersUnderStrategies, RanksOfDdpShareParametersButNotTheLastStatistics) {
  const auto world = sim_world(2);
  std::vector<std::vector<std::vector<double>>> parameters(2);
  std::vector<std::vector<std::vector<double>>> buffers(2);
  world->run([&](Rank& rank) {
    Generator generator(0);
    const auto module =
        make_model("resnet:4,8", {rank.device, DType::kFloat32, generator}, Shape{64}, 10);
    DdpOptions options;
    options.loss = [](const Tensor& y, const Tensor& targets) { return cross_entropy(y, targets); };
    options.optimizer = [](std::vector<NamedTensor> all) {
      OptimizerOptions adam;
      adam.clip_grad_norm = 0.5;
      return make_optimizer("adam", std::move(all), adam);
    };
    const auto ddp = make_ddp(module, rank, options);
    for (int step = 0; step < 3; ++step) {
      std::vector<double> x = random_values(8 * 64, static_cast<std::uint32_t>(rank.rank + 1));
      const Batch batch{
          Tensor::from_host(rank.device, {8, 64}, DType::kFloat32, x, MemoryKind::kInputs),
          targets_of(rank.device, {0, 1, 2, 3, 4, 5, 6, 7})};
      ddp->train_step(batch, step);
    }
    const auto index = static_cast<std::size_t>(rank.rank);
    for (const NamedTensor& entry : module->named_parameters()) {
      parameters[index].push_back(host_values(entry.tensor));
    }
    for (const NamedTensor& entry : module->named_buffers()) {
      buffers[index].push_back(host_values(entry.tensor));
    }
  });
  EXPECT_EQ(parameters[0], parameters[1]);
  EXPECT_NE(buffers[0][0], buffers[1][0]) << "running_mean";
  EXPECT_EQ(buffers[0][2], buffers[1][2]) << "num_batches_tracked";
}

/// What an op is, without its values and times.
std::string shape_of(const TraceOp& op) {
  std::string text = std::string(to_string(op.kind)) + ' ' + op.name + ' ' + op.label + ' ' +
                     std::to_string(op.bytes) + ' ' + std::to_string(op.flops);
  for (const TraceTensor& tensor : op.reads) text += ' ' + tensor.name + to_string(tensor.shape);
  for (const TraceTensor& tensor : op.writes) text += ' ' + tensor.name + to_string(tensor.shape);
  return text;
}

std::vector<std::string> ops_of_steps(const Scenario& scenario) {
  Trace trace;
  run_scenario(scenario, {}, &trace, {});
  std::vector<std::string> ops;
  for (const TraceOp& op : trace.ops) {
    if (op.step >= 0) ops.push_back(shape_of(op));
  }
  return ops;
}

TEST(LayersUnderStrategies, MetaRecordsWhatSimRecords) {
  const TextFile text(1500);
  for (const std::string strategy : {"single", "dp", "ddp"}) {
    Scenario gpt = small_gpt(strategy, strategy == "single" ? 1 : 2, text);
    gpt.model += ",dropout=0.1";
    gpt.clip_grad_norm = 1;
    gpt.steps = 2;
    Scenario resnet = gpt;
    resnet.model = "resnet:4,8";
    resnet.data = "digits";
    for (Scenario scenario : {gpt, resnet}) {
      const std::vector<std::string> simulated = ops_of_steps(scenario);
      scenario.backend = "meta";
      EXPECT_EQ(ops_of_steps(scenario), simulated) << strategy << ' ' << scenario.model;
    }
  }
}

// Billions of parameters that have no values are not summed up either: this would take a minute.
TEST(LayersUnderStrategies, MetaTakesAGptThatFitsNoLaptop) {
  const TextFile text(1500);
  Scenario scenario = small_gpt("ddp", 4, text);
  scenario.backend = "meta";
  scenario.model = "gpt:layers=48,heads=25,width=1600,context=64";
  scenario.steps = 1;
  const RunReport report = run_quietly(scenario);
  // 48 blocks of 12 w^2 + 13 w; embeddings of 256 bytes and 64 places; ln_f; lm_head
  EXPECT_EQ(report.parameters, 48U * (12 * 1600 * 1600 + 13 * 1600) + 1600U * (256 + 64 + 2 + 256));
  EXPECT_EQ(report.checksum, "");
}

TEST(LayersUnderStrategies, EveryComputeOpOfAGptSaysWhatItCosts) {
  const TextFile text(1500);
  Scenario scenario = small_gpt("single", 1, text);
  scenario.model += ",dropout=0.1";
  scenario.clip_grad_norm = 1;
  Trace trace;
  run_scenario(scenario, {}, &trace, {});
  std::set<std::string> names;
  for (const TraceOp& op : trace.ops) {
    if (op.kind != OpKind::kCompute || op.step < 0) continue;
    names.insert(op.name);
    EXPECT_FALSE(op.writes.empty()) << op.name;
    EXPECT_TRUE(op.flops > 0 || op.name == "embedding" || op.name == "fill") << op.name;
  }
  for (const char* name :
       {"embedding", "embedding-backward", "add-positions", "layer-norm", "layer-norm-backward",
        "attention", "attention-backward", "gelu", "gelu-backward", "dropout", "dropout-backward",
        "clip-grad-norm", "adam"}) {
    EXPECT_TRUE(names.count(name) == 1) << name;
  }
}

}  // namespace
}  // namespace ringside::test
