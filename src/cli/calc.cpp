// ringside calc: what can be worked out without running anything.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli/calc_report.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "core/nearest_name.h"
#include "ringside/error.h"
#include "scenario/values.h"

namespace ringside::cli {
namespace {

std::vector<Calculator> calculators() {
  std::vector<Calculator> all = data_calculators();
  for (const auto& more : {cost_calculators(), place_calculators()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

Calculator find_calculator(const Arguments& arguments) {
  const std::vector<Calculator> all = calculators();
  std::vector<std::string_view> names;
  for (const Calculator& calculator : all) names.push_back(calculator.name);
  if (arguments.operands.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("calc: no calculator is given: one of {}", fmt::join(names, ", ")),
                "such as: ringside calc split --batch 10 --devices 4");
  }
  const std::string& name = arguments.operands.front();
  for (const Calculator& calculator : all) {
    if (calculator.name == name) return calculator;
  }
  const std::string nearest = nearest_name(name, names);
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("calculator '{}': must be one of {}", name, fmt::join(names, ", ")),
              nearest.empty() ? "" : fmt::format("did you mean {}?", nearest));
}

// An option of another calculator would be silently without effect.
void check_options(const Arguments& arguments, const Calculator& calculator) {
  for (const auto& [name, value] : arguments.options) {
    if (is_listed(name, "json quiet color help") || is_listed(name, calculator.options)) continue;
    std::string options;
    std::istringstream words{std::string(calculator.options)};
    for (std::string word; words >> word;) options += fmt::format(" --{}", word);
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--{}: calc {} has none", name, calculator.name),
                fmt::format("it takes{}", options));
  }
}

std::vector<Option> options() {
  return {
      {"batch", "B", "split: rows of the batch", "split"},
      {"devices", "N", "split: devices that it is cut for", "split"},
      {"length", "N", "sampler: samples in the data set", "sampler"},
      {"world", "N", "sampler: ranks", "sampler"},
      {"shuffle", "", "sampler: in a random order", "sampler"},
      {"seed", "S", "sampler: of the order (0)", "sampler"},
      {"epoch", "E", "sampler: what set_epoch was told (0)", "sampler"},
      {"drop-last", "", "sampler: drop what does not fill all ranks, instead of repeating",
       "sampler"},
      {"per-gpu", "B", "batch: rows on each GPU in a forward", "batch"},
      {"accumulate", "K", "batch: micro batches in an update (1)", "batch"},
      {"model", "NAME|FILE",
       "buckets, memory, traffic: a built-in model, one that run --model takes (but gpt), a "
       ".safetensors file, or a .json list of [name, shape] or [name, shape, dtype]",
       "buckets, memory, traffic",
       "resnet18 resnet50 vgg16 bert-base gpt2-small gpt2-xl mlp:64,32,10 cnn:32,64,128 lenet"},
      {"bucket-cap-mb", "MIB", "buckets: a bucket closes at this (25)", "buckets, memory, traffic"},
      {"first-bucket-mb", "MIB", "buckets: and the first one at this (1)",
       "buckets, memory, traffic"},
      {"find-unused-parameters", "", "buckets: as with find_unused_parameters=True",
       "buckets, memory, traffic"},
      {"params", "N", "memory, traffic: parameters, such as 1.5e9", "buckets, memory, traffic"},
      {"gpus", "N", "batch, memory, traffic: GPUs", "buckets, memory, traffic"},
      {"optimizer", "NAME", "memory: sgd, momentum, adam (default) or adamw",
       "buckets, memory, traffic", "sgd momentum adam adamw"},
      {"precision", "NAME", "memory: mixed (default) or float32", "buckets, memory, traffic",
       "mixed float32"},
      {"servers", "M", "traffic: parameter servers, which share the parameters equally (1)",
       "buckets, memory, traffic"},
      {"bytes-per-param", "B", "traffic: bytes of a parameter and its gradient (the model's, or 4)",
       "buckets, memory, traffic"},
      {"input-bytes", "B", "traffic: of the whole batch's inputs, for DP (0)",
       "buckets, memory, traffic"},
      {"output-bytes", "B", "traffic: and of its outputs (0)", "buckets, memory, traffic"},
      {"nodes", "N", "ranks: machines (1)", "ranks"},
      {"gpus-per-node", "N", "ranks: processes on each", "ranks"},
      {"as", "LAUNCHER",
       "ranks: torchrun (default), launch-1 or launch-2 (torch.distributed.launch of that version)",
       "ranks", "torchrun launch-1 launch-2"},
      {"master", "ADDRESS", "ranks: of node 0 (127.0.0.1)", "ranks"},
      {"physical", "N", "devices: in the machine", "devices"},
      {"visible", "LIST", "devices: value of CUDA_VISIBLE_DEVICES", "devices"},
      {"order", "NAME", "devices: pci (default; CUDA_DEVICE_ORDER=PCI_BUS_ID) or fastest",
       "devices", "pci fastest"},
      {"speeds", "A,B,...", "devices: how fast each is, in nvidia-smi's order (all alike)",
       "devices"},
      {"keys", "FILE", "prefix: a .safetensors file, JSON, or one key a line", "prefix", "FILE"},
  };
}

int run(const Arguments& arguments, Terminal& terminal) {
  const Calculator calculator = find_calculator(arguments);
  check_options(arguments, calculator);
  const CalcReport report = calculator.report(arguments);
  if (terminal.json()) {
    terminal.emit(report_document(calculator.name, report));
  } else {
    terminal.say(report_text(report));
  }
  return 0;
}

}  // namespace

Command calc_command() {
  return {
      .name = "calc",
      .summary = "work out splits, buckets, ranks, memory and traffic without a run",
      .operands = "CALCULATOR",
      .operand_choices = "split sampler batch buckets memory traffic ranks devices prefix",
      .description =
          "Works out what PyTorch would do, and shows a small table: split (a batch on devices), "
          "sampler (who gets which samples), batch (the size of an update), buckets (DDP's), "
          "memory "
          "and traffic (of DP, a parameter server, DDP and ZeRO), ranks (processes, their "
          "environment and arguments), devices (CUDA_VISIBLE_DEVICES), prefix ('module.' in keys).",
      .examples =
          "ringside calc split --batch 10 --devices 4\n"
          "ringside calc sampler --length 10 --world 4 --shuffle --seed 0 --epoch 1 --drop-last\n"
          "ringside calc batch --per-gpu 16 --gpus 4 --accumulate 2\n"
          "ringside calc buckets --model resnet50 --bucket-cap-mb 25 --first-bucket-mb 1\n"
          "ringside calc memory --params 1.5e9 --optimizer adam --precision mixed --gpus 8\n"
          "ringside calc traffic --params 1.5e9 --gpus 8\n"
          "ringside calc ranks --nodes 2 --gpus-per-node 4 --as torchrun\n"
          "ringside calc devices --physical 4 --visible \"2, 3\" --order pci\n"
          "ringside calc prefix --keys model.safetensors",
      .options = options,
      .run = run,
  };
}

}  // namespace ringside::cli
