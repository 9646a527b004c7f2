// The JSON document of `ringside draw` (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include "ringside/trace.h"
#include "ringside/views.h"

namespace ringside::cli {

std::string draw_document(const Trace& trace, int step, const std::vector<Picture>& pictures,
                          const std::vector<std::string>& files);

}  // namespace ringside::cli
