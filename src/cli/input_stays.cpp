#include "cli/input_stays.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "ringside/error.h"

namespace ringside::cli {

void check_stays(std::string_view command, const std::string& input, const std::string& output,
                 std::string hint) {
  std::error_code ignored;  // what is not there is not the same
  if (input.empty() || output.empty()) return;
  if (!std::filesystem::equivalent(input, output, ignored)) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("the {} reads {} and would write its results over it", command, input),
              std::move(hint));
}

}  // namespace ringside::cli
