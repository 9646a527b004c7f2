// Lists of tensors and of names in JSON, as calculators take them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "calculators/model_tensors.h"

namespace ringside::cli {

/// Whether it begins as a list or an object.
bool looks_like_json(std::string_view text);

/// [name, shape] or [name, shape, dtype], by itself or under "parameters". Throws
/// Error(kInvalidInput) with the file and the place: no JSON (line and column), another form, a
/// name twice, more elements than kMostElements.
std::vector<ModelTensor> tensors_of_json(const std::string& file, const std::string& text);

/// The names of such a list, of a list of names, or of an object. Throws as above.
std::vector<std::string> keys_of_json(const std::string& file, const std::string& text);

/// Throws Error(kInvalidInput) where a name stands there twice, with both places: `places` has the
/// number of each, of a thing that `noun` names: "lines 1 and 3".
void check_names_differ(const std::string& file, const std::vector<std::string>& names,
                        const std::vector<std::size_t>& places, std::string_view noun);

}  // namespace ringside::cli
