// The table of options.h.
#include "scenario/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "ringside/error.h"
#include "scenario/option_rules.h"

namespace ringside {
namespace {

using namespace option_rules;

constexpr std::int64_t kMaxThreads = 256;
constexpr std::int64_t kMaxPieces = 4096;

constexpr Text kWhat = "What to run";
constexpr Text kHow = "Training";
constexpr Text kPlacement = "Devices and communication";
constexpr Text kLoading = "Loading data";
constexpr Text kResults = "Results";
constexpr Text kStrategies = "single dp ddp";
constexpr Text kOptimizers = "sgd adam adamw";

constexpr auto kOptions = std::to_array<ScenarioOption>({
    {.name = "strategy",
     .value = "NAME",
     .help = "single, dp (DataParallel) or ddp (DistributedDataParallel; default)",
     .heading = kWhat,
     .choices = kStrategies,
     .get = value_of<&Scenario::strategy>,
     .set = set_text<&Scenario::strategy>,
     .check = [](const Scenario& s, Text name) { check_one_of(name, s.strategy, kStrategies); }},
    {.name = "backend",
     .value = "NAME",
     .help = "sim (simulated devices; default), meta (shapes only), cuda or mpi",
     .heading = kWhat,
     .choices = "sim meta cuda mpi",
     .get = value_of<&Scenario::backend>,
     .set = set_text<&Scenario::backend>},
    {.name = "devices",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "number of devices (default 4; single: 1)",
     .heading = kWhat,
     .get = value_of<&Scenario::devices>,
     .set = set_int<&Scenario::devices>,
     .check = check_devices},
    {.name = "model",
     .value = "MODEL",
     .help =
         "mlp:INPUTS,HIDDEN,...,CLASSES (default mlp:64,32,10), cnn:CHANNELS,...,HIDDEN, lenet, "
         "resnet:CHANNELS,... or "
         "gpt:layers=2,heads=2,width=64,context=64",
     .heading = kWhat,
     .choices = "mlp:64,32,10 cnn:32,64,128 lenet resnet:8,16 gpt "
                "gpt:layers=2,heads=2,width=64,context=64",
     .get = value_of<&Scenario::model>,
     .set = set_text<&Scenario::model>},
    {.name = "data",
     .value = "DATA",
     .help = "digits (default), mnist:DIR, random:N:SHAPE:CLASSES, or text:FILE",
     .heading = kWhat,
     .choices = "digits mnist: random: text:",
     .get = value_of<&Scenario::data>,
     .set = set_text<&Scenario::data>},

    {.name = "batch-size",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "rows of a batch (default 64): of all devices together for single and dp, per rank "
             "for ddp",
     .heading = kHow,
     .get = value_of<&Scenario::batch_size>,
     .set = [](RunRequest& r, Text name,
               Text text) { r.scenario.batch_size = parse_integer(name, text); },
     .check = [](const Scenario& s, Text name) { check_range(name, s.batch_size, 1, kIntMax); }},
    {.name = "epochs",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "passes over the training rows (default 1)",
     .heading = kHow,
     .get = value_of<&Scenario::epochs>,
     .set = set_int<&Scenario::epochs>,
     .check = [](const Scenario& s,
                 Text name) { check_range(name, s.epochs.value_or(1), 1, kIntMax); }},
    {.name = "steps",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "training steps, instead of --epochs",
     .heading = kHow,
     .get = value_of<&Scenario::steps>,
     .set = set_int<&Scenario::steps>,
     .check =
         [](const Scenario& s, Text name) {
           check_range(name, s.steps.value_or(1), 1, kMaxSteps, "the loss of every step is kept");
         }},
    {.name = "optimizer",
     .value = "NAME",
     .help = "sgd (default), adam or adamw",
     .heading = kHow,
     .choices = kOptimizers,
     .get = value_of<&Scenario::optimizer>,
     .set = set_text<&Scenario::optimizer>,
     .check = [](const Scenario& s, Text name) { check_one_of(name, s.optimizer, kOptimizers); }},
    {.name = "lr",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "learning rate (default 0.1; adam and adamw 0.001)",
     .heading = kHow,
     .get = value_of<&Scenario::lr>,
     .set = set_number<&Scenario::lr>,
     .check = check_not_negative<&Scenario::lr>},
    {.name = "momentum",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "of the velocity (default 0)",
     .heading = kHow,
     .optimizers = "sgd",
     .get = value_of<&Scenario::momentum>,
     .set = set_number<&Scenario::momentum>,
     .check = check_not_negative<&Scenario::momentum>},
    {.name = "weight-decay",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "added to the gradients; with adamw it shrinks the weights (default 0; adamw 0.01)",
     .heading = kHow,
     .get = value_of<&Scenario::weight_decay>,
     .set = set_number<&Scenario::weight_decay>,
     .check = check_not_negative<&Scenario::weight_decay>},
    {.name = "nesterov",
     .form = ValueForm::kFlag,
     .help = "Nesterov's momentum",
     .heading = kHow,
     .optimizers = "sgd",
     .get = value_of<&Scenario::nesterov>,
     .set = set_flag<&Scenario::nesterov>},
    {.name = "beta1",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "decay of the mean of the gradients (default 0.9)",
     .heading = kHow,
     .optimizers = "adam adamw",
     .get = value_of<&Scenario::beta1>,
     .set = set_number<&Scenario::beta1>,
     .check = check_decay<&Scenario::beta1>},
    {.name = "beta2",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "decay of the mean of their squares (default 0.999)",
     .heading = kHow,
     .optimizers = "adam adamw",
     .get = value_of<&Scenario::beta2>,
     .set = set_number<&Scenario::beta2>,
     .check = check_decay<&Scenario::beta2>},
    {.name = "eps",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "added to the denominator (default 1e-8)",
     .heading = kHow,
     .optimizers = "adam adamw",
     .get = value_of<&Scenario::epsilon>,
     .set = set_number<&Scenario::epsilon>,
     .check = check_not_negative<&Scenario::epsilon>},
    {.name = "clip-grad-norm",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "scale the gradients so that their total norm is at most X (default 0: do not)",
     .heading = kHow,
     .get = value_of<&Scenario::clip_grad_norm>,
     .set = set_number<&Scenario::clip_grad_norm>,
     .check = check_not_negative<&Scenario::clip_grad_norm>},
    {.name = "seed",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "of initialisation, shuffling, dropout and random data (default 0)",
     .heading = kHow,
     .get = value_of<&Scenario::seed>,
     .set = [](RunRequest& r, Text name,
               Text text) { r.scenario.seed = parse_unsigned(name, text); }},
    {.name = "dtype",
     .value = "TYPE",
     .help = "float32 (default) or float64",
     .heading = kHow,
     .choices = "float32 float64",
     .get = value_of<&Scenario::dtype>,
     .set = [](RunRequest& r, Text, Text text) { r.scenario.dtype = parse_dtype(text); },
     .check = [](const Scenario& s,
                 Text name) { check_one_of(name, to_string(s.dtype), "float32 float64"); }},

    {.name = "device-ids",
     .form = ValueForm::kIntegers,
     .value = "I,J,...",
     .help = "devices in order, the first is home; all if not given",
     .heading = kPlacement,
     .strategies = "dp",
     .get = value_of<&Scenario::device_ids>,
     .set =
         [](RunRequest& r, Text name, Text text) {
           r.scenario.device_ids.clear();
           for (const std::int64_t id : parse_integers(name, text)) {
             check_range(name, id, 0, kIntMax);
             r.scenario.device_ids.push_back(static_cast<int>(id));
           }
         }},
    {.name = "output-device",
     .form = ValueForm::kInteger,
     .value = "I",
     .help = "where outputs are gathered and the loss is computed; home if not given",
     .heading = kPlacement,
     .strategies = "dp",
     .get = value_of<&Scenario::output_device>,
     .set = set_int<&Scenario::output_device>},
    {.name = "chunk-sizes",
     .form = ValueForm::kIntegers,
     .value = "A,B,...",
     .help = "rows for each device instead of equal chunks",
     .heading = kPlacement,
     .strategies = "dp",
     .get = value_of<&Scenario::chunk_sizes>,
     .set = [](RunRequest& r, Text name,
               Text text) { r.scenario.chunk_sizes = parse_integers(name, text); },
     .check =
         [](const Scenario& s, Text name) {
           for (const std::int64_t rows : s.chunk_sizes) check_range(name, rows, 1, kIntMax);
         }},
    {.name = "bucket-cap-mb",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "MiB at which a bucket of gradients is closed (default 25)",
     .heading = kPlacement,
     .strategies = "ddp",
     .get = value_of<&Scenario::bucket_cap_mb>,
     .set = set_number<&Scenario::bucket_cap_mb>,
     .check = check_not_negative<&Scenario::bucket_cap_mb>},
    {.name = "first-bucket-mb",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "the same for the first bucket (default 1)",
     .heading = kPlacement,
     .strategies = "ddp",
     .get = value_of<&Scenario::first_bucket_mb>,
     .set = set_number<&Scenario::first_bucket_mb>,
     .check = check_not_negative<&Scenario::first_bucket_mb>},
    {.name = "broadcast-buffers",
     .form = ValueForm::kFlag,
     .help = "buffers follow rank 0's before every forward (on unless =false)",
     .heading = kPlacement,
     .strategies = "ddp",
     .get = value_of<&Scenario::broadcast_buffers>,
     .set = set_flag<&Scenario::broadcast_buffers>},
    {.name = "algorithm",
     .value = "NAME",
     .help = "of the collectives: auto (default), ring, star, tree, chain, double-tree, "
             "halving-doubling, hierarchical or direct",
     .heading = kPlacement,
     .strategies = "dp ddp",
     .choices = "auto ring star tree chain double-tree halving-doubling hierarchical direct",
     .get = value_of<&Scenario::algorithm>,
     .set = [](RunRequest& r, Text, Text text) { r.scenario.algorithm = parse_algorithm(text); }},
    {.name = "direction",
     .value = "NAME",
     .help = "of rings: up (rank i sends to i+1; default) or down",
     .heading = kPlacement,
     .strategies = "dp ddp",
     .choices = "up down",
     .get = value_of<&Scenario::direction>,
     .set = [](RunRequest& r, Text, Text text) { r.scenario.direction = parse_direction(text); }},
    {.name = "border",
     .value = "NAME",
     .help = "how rings cut a buffer: nccl (default), gloo or even",
     .heading = kPlacement,
     .strategies = "dp ddp",
     .choices = "nccl gloo even",
     .get = value_of<&Scenario::border>,
     .set = [](RunRequest& r, Text, Text text) { r.scenario.border = parse_border(text); }},
    {.name = "pieces",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "that follow each other along a chain or double tree (1)",
     .heading = kPlacement,
     .strategies = "dp ddp",
     .get = value_of<&Scenario::pieces>,
     .set = set_int<&Scenario::pieces>,
     .check = [](const Scenario& s, Text name) { check_range(name, s.pieces, 1, kMaxPieces); }},
    {.name = "node-size",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "ranks per node of the hierarchical algorithm (a divisor of about the square root)",
     .heading = kPlacement,
     .strategies = "dp ddp",
     .get = value_of<&Scenario::node_size>,
     .set = set_int<&Scenario::node_size>,
     .check = check_node_size},
    {.name = "memory",
     .form = ValueForm::kBytes,
     .value = "SIZE",
     .help = "memory of each device: 64MB, 1GiB, plain bytes; unlimited if not given",
     .heading = kPlacement,
     .get = value_of<&Scenario::memory>,
     .set = [](RunRequest& r, Text name,
               Text text) { r.scenario.memory = parse_bytes(name, text); }},
    {.name = "sim-workers",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "worker threads of the simulated devices (default: one per core)",
     .heading = kPlacement,
     .get = value_of<&Scenario::sim_workers>,
     .set = set_int<&Scenario::sim_workers>,
     .check =
         [](const Scenario& s, Text name) {
           check_range(name, s.sim_workers, 0, kMaxThreads, "more threads than cores gain nothing");
         }},
    {.name = "stepwise",
     .form = ValueForm::kFlag,
     .help = "run collectives message by message: same bits, slower",
     .heading = kPlacement,
     .get = value_of<&Scenario::stepwise>,
     .set = set_flag<&Scenario::stepwise>},

    {.name = "loader-workers",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "host threads that read ahead (default 0: none)",
     .heading = kLoading,
     .get = value_of<&Scenario::loader_workers>,
     .set = set_int<&Scenario::loader_workers>,
     .check =
         [](const Scenario& s, Text name) {
           check_range(name, s.loader_workers, 0, kMaxThreads, "each is a thread");
         }},
    {.name = "pin-memory",
     .form = ValueForm::kFlag,
     .help = "copy batches through pinned host memory",
     .heading = kLoading,
     .get = value_of<&Scenario::pin_memory>,
     .set = set_flag<&Scenario::pin_memory>},
    {.name = "non-blocking",
     .form = ValueForm::kFlag,
     .help = "the copy to the device does not block the host (with --pin-memory)",
     .heading = kLoading,
     .get = value_of<&Scenario::non_blocking>,
     .set = set_flag<&Scenario::non_blocking>},
    {.name = "shuffle",
     .form = ValueForm::kFlag,
     .help = "shuffle the rows every epoch (on unless =false)",
     .heading = kLoading,
     .get = value_of<&Scenario::shuffle>,
     .set = set_flag<&Scenario::shuffle>},

    {.name = "trace",
     .value = "FILE",
     .help = "write the trace of the recorded steps",
     .heading = kResults,
     .choices = "FILE",
     .set = [](RunRequest& r, Text name, Text text) { r.trace = not_empty(name, text); }},
    {.name = "trace-steps",
     .value = "A-B",
     .help = "steps to record, counted from 0 (default 0-2)",
     .heading = kResults,
     .set = set_trace_steps},
    {.name = "out",
     .value = "DIR",
     .help = "write pictures of the last recorded step, trace.json and report.json",
     .heading = kResults,
     .choices = "DIR",
     .set = [](RunRequest& r, Text name, Text text) { r.out = not_empty(name, text); }},
});

}  // namespace

std::span<const ScenarioOption> scenario_options() { return kOptions; }

const ScenarioOption* find_scenario_option(std::string_view name) {
  const auto found =
      std::find_if(kOptions.begin(), kOptions.end(),
                   [&](const ScenarioOption& option) { return option.name == name; });
  return found == kOptions.end() ? nullptr : &*found;
}

void set_option(RunRequest& request, const ScenarioOption& option, std::string_view text) {
  option.set(request, option.name, text);
  request.given.push_back(option.name);
}

void check_option(const Scenario& scenario, const ScenarioOption& option) {
  if (option.check != nullptr) option.check(scenario, option.name);
  const auto check_meaning = [&](Text choices, Text kind, Text chosen) {
    if (choices.empty() || is_listed(chosen, choices)) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: has no meaning for {} {}, only for {}", option.name, kind, chosen,
                            choices),
                fmt::format("leave {} out, or choose another {}", option.name, kind));
  };
  check_meaning(option.strategies, "strategy", scenario.strategy);
  check_meaning(option.optimizers, "optimizer", scenario.optimizer);
}

}  // namespace ringside
