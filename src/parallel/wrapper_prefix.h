// The name of the wrapped module, as an attribute of its wrapper.
#pragma once

#include <string_view>

namespace ringside {

/// In front of every key of DataParallel's and DistributedDataParallel's state_dict.
constexpr std::string_view kWrapperPrefix = "module.";

}  // namespace ringside
