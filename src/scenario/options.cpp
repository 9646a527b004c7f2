// The table of options.h.
#include "scenario/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/nearest_name.h"
#include "ringside/error.h"
#include "scenario/values.h"

namespace ringside {
namespace {

using Text = std::string_view;
constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();

// A rank of an executing backend has a host thread, streams, and a copy of the model of its own.
constexpr std::int64_t kMaxDevices = 1024;
constexpr std::int64_t kMaxMetaDevices = 16384;
constexpr std::int64_t kMaxThreads = 256;
constexpr std::int64_t kMaxPieces = 4096;
constexpr double kMaxNumber = 1e9;  // also of MiB: a size in bytes still fits

[[noreturn]] void throw_value(Text name, Text value, Text problem, std::string hint = {}) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{} {}: {}", name, value, problem),
              std::move(hint));
}

int parse_int(Text name, Text text) {
  return static_cast<int>(parse_integer(name, text, std::numeric_limits<int>::min(), kIntMax));
}

std::string not_empty(Text name, Text text) {
  if (text.empty()) throw_value(name, "''", "must not be empty");
  return std::string(text);
}

template <auto member>
void set_text(RunRequest& request, Text name, Text text) {
  request.scenario.*member = not_empty(name, text);
}

template <auto member>
void set_int(RunRequest& request, Text name, Text text) {
  request.scenario.*member = parse_int(name, text);
}

template <auto member>
void set_number(RunRequest& request, Text name, Text text) {
  request.scenario.*member = parse_number(name, text);
}

template <auto member>
void set_flag(RunRequest& request, Text name, Text text) {
  request.scenario.*member = parse_flag(name, text);
}

template <auto member>
void check_not_negative(const Scenario& scenario, Text name) {
  const double value = scenario.*member;
  if (value >= 0 && value <= kMaxNumber) return;
  throw_value(name, fmt::format("{}", value),
              value < 0 ? "must be 0 or more" : fmt::format("must be at most {}", kMaxNumber));
}

template <auto member>
void check_decay(const Scenario& scenario, Text name) {
  const double value = scenario.*member;
  if (value >= 0 && value < 1) return;
  throw_value(name, fmt::format("{}", value), "must be from 0 to below 1");
}

void check_one_of(Text name, Text value, Text choices) {
  if (is_listed(value, choices)) return;
  std::vector<Text> names;
  for (std::size_t at = 0; at < choices.size(); at += names.back().size() + 1) {
    names.push_back(choices.substr(at, choices.find(' ', at) - at));
  }
  const std::string nearest = nearest_name(value, names);
  throw_value(name, fmt::format("'{}'", value), fmt::format("must be one of {}", choices),
              nearest.empty() ? "" : fmt::format("did you mean {}?", nearest));
}

void check_devices(const Scenario& s, Text name) {
  const bool meta = s.backend == "meta";
  check_range(name, s.devices, 1, meta ? kMaxMetaDevices : kMaxDevices,
              meta ? "more ranks than any prediction has been checked for"
                   : "each has a host thread and a copy of the model of its own");
}

bool is_digits(Text text) {
  return !text.empty() && text.find_first_not_of("0123456789") == Text::npos;
}

void check_node_size(const Scenario& s, Text name) {
  check_range(name, s.node_size, 0, kMaxMetaDevices);
  if (s.node_size == 0 || s.devices % s.node_size == 0) return;
  throw_value(name, fmt::format("{}", s.node_size),
              fmt::format("must divide the {} devices", s.devices));
}

// "0-2" or "5".
void set_trace_steps(RunRequest& r, Text name, Text text) {
  const std::size_t dash = text.find('-');
  const Text first = text.substr(0, dash);
  const Text last = dash == Text::npos ? first : text.substr(dash + 1);
  if (!is_digits(first) || !is_digits(last)) {
    throw_value(name, fmt::format("'{}'", text), "must be a step such as 5, or two such as 0-2");
  }
  r.first_step = static_cast<int>(parse_integer(name, first, 0, kIntMax));
  r.last_step = static_cast<int>(parse_integer(name, last, 0, kIntMax));
  if (r.last_step < r.first_step) {
    throw_value(name, text, "the last step comes before the first",
                fmt::format("write {}-{}", r.last_step, r.first_step));
  }
}

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
     .set = set_text<&Scenario::strategy>,
     .check = [](const Scenario& s, Text name) { check_one_of(name, s.strategy, kStrategies); }},
    {.name = "backend",
     .value = "NAME",
     .help = "sim (simulated devices; default), meta (shapes only), cuda or mpi",
     .heading = kWhat,
     .choices = "sim meta cuda mpi",
     .set = set_text<&Scenario::backend>},
    {.name = "devices",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "number of devices (default 4; single: 1)",
     .heading = kWhat,
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
     .set = set_text<&Scenario::model>},
    {.name = "data",
     .value = "DATA",
     .help = "digits (default), mnist:DIR, random:N:SHAPE:CLASSES, or text:FILE",
     .heading = kWhat,
     .choices = "digits mnist: random: text:",
     .set = set_text<&Scenario::data>},

    {.name = "batch-size",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "rows of a batch (default 64): of all devices together for single and dp, per rank "
             "for ddp",
     .heading = kHow,
     .set = [](RunRequest& r, Text name,
               Text text) { r.scenario.batch_size = parse_integer(name, text); },
     .check = [](const Scenario& s, Text name) { check_range(name, s.batch_size, 1, kIntMax); }},
    {.name = "epochs",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "passes over the training rows (default 1)",
     .heading = kHow,
     .set = set_int<&Scenario::epochs>,
     .check = [](const Scenario& s,
                 Text name) { check_range(name, s.epochs.value_or(1), 1, kIntMax); }},
    {.name = "steps",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "training steps, instead of --epochs",
     .heading = kHow,
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
     .set = set_text<&Scenario::optimizer>,
     .check = [](const Scenario& s, Text name) { check_one_of(name, s.optimizer, kOptimizers); }},
    {.name = "lr",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "learning rate (default 0.1; adam and adamw 0.001)",
     .heading = kHow,
     .set = set_number<&Scenario::lr>,
     .check = check_not_negative<&Scenario::lr>},
    {.name = "momentum",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "of the velocity (default 0)",
     .heading = kHow,
     .optimizers = "sgd",
     .set = set_number<&Scenario::momentum>,
     .check = check_not_negative<&Scenario::momentum>},
    {.name = "weight-decay",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "added to the gradients; with adamw it shrinks the weights (default 0; adamw 0.01)",
     .heading = kHow,
     .set = set_number<&Scenario::weight_decay>,
     .check = check_not_negative<&Scenario::weight_decay>},
    {.name = "nesterov",
     .form = ValueForm::kFlag,
     .help = "Nesterov's momentum",
     .heading = kHow,
     .optimizers = "sgd",
     .set = set_flag<&Scenario::nesterov>},
    {.name = "beta1",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "decay of the mean of the gradients (default 0.9)",
     .heading = kHow,
     .optimizers = "adam adamw",
     .set = set_number<&Scenario::beta1>,
     .check = check_decay<&Scenario::beta1>},
    {.name = "beta2",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "decay of the mean of their squares (default 0.999)",
     .heading = kHow,
     .optimizers = "adam adamw",
     .set = set_number<&Scenario::beta2>,
     .check = check_decay<&Scenario::beta2>},
    {.name = "eps",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "added to the denominator (default 1e-8)",
     .heading = kHow,
     .optimizers = "adam adamw",
     .set = set_number<&Scenario::epsilon>,
     .check = check_not_negative<&Scenario::epsilon>},
    {.name = "clip-grad-norm",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "scale the gradients so that their total norm is at most X (default 0: do not)",
     .heading = kHow,
     .set = set_number<&Scenario::clip_grad_norm>,
     .check = check_not_negative<&Scenario::clip_grad_norm>},
    {.name = "seed",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "of initialisation, shuffling, dropout and random data (default 0)",
     .heading = kHow,
     .set = [](RunRequest& r, Text name,
               Text text) { r.scenario.seed = parse_unsigned(name, text); }},
    {.name = "dtype",
     .value = "TYPE",
     .help = "float32 (default) or float64",
     .heading = kHow,
     .choices = "float32 float64",
     .set = [](RunRequest& r, Text, Text text) { r.scenario.dtype = parse_dtype(text); },
     .check = [](const Scenario& s,
                 Text name) { check_one_of(name, to_string(s.dtype), "float32 float64"); }},

    {.name = "device-ids",
     .form = ValueForm::kIntegers,
     .value = "I,J,...",
     .help = "devices in order, the first is home; all if not given",
     .heading = kPlacement,
     .strategies = "dp",
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
     .set = set_int<&Scenario::output_device>},
    {.name = "chunk-sizes",
     .form = ValueForm::kIntegers,
     .value = "A,B,...",
     .help = "rows for each device instead of equal chunks",
     .heading = kPlacement,
     .strategies = "dp",
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
     .set = set_number<&Scenario::bucket_cap_mb>,
     .check = check_not_negative<&Scenario::bucket_cap_mb>},
    {.name = "first-bucket-mb",
     .form = ValueForm::kNumber,
     .value = "X",
     .help = "the same for the first bucket (default 1)",
     .heading = kPlacement,
     .strategies = "ddp",
     .set = set_number<&Scenario::first_bucket_mb>,
     .check = check_not_negative<&Scenario::first_bucket_mb>},
    {.name = "broadcast-buffers",
     .form = ValueForm::kFlag,
     .help = "buffers follow rank 0's before every forward (on unless =false)",
     .heading = kPlacement,
     .strategies = "ddp",
     .set = set_flag<&Scenario::broadcast_buffers>},
    {.name = "algorithm",
     .value = "NAME",
     .help = "of the collectives: auto (default), ring, star, tree, chain, double-tree, "
             "halving-doubling, hierarchical or direct",
     .heading = kPlacement,
     .strategies = "dp ddp",
     .choices = "auto ring star tree chain double-tree halving-doubling hierarchical direct",
     .set = [](RunRequest& r, Text, Text text) { r.scenario.algorithm = parse_algorithm(text); }},
    {.name = "direction",
     .value = "NAME",
     .help = "of rings: up (rank i sends to i+1; default) or down",
     .heading = kPlacement,
     .strategies = "dp ddp",
     .choices = "up down",
     .set = [](RunRequest& r, Text, Text text) { r.scenario.direction = parse_direction(text); }},
    {.name = "border",
     .value = "NAME",
     .help = "how rings cut a buffer: nccl (default), gloo or even",
     .heading = kPlacement,
     .strategies = "dp ddp",
     .choices = "nccl gloo even",
     .set = [](RunRequest& r, Text, Text text) { r.scenario.border = parse_border(text); }},
    {.name = "pieces",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "that follow each other along a chain or double tree (1)",
     .heading = kPlacement,
     .strategies = "dp ddp",
     .set = set_int<&Scenario::pieces>,
     .check = [](const Scenario& s, Text name) { check_range(name, s.pieces, 1, kMaxPieces); }},
    {.name = "node-size",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "ranks per node of the hierarchical algorithm (a divisor of about the square root)",
     .heading = kPlacement,
     .strategies = "dp ddp",
     .set = set_int<&Scenario::node_size>,
     .check = check_node_size},
    {.name = "memory",
     .form = ValueForm::kBytes,
     .value = "SIZE",
     .help = "memory of each device: 64MB, 1GiB, plain bytes; unlimited if not given",
     .heading = kPlacement,
     .set = [](RunRequest& r, Text name,
               Text text) { r.scenario.memory = parse_bytes(name, text); }},
    {.name = "sim-workers",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "worker threads of the simulated devices (default: one per core)",
     .heading = kPlacement,
     .set = set_int<&Scenario::sim_workers>,
     .check =
         [](const Scenario& s, Text name) {
           check_range(name, s.sim_workers, 0, kMaxThreads, "more threads than cores gain nothing");
         }},
    {.name = "stepwise",
     .form = ValueForm::kFlag,
     .help = "run collectives message by message: same bits, slower",
     .heading = kPlacement,
     .set = set_flag<&Scenario::stepwise>},

    {.name = "loader-workers",
     .form = ValueForm::kInteger,
     .value = "N",
     .help = "host threads that read ahead (default 0: none)",
     .heading = kLoading,
     .set = set_int<&Scenario::loader_workers>,
     .check =
         [](const Scenario& s, Text name) {
           check_range(name, s.loader_workers, 0, kMaxThreads, "each is a thread");
         }},
    {.name = "pin-memory",
     .form = ValueForm::kFlag,
     .help = "copy batches through pinned host memory",
     .heading = kLoading,
     .set = set_flag<&Scenario::pin_memory>},
    {.name = "non-blocking",
     .form = ValueForm::kFlag,
     .help = "the copy to the device does not block the host (with --pin-memory)",
     .heading = kLoading,
     .set = set_flag<&Scenario::non_blocking>},
    {.name = "shuffle",
     .form = ValueForm::kFlag,
     .help = "shuffle the rows every epoch (on unless =false)",
     .heading = kLoading,
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
