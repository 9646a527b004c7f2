// The JSON of a safetensors header, read as a stream: memory grows with what is kept and not with
// what a hostile header nests.
#pragma once

#include <string>
#include <string_view>

#include "ringside/checkpoint.h"

namespace ringside {

/// The entry of a header that is no tensor: texts by name.
inline constexpr std::string_view kMetadataName = "__metadata__";

/// The metadata and the entries, in the order they stand there, as they stand there: places are
/// not looked at yet. Throws Error(kInvalidInput) that begins with `source_name`: no JSON, not
/// UTF-8, another form than the format's, a key twice.
SafetensorsHeader read_header_json(std::string_view json, const std::string& source_name);

}  // namespace ringside
