#include "parallel/checkpointing.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/clean_text.h"
#include "core/counted.h"
#include "parallel/wrapper_prefix.h"
#include "ringside/error.h"
#include "scenario/prefix_options.h"
#include "scenario/save_path.h"

namespace ringside {
namespace {

std::vector<NamedShape> shapes_of(const std::vector<SafetensorsEntry>& entries) {
  std::vector<NamedShape> shapes;
  for (const SafetensorsEntry& entry : entries) shapes.push_back({entry.name, entry.shape});
  return shapes;
}

std::vector<NamedShape> shapes_of(const Module& module) {
  std::vector<NamedShape> shapes;
  for (const NamedTensor& entry : module.state_dict()) {
    const std::span<const std::int64_t> sizes = entry.tensor.shape().sizes();
    shapes.push_back({entry.name, {sizes.begin(), sizes.end()}});
  }
  return shapes;
}

[[noreturn]] void throw_dtype(const std::string& path, const SafetensorsEntry& entry,
                              const std::string& problem) {
  throw Error(ErrorKind::kInvalidInput,
              fmt::format("{}: '{}' is {}, {}", path, shown_name(entry.name), entry.dtype, problem),
              "convert it in PyTorch, and write the file again");
}

/// As a tensor on `device`, under `name`.
NamedTensor tensor_of(const StartingPoint& start, const SafetensorsEntry& entry, Device& device,
                      const std::string& name) {
  const auto dtype = dtype_of_safetensors(entry.dtype);
  if (!dtype) throw_dtype(start.path, entry, "which Ringside has no values of");
  if (entry.shape.size() > Shape::kMaxRank) {
    throw_dtype(start.path, entry,
                fmt::format("of shape {}: at most {} dimensions are loaded",
                            shape_text(entry.shape), Shape::kMaxRank));
  }
  return {name, Tensor::from_host_bytes(device, Shape(entry.shape), *dtype,
                                        start.file.bytes_of(entry), MemoryKind::kWorkspace, name)};
}

/// Floating values become others of any precision, as in PyTorch, but no counters.
void check_dtype(const StartingPoint& start, const SafetensorsEntry& entry, const Tensor& own) {
  const auto dtype = dtype_of_safetensors(entry.dtype);
  if (dtype && is_floating(*dtype) == is_floating(own.dtype())) return;
  throw_dtype(start.path, entry, fmt::format("but the model's is {}", to_string(own.dtype())));
}

/// Views into `entries`.
std::unordered_map<std::string_view, const SafetensorsEntry*> by_name(
    const std::vector<SafetensorsEntry>& entries) {
  std::unordered_map<std::string_view, const SafetensorsEntry*> named;
  for (const SafetensorsEntry& entry : entries) named.emplace(entry.name, &entry);
  return named;
}

/// The optimiser's entries bear the names of the model's, and are renamed with them.
void rename(StartingPoint& start, const std::vector<PrefixRule>& rules) {
  std::vector<NamedShape> names = start.as_written;
  const std::vector<NamedShape> of_optimizer = shapes_of(start.optimizer);
  names.insert(names.end(), of_optimizer.begin(), of_optimizer.end());
  try {
    names = renamed(names, rules);
  } catch (const Error& error) {
    throw error.with_prefix(start.path + ": ");
  }
  auto next = names.begin();
  for (SafetensorsEntry& entry : start.model) entry.name = (next++)->name;
  for (SafetensorsEntry& entry : start.optimizer) entry.name = (next++)->name;
}

void add(SafetensorsFile& file, std::string name, const Tensor& tensor) {
  file.add(std::move(name), safetensors_dtype(tensor.dtype()), tensor.shape().sizes(),
           host_bytes(tensor));
}

}  // namespace

std::optional<StartingPoint> read_starting_point(const Scenario& scenario) {
  const bool resumes = !scenario.resume.empty();
  const std::string& path = resumes ? scenario.resume : scenario.load;
  if (path.empty()) return std::nullopt;
  StartingPoint start;
  start.path = path;
  start.file = read_safetensors(path);
  const SafetensorsHeader& header = start.file.header;
  if (resumes) {
    start.state = training_state_of(header.metadata, path);
    check_same_training(header.metadata, scenario, path);
  }
  for (const SafetensorsEntry& entry : header.entries) {
    if (!has_training_state(header.metadata) || !entry.name.starts_with(kOptimizerPrefix)) {
      start.model.push_back(entry);
    } else if (resumes) {
      start.optimizer.push_back(entry);
      start.optimizer.back().name.erase(0, kOptimizerPrefix.size());
    }
  }
  start.as_written = shapes_of(start.model);
  start.renaming = prefix_options(scenario);
  start.rename_prefix = scenario.rename_prefix;
  rename(start, prefix_rules(scenario));
  return start;
}

namespace {

/// What would make the keys `expected`, where the renaming that was asked for does not.
std::string mending_of(const StartingPoint& start, const std::vector<NamedShape>& expected,
                       const KeyComparison& comparison) {
  if (!start.renaming.empty()) {
    const KeyComparison as_written = compare_keys(expected, start.as_written);
    if (as_written.same()) {
      return fmt::format("as they are written all keys match: leave {} out", start.renaming);
    }
    const std::string instead = suggestion_options(as_written);
    if (as_written.same_if_followed() && !instead.empty()) {
      return fmt::format("{}: give {} in place of {}", suggestion_words(as_written), instead,
                         start.renaming);
    }
  }
  const std::string options = start.renaming.empty()
                                  ? suggestion_options(comparison)
                                  : further_suggestion_options(comparison, start.rename_prefix);
  if (options.empty()) return "the file must come from the same model";
  return fmt::format("{}: {} {}", suggestion_words(comparison),
                     start.rename_prefix.empty() ? "add" : "give", options);
}

/// The parameters whose state the file has, as far as an entry tells their shape.
std::vector<NamedShape> optimized_parameters(const StartingPoint& start) {
  std::vector<NamedShape> parameters;
  std::unordered_set<std::string> known;
  for (const SafetensorsEntry& entry : start.optimizer) {
    const std::string name = entry.name.substr(0, entry.name.rfind('.'));
    if (!entry.shape.empty() && known.insert(name).second)
      parameters.push_back({name, entry.shape});
  }
  return parameters;
}

/// Any other difference is told by the optimiser, which knows what its state is made of.
void check_optimizer_prefix(const StartingPoint& start, const Module& module) {
  std::vector<NamedShape> expected;
  for (const NamedTensor& entry : module.named_parameters()) {
    const std::span<const std::int64_t> sizes = entry.tensor.shape().sizes();
    expected.push_back({entry.name, {sizes.begin(), sizes.end()}});
  }
  const KeyComparison comparison = compare_keys(expected, optimized_parameters(start));
  const std::string options = further_suggestion_options(comparison, start.rename_prefix);
  if (comparison.unexpected.empty() || options.empty()) return;
  throw Error(ErrorKind::kInvalidInput,
              fmt::format("{}: optimizer: has the state of other parameters than the model's: {}",
                          start.path, shown_name(comparison.unexpected.front())),
              fmt::format("{}: {} {}", suggestion_words(comparison),
                          start.rename_prefix.empty() ? "add" : "give", options));
}

}  // namespace

void check_fits(const StartingPoint& start, const Module& module) {
  const std::vector<NamedShape> expected = shapes_of(module);
  const KeyComparison comparison = compare_keys(expected, shapes_of(start.model));
  if (!comparison.same()) {
    throw Error(
        ErrorKind::kInvalidInput,
        fmt::format("{}: does not fit the model: {}", start.path, difference_text(comparison)),
        mending_of(start, expected, comparison));
  }
  check_optimizer_prefix(start, module);
  const auto entries = by_name(start.model);
  for (const NamedTensor& own : module.state_dict()) {
    check_dtype(start, *entries.at(own.name), own.tensor);
  }
}

void load_model(const StartingPoint& start, Module& module) {
  const auto entries = by_name(start.model);
  std::vector<NamedTensor> state;
  for (const NamedTensor& own : module.state_dict()) {
    state.push_back(tensor_of(start, *entries.at(own.name), own.tensor.device(), own.name));
  }
  module.load_state_dict(state);
}

void load_optimizer(const StartingPoint& start, Strategy& strategy) {
  std::vector<NamedTensor> state;
  for (const SafetensorsEntry& entry : start.optimizer) {
    state.push_back(tensor_of(start, entry, strategy.input_device(), entry.name));
  }
  try {
    strategy.load_optimizer_state(state);
  } catch (const Error& error) {
    throw error.with_prefix(fmt::format("{}: optimizer: ", start.path));
  }
}

void restore_buckets(const StartingPoint& start, Strategy& strategy) {
  try {
    strategy.restore_buckets(start.state->buckets);
  } catch (const Error& error) {
    throw error.with_prefix(fmt::format("{}: ", start.path));
  }
}

std::string checkpoint_path(const Scenario& scenario, std::int64_t step) {
  return save_path(scenario.save, fmt::format("{}", step));
}

void save_checkpoint(const Scenario& scenario, const TrainingState& state, const Module& module,
                     const std::vector<NamedTensor>& optimizer_state, const std::string& path) {
  SafetensorsFile file;
  file.header.metadata = to_metadata(scenario, state);
  const std::string in_front = scenario.save_wrapped ? std::string(kWrapperPrefix) : std::string();
  for (const NamedTensor& entry : module.state_dict(in_front)) {
    add(file, entry.name, entry.tensor);
  }
  for (const NamedTensor& entry : optimizer_state) {
    add(file, fmt::format("{}{}{}", kOptimizerPrefix, in_front, entry.name), entry.tensor);
  }
  write_safetensors(file, path);
}

bool checkpoint_is_due(const Scenario& scenario, std::int64_t step, std::int64_t total) {
  if (scenario.save.empty() || step == 0) return false;
  return step == total || (scenario.save_every > 0 && step % scenario.save_every == 0);
}

namespace {

/// What its first step has learnt of a static graph is in no file.
void check_graph_is_known(const Scenario& scenario, std::int64_t total) {
  int synchronised = 0;
  for (std::int64_t step = 0; step < total && synchronised < 2; ++step) {
    const bool alone = std::any_of(
        scenario.events.begin(), scenario.events.end(), [&](const ScenarioEvent& event) {
          return event.step == step && (event.kind == ScenarioEvent::Kind::kBypass ||
                                        event.kind == ScenarioEvent::Kind::kNoSync);
        });
    if (!alone) ++synchronised;
    if (synchronised != 1 || !checkpoint_is_due(scenario, step + 1, total)) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("save: a checkpoint after step {} would lose what the first step has "
                            "learnt of the static graph",
                            step + 1),
                "choose another --save-every, or more --steps");
  }
}

}  // namespace

void check_checkpoints_fall_between_updates(const Scenario& scenario, std::int64_t total,
                                            std::int64_t steps_per_epoch) {
  for (std::int64_t step = 1; scenario.asynchronous && step <= total; ++step) {
    if (!checkpoint_is_due(scenario, step, total) || step % steps_per_epoch == 0) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("save: a checkpoint after step {} would lose pushes that are on their "
                            "way: an asynchronous epoch has {}, in one order",
                            step, counted(static_cast<std::size_t>(steps_per_epoch), "step")),
                fmt::format("save between epochs: --save-every {0}, and --steps a multiple of {0}",
                            steps_per_epoch));
  }
  if (scenario.static_graph) check_graph_is_known(scenario, total);
  for (const ScenarioEvent& event : scenario.events) {
    if (event.kind != ScenarioEvent::Kind::kNoSync) continue;
    if (!checkpoint_is_due(scenario, event.step + 1, total)) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("save: a checkpoint after step {} would lose gradients: that step runs "
                            "inside no-sync, and they wait for the next update",
                            event.step),
                "choose another --save-every, or another number of --steps");
  }
}

}  // namespace ringside
