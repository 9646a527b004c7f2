// Scenario files: every option, every event, and errors with their place.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "ringside/error.h"
#include "scenario/events.h"
#include "scenario/options.h"
#include "scenario/run_request.h"

namespace ringside {
namespace {

RunRequest read(std::string_view text) {
  RunRequest request;
  read_scenario_text(text, "s.toml", request);
  return request;
}

/// "message | hint" of the error that reading `text` throws.
std::string fault(std::string_view text) {
  try {
    read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    return std::string(error.what()) + " | " + error.hint();
  }
  return "no error";
}

TEST(ScenarioFile, SetsEveryOption) {
  const RunRequest ddp = read(R"(
strategy = "ddp"
backend = "sim"
devices = 2
model = "lenet"
data = "random:100:1x28x28:10"
batch-size = 8
epochs = 3
optimizer = "sgd"
lr = 0.25
momentum = 0.9
weight-decay = 1e-4
nesterov = true
seed = 7
dtype = "float64"
bucket-cap-mb = 0.5
first-bucket-mb = 1
broadcast-buffers = false
algorithm = "ring"
direction = "down"
border = "gloo"
pieces = 3
memory = "64MB"
sim-workers = 3
stepwise = true
loader-workers = 2
pin-memory = true
non-blocking = true
shuffle = false
trace = "t.json"
trace-steps = "1-4"
out = "pictures"
)");
  const Scenario& s = ddp.scenario;
  EXPECT_EQ(s.devices, 2);
  EXPECT_EQ(s.model, "lenet");
  EXPECT_EQ(s.data, "random:100:1x28x28:10");
  EXPECT_EQ(s.batch_size, 8);
  EXPECT_EQ(s.epochs, 3);
  EXPECT_EQ(s.lr, 0.25);
  EXPECT_EQ(s.momentum, 0.9);
  EXPECT_EQ(s.weight_decay, 1e-4);
  EXPECT_TRUE(s.nesterov);
  EXPECT_EQ(s.seed, 7u);
  EXPECT_EQ(s.dtype, DType::kFloat64);
  EXPECT_EQ(s.bucket_cap_mb, 0.5);
  EXPECT_EQ(s.first_bucket_mb, 1);
  EXPECT_FALSE(s.broadcast_buffers);
  EXPECT_EQ(s.algorithm, Algorithm::kRing);
  EXPECT_EQ(s.direction, Direction::kDown);
  EXPECT_EQ(s.border, Border::kGloo);
  EXPECT_EQ(s.pieces, 3);
  EXPECT_EQ(s.memory, 64'000'000u);
  EXPECT_EQ(s.sim_workers, 3);
  EXPECT_TRUE(s.stepwise);
  EXPECT_EQ(s.loader_workers, 2);
  EXPECT_TRUE(s.pin_memory);
  EXPECT_TRUE(s.non_blocking);
  EXPECT_FALSE(s.shuffle);
  EXPECT_EQ(ddp.trace, "t.json");
  EXPECT_EQ(ddp.first_step, 1);
  EXPECT_EQ(ddp.last_step, 4);
  EXPECT_EQ(ddp.out, "pictures");

  const RunRequest dp = read(R"(
strategy = "dp"
steps = 5
device-ids = [2, 0]
output-device = 1
chunk-sizes = [40, 24]
memory = 1048576
)");
  EXPECT_EQ(dp.scenario.steps, 5);
  EXPECT_EQ(dp.scenario.device_ids, (std::vector<int>{2, 0}));
  EXPECT_EQ(dp.scenario.output_device, 1);
  EXPECT_EQ(dp.scenario.chunk_sizes, (std::vector<std::int64_t>{40, 24}));
  EXPECT_EQ(dp.scenario.memory, 1048576u);

  const RunRequest dp_corners = read(R"(
strategy = "dp"
devices = 2
dim = 1
module-device = 1
loss-in = "forward"
gathered-loss = "sum"
input-form = "nested"
output-form = "dict"
device-memory = "12GB,1MB"
algorithm = "hierarchical"
node-size = 2
)");
  EXPECT_EQ(dp_corners.scenario.algorithm, Algorithm::kHierarchical);
  EXPECT_EQ(dp_corners.scenario.node_size, 2);
  EXPECT_EQ(dp_corners.scenario.dim, 1);
  EXPECT_EQ(dp_corners.scenario.module_device, 1);
  EXPECT_EQ(dp_corners.scenario.loss_in, "forward");
  EXPECT_EQ(dp_corners.scenario.gathered_loss, "sum");
  EXPECT_EQ(dp_corners.scenario.input_form, "nested");
  EXPECT_EQ(dp_corners.scenario.output_form, "dict");
  EXPECT_EQ(dp_corners.scenario.device_memory,
            (std::vector<std::size_t>{12'000'000'000, 1'000'000}));

  const RunRequest adam = read(R"(
optimizer = "adamw"
beta1 = 0.8
beta2 = 0.9
eps = 1e-6
clip-grad-norm = 2
)");
  EXPECT_EQ(adam.scenario.optimizer, "adamw");
  EXPECT_EQ(adam.scenario.beta1, 0.8);
  EXPECT_EQ(adam.scenario.beta2, 0.9);
  EXPECT_EQ(adam.scenario.epsilon, 1e-6);
  EXPECT_EQ(adam.scenario.clip_grad_norm, 2);

  const RunRequest ps = read(R"(
strategy = "ps"
workers = 4
servers = 2
worker-devices = 2
server-devices = 1
variant = "b"
server-op = "sum"
async = true
staleness = 3
)");
  EXPECT_EQ(ps.scenario.workers, 4);
  EXPECT_EQ(ps.scenario.servers, 2);
  EXPECT_EQ(ps.scenario.worker_devices, 2);
  EXPECT_EQ(ps.scenario.server_devices, 1);
  EXPECT_EQ(ps.scenario.variant, "b");
  EXPECT_EQ(ps.scenario.server_op, "sum");
  EXPECT_TRUE(ps.scenario.asynchronous);
  EXPECT_EQ(ps.scenario.staleness, 3);

  const RunRequest corners = read(R"(
model = "mlp:64,32,10:bn"
find-unused-parameters = true
static-graph = true
gradient-as-bucket-view = true
comm-hook = "fp16"
join = "throw"
sync-batchnorm = true
set-to-none = false
seed-per-rank = true
frozen = "0.weight,0.bias"
)");
  EXPECT_TRUE(corners.scenario.find_unused_parameters);
  EXPECT_TRUE(corners.scenario.static_graph);
  EXPECT_TRUE(corners.scenario.gradient_as_bucket_view);
  EXPECT_EQ(corners.scenario.comm_hook, "fp16");
  EXPECT_EQ(corners.scenario.join, "throw");
  EXPECT_TRUE(corners.scenario.sync_batchnorm);
  EXPECT_FALSE(corners.scenario.set_to_none);
  EXPECT_TRUE(corners.scenario.seed_per_rank);
  EXPECT_EQ(corners.scenario.frozen, "0.weight,0.bias");

  const RunRequest accumulating = read(R"(
accumulate = 4
no-sync = false
divide-loss = false
verify = true
verify-step = 3
)");
  EXPECT_EQ(accumulating.scenario.accumulate, 4);
  EXPECT_FALSE(accumulating.scenario.no_sync);
  EXPECT_FALSE(accumulating.scenario.divide_loss);
  EXPECT_TRUE(accumulating.scenario.verify);
  EXPECT_EQ(accumulating.scenario.verify_step, 3);

  const RunRequest loading = read(R"(
save = "m-{step}.safetensors"
save-every = 10
save-wrapped = true
load = "other.safetensors"
strip-prefix = "module."
add-prefix = "net."
rename-prefix = "a.=b."
)");
  EXPECT_EQ(loading.scenario.save, "m-{step}.safetensors");
  EXPECT_EQ(loading.scenario.save_every, 10);
  EXPECT_TRUE(loading.scenario.save_wrapped);
  EXPECT_EQ(loading.scenario.load, "other.safetensors");
  EXPECT_EQ(read("resume = \"m.safetensors\"").scenario.resume, "m.safetensors");

  const RunRequest* const all[] = {&ddp, &dp,      &dp_corners,   &adam,
                                   &ps,  &corners, &accumulating, &loading};
  for (const ScenarioOption& option : scenario_options()) {
    const bool tried = option.name == "resume" ||
                       std::any_of(std::begin(all), std::end(all), [&](const RunRequest* request) {
                         return request->is_given(option.name);
                       });
    EXPECT_TRUE(tried) << option.name << " is not tried by this test";
  }
}

TEST(ScenarioFile, ReadsEveryEvent) {
  const RunRequest request = read(R"(
[[events]]
kind = "perturb"
rank = 1
step = 2
parameter = "0.weight"
amount = 0.5
[[events]]
kind = "freeze"
parameter = "0.bias"
[[events]]
kind = "stop"
rank = 3
step = 4
[[events]]
kind = "slow"
rank = 2
amount = 20
[[events]]
kind = "fewer-batches"
rank = 1
amount = 2
[[events]]
kind = "other-collective"
step = 1
operation = "all-gather"
[[events]]
kind = "bypass"
[[events]]
kind = "no-sync"
[[events]]
kind = "extra-forward"
[[events]]
kind = "replace"
parameter = "2.weight"
[[events]]
kind = "unused-head"
[[events]]
kind = "second-backward"
[[events]]
kind = "no-sync-backward"
)");
  const RunRequest ddp = read(R"(
[[events]]
kind = "other-model"
rank = 1
model = "mlp:64,12,10"
[[events]]
kind = "register-hook"
[[events]]
kind = "replace-gradient"
parameter = "2.bias"
[[events]]
kind = "no-grad-forward"
[[events]]
kind = "summed-losses"
step = 3
)");
  const RunRequest dp = read(R"(
strategy = "dp"
[[events]]
kind = "flag-keyword"
[[events]]
kind = "wrap-optimizer"
[[events]]
kind = "keyword-tensor"
amount = 3
[[events]]
kind = "second-tensor"
amount = 4
[[events]]
kind = "no-arguments"
)");
  auto events = request.scenario.events;
  events.insert(events.end(), dp.scenario.events.begin(), dp.scenario.events.end());
  events.insert(events.end(), ddp.scenario.events.begin(), ddp.scenario.events.end());
  ASSERT_EQ(events.size(), event_rules().size());
  EXPECT_EQ(events[0].kind, ScenarioEvent::Kind::kPerturb);
  EXPECT_EQ(events[0].rank, 1);
  EXPECT_EQ(events[0].step, 2);
  EXPECT_EQ(events[0].parameter, "0.weight");
  EXPECT_EQ(events[0].amount, 0.5);
  EXPECT_EQ(events[3].amount, 20);
  EXPECT_EQ(events[5].operation, Operation::kAllGather);
  EXPECT_EQ(events[9].kind, ScenarioEvent::Kind::kReplace);
  EXPECT_EQ(events[10].kind, ScenarioEvent::Kind::kUnusedHead);
  EXPECT_EQ(events[11].kind, ScenarioEvent::Kind::kSecondBackward);
  EXPECT_EQ(events[12].kind, ScenarioEvent::Kind::kNoSyncBackward);
  EXPECT_EQ(events[13].kind, ScenarioEvent::Kind::kFlagKeyword);
  EXPECT_EQ(events[14].kind, ScenarioEvent::Kind::kWrapOptimizer);
  EXPECT_EQ(events[18].kind, ScenarioEvent::Kind::kOtherModel);
  EXPECT_EQ(events[18].model, "mlp:64,12,10");
  EXPECT_EQ(events[19].kind, ScenarioEvent::Kind::kRegisterHook);
  EXPECT_EQ(events[20].parameter, "2.bias");
  EXPECT_EQ(events[21].kind, ScenarioEvent::Kind::kNoGradForward);
  EXPECT_EQ(events[22].step, 3);
  EXPECT_NO_THROW(ddp.scenario.validate());
  EXPECT_EQ(events[15].kind, ScenarioEvent::Kind::kKeywordTensor);
  EXPECT_EQ(events[16].kind, ScenarioEvent::Kind::kSecondTensor);
  EXPECT_EQ(events[17].kind, ScenarioEvent::Kind::kNoArguments);
  EXPECT_NO_THROW(request.scenario.validate());
}

// An option that comes later may take the meaning of one of the file's.
TEST(ScenarioFile, OptionsThatLoseTheirMeaningAreRefused) {
  const auto fault_with = [](std::string_view file, std::string_view option,
                             std::string_view value) {
    RunRequest request = read(file);
    set_option(request, *find_scenario_option(option), value);
    try {
      complete_request(request);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(fault_with("strategy = \"dp\"\nloss-in = \"forward\"", "strategy", "ddp"),
            "loss-in: has no meaning for strategy ddp, only for dp");
  EXPECT_EQ(fault_with("momentum = 0.9", "optimizer", "adam"),
            "momentum: has no meaning for optimizer adam, only for sgd");
  EXPECT_EQ(fault_with("momentum = 0.9", "strategy", "dp"), "no error");
}

TEST(ScenarioFile, SaysWhereTheFaultIs) {
  const struct {
    const char* text;
    const char* expected;
  } kCases[] = {
      {"devices = 4\nbatchsize = 3",
       "s.toml:2:1: unknown key 'batchsize' | did you mean batch-size?"},
      {"devices = \"4\"", "s.toml:1:11: devices: must be a whole number | "},
      {"devices = 4.0", "s.toml:1:11: devices: must be a whole number | "},
      {"devices = 0", "s.toml:1:11: devices 0: must be at least 1 | "},
      {"lr = nan", "s.toml:1:6: lr 'nan': must be a finite number | "},
      {"lr = \"0.1\"", "s.toml:1:6: lr: must be a number | "},
      {"nesterov = 1", "s.toml:1:12: nesterov: must be true or false | "},
      {"model = 3", "s.toml:1:9: model: must be a text in quotes | "},
      {"model = \"\"", "s.toml:1:9: model '': must not be empty | "},
      {"device-ids = []",
       "s.toml:1:14: device-ids: must be a list of whole numbers such as [0, 1] | "},
      {"chunk-sizes = [0, 1]", "s.toml:1:15: chunk-sizes 0: must be at least 1 | "},
      {"chunk-sizes = [1, 1]",
       "s.toml:1:15: chunk-sizes: has no meaning for strategy ddp, only for dp | leave chunk-sizes "
       "out, or choose another strategy"},
      {"events = 3", "s.toml:1:10: events: must be tables, each headed [[events]] | "},
      {"events = [3]", "s.toml:1:11: events: must be tables, each headed [[events]] | "},
      {"[[events]]\nrank = 1", "s.toml:1:1: event: must be of some kind: kind = \"...\" | "},
      {"[[events]]\nkind = \"stop\"\nrnak = 1",
       "s.toml:3:1: unknown key 'rnak' | did you mean rank?"},
      {"[[events]]\nkind = \"stop\"\nrank = -1",
       "s.toml:3:8: rank -1: must be from 0 to 2147483647 | "},
      {"[[events]]\nkind = \"stop\"\nstep = 3000000000",
       "s.toml:3:8: step 3000000000: must be from 0 to 2147483647 | "},
      {"[[events]]\nkind = \"stop\"\nstep = 1.0",
       "s.toml:3:8: step: must be a whole number of 0 or more | "},
      {"[[events]]\nkind = \"stop\"\nrank = 4",
       "s.toml:1:1: event stop: rank 4: must be from 0 to 3 | "},
      {"[[events]]\nkind = \"perturb\"\nparameter = \"w\"",
       "s.toml:1:1: event perturb: amount: must be given | "},
      {"[[events]]\nkind = \"other-collective\"",
       "s.toml:1:1: event other-collective: operation: must be given | "},
      {"[[events]]\nkind = \"stop\"\noperation = \"reduce\"",
       "s.toml:1:1: event stop: operation: must be left out, it has no meaning here | "},
      {"[[events]]\nkind = \"stop\"\namount = true", "s.toml:3:10: amount: must be a number | "},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(fault(text), expected) << text;
  EXPECT_TRUE(fault("lr = ").starts_with("s.toml:1:6: ")) << fault("lr = ");
  EXPECT_TRUE(fault("lr = 1\nlr = 2").starts_with("s.toml:2:")) << fault("lr = 1\nlr = 2");
  EXPECT_TRUE(fault("\xff\xfe").starts_with("s.toml:1:")) << fault("\xff\xfe");
}

TEST(ScenarioFile, NamesTheFileWhereKeysDoNotAgree) {
  EXPECT_EQ(
      fault("strategy = \"dp\"\ndevice-ids = [0, 99]"),
      "s.toml: device-ids 99: there are 4 devices, 0 to 3 | raise --devices, or name a device "
      "that is there");
  EXPECT_EQ(fault("epochs = 1\nsteps = 1"),
            "s.toml: epochs 1 and steps 1: only one may be given | leave one of --epochs and "
            "--steps out");
  EXPECT_EQ(fault("strategy = \"single\"\ndevices = 2"),
            "s.toml: devices 2: strategy single trains on one | leave --devices out, or choose "
            "--strategy dp or ddp");
  EXPECT_EQ(read("strategy = \"single\"").scenario.strategy, "single");
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(ScenarioFile, DeepKeysAreRefusedAndDoNotOverflowTheStack) {
  const std::string expected =
      "s.toml:2: a key of more than 32 parts | scenario files are TOML: docs/scenario.md has an "
      "example";
  const std::string deep = repeated("x.", 100'000) + "x";
  EXPECT_EQ(fault("lr = 1\n" + deep + " = 1"), expected);
  EXPECT_EQ(fault("lr = 1\n[" + deep + "]"), expected);
  EXPECT_EQ(fault("lr = 1\nx = {" + deep + " = 1}"), expected);
  EXPECT_EQ(fault("out = \"\"\"\n\"\"\"\n" + deep + " = 1").substr(0, 9), "s.toml:3:");
  // Each line has few dots, and all of them lie in one another.
  const std::string line = "[\n{" + repeated("x.", 31) + "x=";
  EXPECT_NE(fault("x=" + repeated(line, 100'000)), "no error");
  EXPECT_NE(fault("x=" + repeated(line, 120) + "1" + repeated("}\n]", 120)), "no error");
}

TEST(ScenarioFile, ManyNumbersInALineAreNoDeepKey) {
  const std::string events =
      repeated(R"({kind = "perturb", parameter = "0.bias", amount = 0.5}, )", 40);
  EXPECT_EQ(read("events = [" + events + "]").scenario.events.size(), 40U);
}

TEST(ScenarioFile, DotsInStringsAndCommentsAreNoKeys) {
  const std::string dots(1000, '.');
  EXPECT_EQ(read("# " + dots + "\nout = \"a'#\\\"" + dots + "\" # " + dots).out, "a'#\"" + dots);
  EXPECT_EQ(read("out = '\\" + dots + "'\ntrace = \"\"\"" + dots + "\n" + dots + "\"\"\"").out,
            "\\" + dots);
}

TEST(ScenarioFile, AnEmptyFileIsTheDefaultScenario) {
  EXPECT_TRUE(read("").given.empty());
  EXPECT_TRUE(read("# nothing\n").given.empty());
}

TEST(ScenarioFile, AMissingFileIsBadInput) {
  RunRequest request;
  try {
    read_scenario_file("/nowhere/s.toml", request);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
  }
}

}  // namespace
}  // namespace ringside
