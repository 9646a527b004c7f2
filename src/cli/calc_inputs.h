// The files that calculators read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/state_keys.h"

namespace ringside::cli {

/// The most elements that a model may have: their bytes on every device still fit 64 bits.
inline constexpr std::size_t kMostParameters = 10'000'000'000'000;

/// The parameters of a model: one of known_models(), "mlp:64,32,10", a .safetensors file, or a JSON
/// file with a list of [name, shape] (by itself, or under "parameters"). Throws Error that names
/// the file and what is wrong in it.
std::vector<NamedShape> read_parameters(const std::string& model);

/// The keys of a state: of a .safetensors file, of a JSON file (a list of names, a list of [name,
/// shape], or an object), or of a text with one key a line. Throws Error as above.
std::vector<std::string> read_keys(const std::string& file);

}  // namespace ringside::cli
