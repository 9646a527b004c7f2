#include "core/launch_blocking.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "ringside/error.h"

namespace ringside {

bool launch_blocking_from_environment() {
  const char* value = std::getenv("RINGSIDE_LAUNCH_BLOCKING");
  const std::string_view text = value == nullptr ? "" : value;
  if (text.empty() || text == "0") return false;
  if (text == "1") return true;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("RINGSIDE_LAUNCH_BLOCKING='{}': must be 0 or 1", text));
}

}  // namespace ringside
