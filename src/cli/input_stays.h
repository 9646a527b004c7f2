// What a command reads must still be there when it has written its results.
#pragma once

#include <string>
#include <string_view>

namespace ringside::cli {

/// Throws Error(kInvalidArgument) with `hint` if `output` is the file `input`, by whatever name:
/// "the run reads a.toml and would write its results over it". Either may be empty, or not be
/// there.
void check_stays(std::string_view command, const std::string& input, const std::string& output,
                 std::string hint);

}  // namespace ringside::cli
