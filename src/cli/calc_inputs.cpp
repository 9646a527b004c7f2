// Bodies of calc_inputs.h.
#include "cli/calc_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <sstream>
#include <system_error>

#include "calculators/known_models.h"
#include "cli/calc_json.h"
#include "core/clean_text.h"
#include "core/counted.h"
#include "core/files.h"
#include "parallel/training_state.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"

namespace ringside::cli {
namespace {

constexpr std::size_t kLongestFile = 64'000'000;
constexpr std::size_t kShownNames = 3;

/// A file as it was found to be: the header of a checkpoint, or a text.
struct Content {
  std::optional<SafetensorsHeader> header;
  std::string text;
};

SafetensorsHeader read_checkpoint_header(const std::string& file, const std::string& bytes) {
  try {
    return bytes.empty() ? read_safetensors_header(file) : parse_safetensors(bytes, file).header;
  } catch (const Error& error) {
    const bool is_other = bytes.empty()
                              ? form_of_file(file) == FileForm::kOtherCheckpoint
                              : form_of_file(bytes, bytes.size()) == FileForm::kOtherCheckpoint;
    if (!is_other) throw;
    throw Error(error.kind(), error.what(),
                "in PyTorch: safetensors.torch.save_file(state, 'x.safetensors'), or a list of "
                "names and shapes: json.dump([[k, list(v.shape)] for k, v in state.items()], "
                "open('x.json', 'w'))");
  }
}

Content read_content(const std::string& file) {
  if (file.ends_with(".safetensors") || form_of_file(file) != FileForm::kOther) {
    return {read_checkpoint_header(file, {}), {}};
  }
  std::string text = read_whole_file(file, kLongestFile);
  // Of a pipe nothing was known before.
  if (form_of_file(text, text.size()) != FileForm::kOther) {
    return {read_checkpoint_header(file, text), {}};
  }
  return {std::nullopt, std::move(text)};
}

/// "a, b, c and 2 more".
std::string some_names(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(names.size(), kShownNames); ++i) {
    shown.push_back(shown_name(names[i]));
  }
  const std::string more = names.size() > kShownNames
                               ? fmt::format(" and {} more", names.size() - kShownNames)
                               : std::string();
  return fmt::format("{}{}", fmt::join(shown, ", "), more);
}

/// The sentence about names that are left out, if there are any.
void tell_left_out(std::vector<std::string>& sentences, const std::vector<std::string>& names,
                   std::string_view noun, std::string_view what) {
  if (names.empty()) return;
  sentences.push_back(fmt::format("{} {} not {}: {}.", counted(names.size(), noun),
                                  names.size() == 1 ? "is" : "are", what, some_names(names)));
}

/// The entries of a file that are the model's; the others are told of.
std::vector<SafetensorsEntry> model_entries(const SafetensorsHeader& header, std::string_view what,
                                            std::vector<std::string>& left_out) {
  std::vector<SafetensorsEntry> entries;
  std::vector<std::string> of_optimizer;
  for (const SafetensorsEntry& entry : header.entries) {
    if (has_training_state(header.metadata) && entry.name.starts_with(kOptimizerPrefix)) {
      of_optimizer.push_back(entry.name);
    } else {
      entries.push_back(entry);
    }
  }
  tell_left_out(left_out, of_optimizer, "optimizer tensor", what);
  return entries;
}

/// Dtypes without a gradient make buffers, so that any of those serves.
DType gradient_dtype_of(const std::string& file, const SafetensorsEntry& entry) {
  if (const auto dtype = dtype_of_safetensors(entry.dtype)) return *dtype;
  if (entry.dtype.starts_with('I') || entry.dtype.starts_with('U') || entry.dtype == "BOOL") {
    return DType::kInt64;
  }
  throw Error(ErrorKind::kInvalidInput,
              fmt::format("{}: '{}' is {}: parameters of F32, F64, F16 and BF16 are counted", file,
                          shown_name(entry.name), entry.dtype),
              "write a .json list of names and shapes without it");
}

/// Leaves the parameters, tells of the rest.
void take_buffers_out(ModelParameters& model) {
  std::vector<std::string> buffers;
  std::vector<ModelTensor> parameters;
  for (ModelTensor& tensor : model.tensors) {
    if (is_buffer(tensor)) {
      buffers.push_back(std::move(tensor.named.name));
    } else {
      parameters.push_back(std::move(tensor));
    }
  }
  model.tensors = std::move(parameters);
  tell_left_out(model.left_out, buffers, "buffer", "parameters");
}

bool have_one_element_size(const std::vector<ModelTensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const ModelTensor& tensor) {
    return size_of(tensor.dtype) == size_of(tensors.front().dtype);
  });
}

/// Ringside's own files have the model's order, each size of element by itself; the library's files
/// have none, and nor has an own one that went through the library with its metadata.
void put_in_order(ModelParameters& model, bool is_own) {
  std::vector<ModelTensor> by_layers = model.tensors;
  sort_by_layers(by_layers);
  const bool is_as_by_layers =
      std::equal(by_layers.begin(), by_layers.end(), model.tensors.begin(),
                 [](const auto& a, const auto& b) { return a.named.name == b.named.name; });
  const bool is_sorted = is_sorted_by_name(model.tensors);
  const bool has_models_order =
      is_own && have_one_element_size(model.tensors) && (!is_sorted || is_as_by_layers);
  if (has_models_order) return;
  model.order = is_sorted ? ParameterOrder::kNames : ParameterOrder::kFile;
  if (is_sorted) model.tensors = std::move(by_layers);
}

ModelParameters parameters_of(const std::string& file, const SafetensorsHeader& header) {
  ModelParameters model;
  for (const SafetensorsEntry& entry : model_entries(header, "parameters", model.left_out)) {
    model.tensors.push_back({{entry.name, entry.shape}, gradient_dtype_of(file, entry)});
  }
  take_buffers_out(model);
  put_in_order(model, has_training_state(header.metadata));
  return model;
}

/// Whether the name can only be meant as a file's: "x.st", "models/a".
bool is_file(const std::string& model) {
  std::error_code ignored;
  return model.find_first_of("./") != std::string::npos || std::filesystem::exists(model, ignored);
}

ModelParameters parameters_of_file(const std::string& file) {
  const Content content = read_content(file);
  if (content.header) return parameters_of(file, *content.header);
  if (!file.ends_with(".json") && !looks_like_json(content.text)) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: is neither a safetensors file nor JSON", file),
                "a model is a .safetensors file, a .json list of names and shapes, or a built-in "
                "name: --help lists them");
  }
  ModelParameters model;
  model.tensors = tensors_of_json(file, content.text);
  take_buffers_out(model);
  return model;
}

/// One key a line.
StateKeys keys_of_text(const std::string& file, const std::string& text) {
  StateKeys state;
  std::vector<std::size_t> lines;
  std::vector<std::size_t> blank;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::istringstream in(text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size())
                                                         : text);
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const std::string clean = clean_text(line);
    if (clean != line) {
      const auto unfit = std::mismatch(line.begin(), line.end(), clean.begin(), clean.end()).first;
      throw Error(
          ErrorKind::kInvalidInput,
          fmt::format("{}: line {}, byte {}: 0x{:02x} is no letter of a text in UTF-8", file,
                      number, unfit - line.begin() + 1, static_cast<unsigned char>(*unfit)),
          "keys are those of a safetensors file, of JSON, or of a text with one a line");
    }
    if (line.empty()) continue;
    if (line.find_first_not_of(' ') == std::string::npos) {
      blank.push_back(number);
      continue;
    }
    state.keys.push_back(line);
    lines.push_back(number);
  }
  check_names_differ(file, state.keys, lines, "lines");
  if (!blank.empty()) {
    state.left_out.push_back(fmt::format("{} without a key, of blanks alone: the first is line {}.",
                                         counted(blank.size(), "line"), blank.front()));
  }
  return state;
}

/// Checks after each tensor: so large a sum does not go round.
void check_count(const std::string& model, std::span<const ModelTensor> tensors) {
  std::size_t elements = 0;
  for (const ModelTensor& tensor : tensors) {
    elements += elements_of(tensor.named);
    if (elements <= kMostParameters) continue;
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: {} parameters up to '{}': at most {} are counted", model, elements,
                            tensor.named.name, kMostParameters));
  }
}

}  // namespace

std::string_view to_string(ParameterOrder order) {
  switch (order) {
    case ParameterOrder::kRegistration:
      break;
    case ParameterOrder::kFile:
      return "file";
    case ParameterOrder::kNames:
      return "names";
  }
  return "registration";
}

ModelParameters read_parameters(const std::string& model) {
  if (is_model_name(model) || !is_file(model)) {
    ModelParameters known{model_tensors(known_model(model)), ParameterOrder::kRegistration, {}};
    check_count(model, known.tensors);
    return known;
  }
  ModelParameters parameters = parameters_of_file(model);
  if (parameters.tensors.empty()) {
    throw Error(ErrorKind::kInvalidInput, fmt::format("{}: has no parameters", model),
                parameters.left_out.empty() ? "" : parameters.left_out.front());
  }
  check_count(model, parameters.tensors);
  return parameters;
}

StateKeys read_keys(const std::string& file) {
  const Content content = read_content(file);
  StateKeys state;
  if (content.header) {
    for (SafetensorsEntry& entry :
         model_entries(*content.header, "keys of the model", state.left_out)) {
      state.keys.push_back(std::move(entry.name));
    }
  } else if (looks_like_json(content.text)) {
    state.keys = keys_of_json(file, content.text);
  } else {
    state = keys_of_text(file, content.text);
  }
  if (!state.keys.empty()) return state;
  throw Error(ErrorKind::kInvalidInput, fmt::format("{}: has no keys", file),
              "keys are those of a safetensors file, of JSON, or of a text with one a line");
}

}  // namespace ringside::cli
