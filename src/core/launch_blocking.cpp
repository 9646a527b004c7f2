#include "core/launch_blocking.h"

#include <fmt/format.h>

#include <string_view>

#include "core/environment.h"
#include "ringside/error.h"

namespace ringside {

bool launch_blocking_from_environment() {
  const std::string_view text = environment("RINGSIDE_LAUNCH_BLOCKING");
  if (text.empty() || text == "0") return false;
  if (text == "1") return true;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("RINGSIDE_LAUNCH_BLOCKING='{}': must be 0 or 1", text));
}

}  // namespace ringside
