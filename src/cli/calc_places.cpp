// ringside calc: processes, devices and the keys of a state.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calculators/device_mapping.h"
#include "calculators/launch.h"
#include "cli/calc_inputs.h"
#include "cli/calc_report.h"
#include "core/clean_text.h"
#include "core/counted.h"
#include "core/split.h"
#include "core/state_keys.h"
#include "ringside/error.h"
#include "scenario/values.h"

namespace ringside::cli {
namespace {

/// Of an address: letters, digits and what stands between them, IPv6's too.
std::string master_of(const Arguments& arguments) {
  std::string master = arguments.value("master", "127.0.0.1");
  const auto is_fit = [](char letter) {
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    return is_letter || (letter >= '0' && letter <= '9') ||
           std::string_view(".-_:%[]").find(letter) != std::string_view::npos;
  };
  if (!master.empty() && std::all_of(master.begin(), master.end(), is_fit)) return master;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("--master '{}': {}", shown_name(master),
                  master.empty() ? "must name a machine" : "is no host name and no address"),
      "such as node0.cluster or 10.0.0.1");
}

/// The entries of an environment whose names are among those that differ, or the others.
CalcMap variables_of(const LaunchedProcess& process, bool that_differ) {
  const auto names = variables_of_each_process();
  CalcMap variables;
  for (const auto& entry : process.environment) {
    const bool differs = std::find(names.begin(), names.end(), entry.first) != names.end();
    if (differs == that_differ) variables.push_back(entry);
  }
  return variables;
}

CalcReport ranks(const Arguments& arguments) {
  constexpr std::int64_t kMostNodes = 1024;
  constexpr std::int64_t kMostPerNode = 64;
  const auto nodes = static_cast<int>(calc_integer(arguments, "nodes", 1, kMostNodes, "1"));
  const auto per_node = static_cast<int>(calc_integer(arguments, "gpus-per-node", 1, kMostPerNode));
  const Launcher launcher = parse_launcher(arguments.value("as", "torchrun"));
  const std::string master = master_of(arguments);
  CalcReport report;
  report.title = fmt::format(
      "{} started by {} on {}",
      counted(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(per_node), "rank"),
      arguments.value("as", "torchrun"), counted(static_cast<std::size_t>(nodes), "node"));
  report.columns = {
      {"node", "node"},     {"rank", "rank"},     {"local_rank", "local rank"},
      {"device", "device"}, {"argv", "sys.argv"}, {"own_environment", "its own environment"},
      {"environment", ""}};
  const std::vector<LaunchedProcess> processes =
      launched_processes(nodes, per_node, launcher, master);
  for (const LaunchedProcess& process : processes) {
    std::vector<std::string> argv{"train.py"};
    argv.insert(argv.end(), process.arguments.begin(), process.arguments.end());
    report.rows.push_back({std::int64_t{process.node}, std::int64_t{process.rank},
                           std::int64_t{process.local_rank},
                           fmt::format("cuda:{}", process.local_rank), std::move(argv),
                           variables_of(process, true), process.environment});
  }
  report.results = {
      {"world_size", std::int64_t{nodes} * per_node, "WORLD_SIZE"},
      {"common_environment", variables_of(processes.front(), false), "environment of all"}};
  report.notes.emplace_back(
      "rank = node x GPUs per node + local rank; set_device takes the local rank.");
  report.notes.emplace_back(
      launcher == Launcher::kTorchrun
          ? "train.py stands for the script; its own arguments follow, torchrun adds none."
          : "train.py stands for the script; its own arguments follow what the launcher adds.");
  if (nodes > 1 && !arguments.has("master")) {
    report.notes.emplace_back(
        "Several nodes need an address of node 0 that the others reach: --master.");
  }
  return report;
}

std::vector<double> speeds_of(const Arguments& arguments, int physical) {
  const std::string order = arguments.value("order", "pci");
  if (order != "pci" && order != "fastest") {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--order '{}': must be pci or fastest", order));
  }
  if (order == "pci") {
    if (!arguments.has("speeds")) return {};
    throw Error(ErrorKind::kInvalidArgument, "--speeds: has no meaning with --order pci",
                "add --order fastest");
  }
  if (!arguments.has("speeds")) return std::vector<double>(static_cast<std::size_t>(physical), 1);
  const std::vector<std::int64_t> speeds = parse_integers("--speeds", arguments.value("speeds"));
  return {speeds.begin(), speeds.end()};
}

CalcReport devices(const Arguments& arguments) {
  constexpr std::int64_t kMost = 1024;
  const auto physical = static_cast<int>(calc_integer(arguments, "physical", 1, kMost));
  const std::string visible = calc_required(arguments, "visible");
  const bool fastest = arguments.value("order", "pci") == "fastest";
  const DeviceMapping mapping = map_devices(physical, visible, speeds_of(arguments, physical));
  CalcReport report;
  report.title = fmt::format("CUDA_VISIBLE_DEVICES='{}' of {}, counted {}", visible,
                             counted(static_cast<std::size_t>(physical), "physical device"),
                             fastest ? "from the fastest on" : "by PCI bus, as nvidia-smi does");
  report.columns = {{"logical", "logical"}, {"physical", "physical (nvidia-smi)"}};
  for (std::size_t i = 0; i < mapping.physical.size(); ++i) {
    report.rows.push_back({fmt::format("cuda:{}", i), std::int64_t{mapping.physical[i]}});
  }
  report.results = {
      {"visible_count", static_cast<std::int64_t>(mapping.physical.size()), "devices visible"},
      {"hidden", std::vector<std::int64_t>(mapping.hidden.begin(), mapping.hidden.end()),
       "physical devices hidden"},
      {"warnings", mapping.warnings, "warnings"}};
  report.notes.emplace_back("device_ids and cuda:N are logical numbers.");
  report.notes.emplace_back(
      "Set both variables before CUDA starts in the process: in the shell, or before import "
      "torch.");
  if (fastest) {
    report.notes.emplace_back(
        "CUDA's own order is fastest first; CUDA_DEVICE_ORDER=PCI_BUS_ID counts as nvidia-smi.");
  }
  return report;
}

constexpr std::string_view kPrefix = "module.";

/// k.replace('module.', ''): wherever it stands.
std::string replaced_everywhere(std::string_view key) { return replace_all(key, kPrefix, ""); }

/// The keys without the prefix. Throws where that leaves nothing of one, or makes one of two.
std::vector<NamedShape> stripped_keys(const std::string& file,
                                      const std::vector<std::string>& keys) {
  std::vector<NamedShape> entries;
  for (const std::string& key : keys) entries.push_back({key, {}});
  // A rule that fits no key is an error elsewhere; here it is an answer.
  if (std::none_of(keys.begin(), keys.end(),
                   [](const std::string& key) { return key.starts_with(kPrefix); })) {
    return entries;
  }
  try {
    return renamed(entries, std::vector<PrefixRule>{{std::string(kPrefix), ""}});
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", file, error.what()),
                fmt::format("no state_dict has these keys once '{}' is stripped", kPrefix));
  }
}

CalcReport prefix(const Arguments& arguments) {
  const std::string file = calc_required(arguments, "keys");
  StateKeys state = read_keys(file);
  const std::vector<std::string>& keys = state.keys;
  const std::vector<NamedShape> all_stripped = stripped_keys(file, keys);
  CalcReport report;
  report.title = fmt::format("{} of {} without '{}'", counted(keys.size(), "key"), file, kPrefix);
  report.columns = {{"key", "key"},
                    {"stripped", "prefix stripped"},
                    {"replaced", "k.replace('module.', '')"},
                    {"broken", "broken by replace"}};
  std::int64_t with_prefix = 0;
  std::int64_t broken = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string& key = keys[i];
    const std::string& stripped = all_stripped[i].name;
    const std::string replaced = replaced_everywhere(key);
    if (key.starts_with(kPrefix)) ++with_prefix;
    if (replaced != stripped) ++broken;
    report.rows.push_back({key, stripped, replaced, replaced != stripped});
  }
  report.results = {{"keys", static_cast<std::int64_t>(keys.size()), "keys"},
                    {"with_prefix", with_prefix, "keys that begin with 'module.'"},
                    {"broken_by_replace", broken, "keys that a blind replace breaks"}};
  report.notes = std::move(state.left_out);
  report.notes.emplace_back(
      "Strip the beginning alone: k[7:] if k.startswith('module.') else k. A replace also hits "
      "'module.' further on, and names that end in it.");
  return report;
}

}  // namespace

std::vector<Calculator> place_calculators() {
  return {{"ranks", "nodes gpus-per-node as master", ranks},
          {"devices", "physical visible order speeds", devices},
          {"prefix", "keys", prefix}};
}

}  // namespace ringside::cli
