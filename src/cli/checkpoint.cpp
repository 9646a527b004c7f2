// ringside checkpoint: what is in a safetensors file, and the model's part of it as another file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/input_stays.h"
#include "cli/json.h"
#include "cli/terminal.h"
#include "core/format_bytes.h"
#include "core/state_keys.h"
#include "parallel/training_state.h"
#include "parallel/wrapper_prefix.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"
#include "scenario/prefix_options.h"
#include "views/text.h"

namespace ringside::cli {
namespace {

constexpr std::string_view kHeading = "Another file";
constexpr std::size_t kLongestShownValue = 300;  // letters of a metadata's text

std::vector<Option> options() {
  return {
      {"weights", "FILE", "write the model's tensors alone, as a state_dict", kHeading, "FILE"},
      {"strip-prefix", "PREFIX", "of keys that begin with PREFIX, without it", kHeading, "module."},
      {"add-prefix", "PREFIX", "PREFIX in front of every key", kHeading, "module."},
      {"rename-prefix", "FROM=TO,...", "keys that begin with FROM begin with TO", kHeading},
  };
}

bool is_of_optimizer(const SafetensorsHeader& header, const SafetensorsEntry& entry) {
  return has_training_state(header.metadata) && entry.name.starts_with(kOptimizerPrefix);
}

std::vector<PrefixRule> rules_of(const Arguments& arguments) {
  std::vector<PrefixRule> rules;
  try {
    rules = prefix_rules(arguments.value("strip-prefix"), arguments.value("add-prefix"),
                         arguments.value("rename-prefix"));
  } catch (const Error& error) {
    throw error.with_prefix("--");
  }
  if (!rules.empty() && !arguments.has("weights")) {
    throw Error(ErrorKind::kInvalidArgument, "keys are renamed in another file alone",
                "add --weights FILE");
  }
  return rules;
}

/// The model's tensors with other names, and of the metadata what PyTorch's library asks for.
SafetensorsFile weights_of(const SafetensorsFile& file, const std::vector<PrefixRule>& rules,
                           const std::string& path) {
  std::vector<const SafetensorsEntry*> kept;
  std::vector<NamedShape> names;
  for (const SafetensorsEntry& entry : file.header.entries) {
    if (is_of_optimizer(file.header, entry)) continue;
    kept.push_back(&entry);
    names.push_back({entry.name, entry.shape});
  }
  try {
    names = renamed(names, rules);
  } catch (const Error& error) {
    throw error.with_prefix(path + ": ");
  }
  SafetensorsFile weights;
  weights.header.metadata = {{"format", "pt"}};
  for (std::size_t i = 0; i < kept.size(); ++i) {
    weights.add(names[i].name, kept[i]->dtype, kept[i]->shape, file.bytes_of(*kept[i]));
  }
  return weights;
}

/// Written with --save-wrapped.
bool is_wrapped(const SafetensorsHeader& header) {
  return std::all_of(header.entries.begin(), header.entries.end(), [&](const auto& entry) {
    return is_of_optimizer(header, entry) || entry.name.starts_with(kWrapperPrefix);
  });
}

/// Of an entry that was read, so that its bytes are its shape's.
std::size_t elements_of(const SafetensorsEntry& entry) {
  return entry.bytes() / *safetensors_element_bytes(entry.dtype);
}

/// With blanks behind it, `width` columns wide.
std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, display_width(text)), ' ');
}

struct TableRow {
  std::string name, shape;
};

std::string table_of(const SafetensorsHeader& header) {
  std::vector<TableRow> rows{{"name", "shape"}};
  for (const SafetensorsEntry& entry : header.entries) {
    rows.push_back({shown_name(entry.name), shape_text(entry.shape)});
  }
  std::size_t name_width = 0;
  std::size_t shape_width = 0;
  for (const TableRow& row : rows) {
    name_width = std::max(name_width, display_width(row.name));
    shape_width = std::max(shape_width, display_width(row.shape));
  }
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SafetensorsEntry* entry = i == 0 ? nullptr : &header.entries[i - 1];
    text +=
        fmt::format("{}  {:<5}  {}  {:>9}\n", padded(rows[i].name, name_width),
                    entry == nullptr ? "dtype" : entry->dtype, padded(rows[i].shape, shape_width),
                    entry == nullptr ? "bytes" : fmt::format("{}", entry->bytes()));
  }
  return text;
}

std::string sums_of(const SafetensorsHeader& header) {
  std::size_t model = 0;
  std::size_t elements = 0;
  std::size_t bytes = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    bytes += entry.bytes();
    if (is_of_optimizer(header, entry)) continue;
    ++model;
    elements += elements_of(entry);
  }
  return fmt::format("\n{} of the model with {} elements, {} of the optimizer; {}\n",
                     counted(model, "tensor"), elements, header.entries.size() - model,
                     format_bytes(bytes));
}

std::string training_of(const SafetensorsHeader& header, const std::string& path) {
  if (!has_training_state(header.metadata)) {
    std::string text;
    for (const auto& [key, value] : header.metadata) {
      text += fmt::format("{}: {}\n", shown_name(key), shown_name(value, kLongestShownValue));
    }
    return text;
  }
  const TrainingState state = training_state_of(header.metadata, path);
  std::string text = fmt::format("Taken after step {}; next is batch {} of epoch {}.\n", state.step,
                                 state.batches, state.epoch);
  const bool events = has_events(header.metadata);
  text += events ? "To go on, with the scenario file that has its events: " : "To go on: ";
  std::vector<std::string> words{"ringside run"};
  if (events) words.emplace_back("--config FILE");
  const std::string options = clean_text(options_of_then(header.metadata));
  if (!options.empty()) words.push_back(options);
  if (is_wrapped(header)) words.push_back(fmt::format("--strip-prefix {}", kWrapperPrefix));
  words.push_back(fmt::format("--resume {}\n", path));
  return text + fmt::format("{}", fmt::join(words, " "));
}

nlohmann::ordered_json training_json(const SafetensorsHeader& header, const std::string& path) {
  if (!has_training_state(header.metadata)) return nullptr;
  const TrainingState state = training_state_of(header.metadata, path);
  return {{"step", state.step},
          {"epoch", state.epoch},
          {"batches", state.batches},
          {"options", options_of_then(header.metadata)}};
}

std::string document_of(const SafetensorsHeader& header, const std::string& path,
                        const std::vector<std::string>& files) {
  nlohmann::ordered_json document = make_document("checkpoint");
  document["file"] = path;
  document["bytes"] = header.file_bytes;
  document["training"] = training_json(header, path);
  document["metadata"] = nlohmann::ordered_json::array();
  for (const auto& [key, value] : header.metadata) {
    document["metadata"].push_back({{"key", key}, {"value", value}});
  }
  document["tensors"] = nlohmann::ordered_json::array();
  for (const SafetensorsEntry& entry : header.entries) {
    document["tensors"].push_back({{"name", entry.name},
                                   {"dtype", entry.dtype},
                                   {"shape", entry.shape},
                                   {"bytes", entry.bytes()},
                                   {"optimizer", is_of_optimizer(header, entry)}});
  }
  document["files"] = files;
  return to_text(document);
}

int run(const Arguments& arguments, Terminal& terminal) {
  if (arguments.operands.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "no file is given", "ringside checkpoint FILE");
  }
  const std::string& path = arguments.operands.front();
  const std::vector<PrefixRule> rules = rules_of(arguments);
  std::vector<std::string> files;
  if (arguments.has("weights")) files.push_back(arguments.value("weights"));
  for (const std::string& file : files) {
    check_stays("command", path, file, "choose another name with --weights");
  }
  SafetensorsHeader header;
  if (files.empty()) {
    header = read_safetensors_header(path);
  } else {
    const SafetensorsFile file = read_safetensors(path);
    write_safetensors(weights_of(file, rules, path), files.front());
    header = file.header;
  }
  if (terminal.json()) {
    terminal.emit(document_of(header, path, files));
    return 0;
  }
  terminal.say(table_of(header) + sums_of(header) + training_of(header, path));
  if (!files.empty()) terminal.print("\nWrote the model's tensors to {}\n", files.front());
  return 0;
}

}  // namespace

Command checkpoint_command() {
  return {
      .name = "checkpoint",
      .summary = "show what is in a checkpoint or another safetensors file",
      .operands = "FILE",
      .operand_choices = "FILE",
      .description =
          "Lists the tensors of a file in the safetensors format, and where the training stood "
          "that "
          "it was taken from. With --weights the model's tensors go to another file, without the "
          "optimizer's: what load_state_dict takes in PyTorch. Keys are renamed at their "
          "beginning alone.",
      .examples =
          "ringside run --steps 20 --save a.safetensors\n"
          "ringside checkpoint a.safetensors\n"
          "ringside checkpoint a.safetensors --weights w.safetensors --add-prefix module.",
      .options = options,
      .run = run,
  };
}

}  // namespace ringside::cli
