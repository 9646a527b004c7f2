// Scenario::validate: every option by itself, then what several of them must agree on.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "core/split.h"
#include "ringside/error.h"
#include "scenario/events.h"
#include "scenario/options.h"
#include "scenario/prefix_options.h"
#include "scenario/save_path.h"
#include "scenario/values.h"

namespace ringside {
namespace {

[[noreturn]] void throw_invalid(const std::string& message, std::string hint = {}) {
  throw Error(ErrorKind::kInvalidArgument, message, std::move(hint));
}

void check_device(std::string_view name, int device, int devices) {
  if (device >= 0 && device < devices) return;
  throw_invalid(devices == 1 ? fmt::format("{} {}: there is 1 device, 0", name, device)
                             : fmt::format("{} {}: there are {} devices, 0 to {}", name, device,
                                           devices, devices - 1),
                "raise --devices, or name a device that is there");
}

void check_device_ids(const Scenario& scenario) {
  for (std::size_t i = 0; i < scenario.device_ids.size(); ++i) {
    const int id = scenario.device_ids[i];
    check_device("device-ids", id, scenario.devices);
    if (std::count(scenario.device_ids.begin(), scenario.device_ids.end(), id) > 1) {
      throw_invalid(fmt::format("device-ids {}: device {} is named more than once",
                                fmt::join(scenario.device_ids, ","), id));
    }
  }
  if (scenario.output_device) {
    check_device("output-device", *scenario.output_device, scenario.devices);
  }
  if (scenario.module_device) {
    check_device("module-device", *scenario.module_device, scenario.devices);
  }
}

void check_chunk_sizes(const Scenario& scenario) {
  if (scenario.chunk_sizes.empty()) return;
  const std::size_t replicas = scenario.device_ids.empty()
                                   ? static_cast<std::size_t>(scenario.devices)
                                   : scenario.device_ids.size();
  const std::string sizes = fmt::format("{}", fmt::join(scenario.chunk_sizes, ","));
  if (scenario.chunk_sizes.size() > replicas) {
    throw_invalid(
        fmt::format("chunk-sizes {}: {} for {}", sizes,
                    counted(scenario.chunk_sizes.size(), "chunk"), counted(replicas, "device")),
        "give at most one chunk for each device");
  }
  const std::int64_t rows =
      std::accumulate(scenario.chunk_sizes.begin(), scenario.chunk_sizes.end(), std::int64_t{0});
  if (rows != scenario.batch_size) {
    throw_invalid(fmt::format("chunk-sizes {}: {} in all, but batch-size is {}", sizes,
                              counted(static_cast<std::size_t>(rows), "row"), scenario.batch_size),
                  fmt::format("make them add up, or give --batch-size {}", rows));
  }
}

void check_accumulation(const Scenario& scenario) {
  if (scenario.accumulate > 1) return;
  for (const auto& [name, value] :
       {std::pair("no-sync", scenario.no_sync), std::pair("divide-loss", scenario.divide_loss)}) {
    if (value) continue;
    throw_invalid(fmt::format("{} false: with accumulate 1 a step has one batch", name),
                  "add --accumulate N");
  }
}

void check_frozen(const Scenario& scenario) {
  std::vector<std::string_view> names;
  for (const std::string_view name : split(scenario.frozen, ',')) {
    if (name.empty()) {
      throw_invalid(fmt::format("frozen '{}': a name is empty", scenario.frozen),
                    "write names separated by commas: 0.weight,0.bias");
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw_invalid(
          fmt::format("frozen {}: parameter {} is named more than once", scenario.frozen, name));
    }
    names.push_back(name);
  }
}

/// What an algorithm has not would be without effect.
void check_algorithm(const Scenario& s) {
  const auto check = [&](std::string_view name, std::string_view value, bool given,
                         std::string_view algorithms) {
    const std::string_view algorithm = to_string(s.algorithm);
    if (!given || is_listed(algorithm, algorithms)) return;
    throw_invalid(fmt::format("{} {}: has no meaning for algorithm {}, only for {}", name, value,
                              algorithm, algorithms),
                  fmt::format("leave {} out, or choose another --algorithm", name));
  };
  check("direction", to_string(s.direction), s.direction != Direction::kUp, "auto ring chain");
  check("border", to_string(s.border), s.border != Border::kNccl, "auto ring");
  check("pieces", fmt::format("{}", s.pieces), s.pieces != 1, "auto ring chain double-tree");
  check("node-size", fmt::format("{}", s.node_size), s.node_size != 0, "hierarchical");
}

void check_checkpoints(const Scenario& scenario) {
  const bool loads = !scenario.load.empty() || !scenario.resume.empty();
  if (!scenario.load.empty() && !scenario.resume.empty()) {
    throw_invalid("load and resume: only one may be given",
                  "resume goes on with a training, load begins a new one");
  }
  if (scenario.save.empty() && (scenario.save_every > 0 || scenario.save_wrapped)) {
    throw_invalid(fmt::format("{}: nothing is saved without a place for it",
                              scenario.save_every > 0 ? "save-every" : "save-wrapped"),
                  "add --save FILE");
  }
  if (save_path(scenario.save, "").find_first_of("{}") != std::string::npos) {
    throw_invalid(fmt::format("save '{}': only {} stands for something", scenario.save, kStepMark),
                  "name the file without other braces");
  }
  if (!prefix_rules(scenario).empty() && !loads) {
    throw_invalid(
        "strip-prefix, add-prefix, rename-prefix: nothing is loaded, so that no key is "
        "renamed",
        "add --load FILE or --resume FILE");
  }
  if (scenario.backend == "meta" && (loads || !scenario.save.empty())) {
    throw_invalid(fmt::format("{}: backend meta has no values", !scenario.save.empty()  ? "save"
                                                                : scenario.load.empty() ? "resume"
                                                                                        : "load"),
                  "choose --backend sim");
  }
}

std::int64_t server_parts(const Scenario& s) { return std::int64_t{s.servers} * s.server_devices; }
std::int64_t worker_parts(const Scenario& s) { return std::int64_t{s.workers} * s.worker_devices; }

void check_parameter_server(const Scenario& s) {
  const std::int64_t needed = worker_parts(s) + server_parts(s);
  if (needed != s.devices) {
    throw_invalid(fmt::format("devices {}: {} with {} each and {} with {} each are {}", s.devices,
                              counted(static_cast<std::size_t>(s.workers), "worker"),
                              counted(static_cast<std::size_t>(s.worker_devices), "device"),
                              counted(static_cast<std::size_t>(s.servers), "server"),
                              s.server_devices, needed),
                  "leave --devices out, or change --workers or --servers");
  }
  if (s.server_devices > s.workers) {
    throw_invalid(fmt::format("server-devices {}: there are {} workers, and each device of a "
                              "server serves at least one",
                              s.server_devices, s.workers),
                  fmt::format("give a server at most {} devices", s.workers));
  }
  if (s.asynchronous && s.variant == "a") {
    throw_invalid("async: needs variant b: a worker that updates by itself waits for all pushes",
                  "leave --variant out");
  }
  if (s.asynchronous && s.server_devices > 1) {
    throw_invalid(fmt::format("async: a server with {} devices adds up several pushes, but each is "
                              "applied by itself",
                              s.server_devices),
                  "leave --server-devices out, or choose more --servers");
  }
}

}  // namespace

bool Scenario::has_ranks() const { return strategy == "ddp" || strategy == "ps"; }

int Scenario::replicas() const {
  if (strategy == "ps") return static_cast<int>(worker_parts(*this));
  return strategy == "ddp" ? devices : 1;
}

void Scenario::validate() const {
  for (const ScenarioOption& option : scenario_options()) {
    if (option.check != nullptr) option.check(*this, option.name);
  }
  if (epochs && steps) {
    throw_invalid(fmt::format("epochs {} and steps {}: only one may be given", *epochs, *steps),
                  "leave one of --epochs and --steps out");
  }
  if (nesterov && momentum == 0) {
    throw_invalid("nesterov: needs a momentum above 0", "add --momentum 0.9");
  }
  if (gathered_loss != "mean" && loss_in != "forward") {
    throw_invalid(
        fmt::format("gathered-loss {}: with loss-in {} there is one loss", gathered_loss, loss_in),
        "add --loss-in forward");
  }
  if (output_form == "flat" && loss_in == "forward") {
    throw_invalid("output-form flat: with loss-in forward a loss without dimensions is returned",
                  "leave one of --output-form and --loss-in out");
  }
  if (verify_step && !verify) {
    throw_invalid(fmt::format("verify-step {}: nothing is verified", *verify_step),
                  "add --verify, or leave --verify-step out");
  }
  if (memory != 0 && !device_memory.empty()) {
    throw_invalid("memory and device-memory: only one may be given",
                  "memory is of each device, device-memory names them all");
  }
  check_accumulation(*this);
  check_frozen(*this);
  check_algorithm(*this);
  check_device_ids(*this);
  check_chunk_sizes(*this);
  check_checkpoints(*this);
  if (strategy == "ps") check_parameter_server(*this);
  for (const ScenarioEvent& event : events) check_event(*this, event);
}

bool RunRequest::is_given(std::string_view option) const {
  return std::find(given.begin(), given.end(), option) != given.end();
}

namespace {

// Of devices, workers and servers, the one that is not given follows from the others.
void complete_parameter_server(RunRequest& request) {
  Scenario& scenario = request.scenario;
  if (request.is_given("staleness") && !scenario.asynchronous) {
    throw_invalid(fmt::format("staleness {}: without async every worker waits for all others",
                              scenario.staleness),
                  "add --async, or leave --staleness out");
  }
  if (!request.is_given("devices")) {
    const std::int64_t most = std::numeric_limits<int>::max();
    scenario.devices =
        static_cast<int>(std::min(worker_parts(scenario) + server_parts(scenario), most));
  } else if (!request.is_given("workers")) {
    const std::int64_t left = scenario.devices - server_parts(scenario);
    if (left < scenario.worker_devices) {
      throw_invalid(
          fmt::format("devices {}: {} with {} each leave {} for workers, which have {} each",
                      scenario.devices,
                      counted(static_cast<std::size_t>(scenario.servers), "server"),
                      counted(static_cast<std::size_t>(scenario.server_devices), "device"),
                      std::max<std::int64_t>(left, 0), scenario.worker_devices),
          "leave --devices out, or give more");
    }
    scenario.workers = static_cast<int>(left / scenario.worker_devices);
  }
}

}  // namespace

void complete_scenario(RunRequest& request) {
  Scenario& scenario = request.scenario;
  // PyTorch's defaults, where they differ from sgd's.
  if (scenario.optimizer != "sgd" && !request.is_given("lr")) scenario.lr = 1e-3;
  if (scenario.optimizer == "adamw" && !request.is_given("weight-decay")) {
    scenario.weight_decay = 0.01;
  }
  if (scenario.strategy == "single") {
    if (!request.is_given("devices")) scenario.devices = 1;
    if (scenario.devices > 1) {
      throw_invalid(fmt::format("devices {}: strategy single trains on one", scenario.devices),
                    "leave --devices out, or choose --strategy dp or ddp");
    }
  }
  if (scenario.strategy == "ps") complete_parameter_server(request);
  // A file's option may have lost its meaning to an option that came later.
  for (const std::string_view name : request.given) {
    check_option(scenario, *find_scenario_option(name));
  }
  scenario.validate();
}

void complete_request(RunRequest& request) {
  complete_scenario(request);
  if (request.is_given("trace-steps") && request.trace.empty() && request.out.empty()) {
    throw_invalid("trace-steps: nothing is recorded without a place for it",
                  "add --trace FILE or --out DIR");
  }
}

}  // namespace ringside
