// The files that calculators read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calculators/model_tensors.h"

namespace ringside::cli {

/// The most elements that a model may have: their bytes on every device still fit 64 bits.
inline constexpr std::size_t kMostParameters = 10'000'000'000'000;

/// What is known of the order of a model's parameters.
enum class ParameterOrder : std::uint8_t {
  kRegistration,  ///< that of the model
  kFile,          ///< that of the file's bytes, which its writer chose
  kNames          ///< by layers: the file is sorted by name
};
/// "registration", "file", "names".
std::string_view to_string(ParameterOrder order);

struct ModelParameters {
  std::vector<ModelTensor> tensors;
  ParameterOrder order = ParameterOrder::kRegistration;
  std::vector<std::string> left_out;  ///< sentences: which entries of the file are no parameters
};

/// The parameters of a model: one of known_models(), "mlp:64,32,10", a safetensors file, or a JSON
/// file with a list of [name, shape, dtype] (calc_json.h); what a file is, its content tells.
/// There is at least one, and at most kMostParameters elements. Throws Error that names the file
/// and what is wrong in it.
ModelParameters read_parameters(const std::string& model);

struct StateKeys {
  std::vector<std::string> keys;
  std::vector<std::string> left_out;  ///< sentences: what of the file is no key of the state
};

/// The keys of a state: of a safetensors file, of a JSON file (a list of names, a list of [name,
/// shape], or an object), or of a text with one key a line; what it is, its content tells. There
/// is at least one. Throws Error as above.
StateKeys read_keys(const std::string& file);

}  // namespace ringside::cli
