// Refuses scenario files whose keys are so deep that reading them would overflow the stack.
//
// toml++ bounds how deep values lie in one another but not the parts of a dotted key, and its
// tables are destroyed by recursion: some 30,000 parts end the program. Threads: any.
#pragma once

#include <string>
#include <string_view>

namespace ringside {

/// Throws Error(kInvalidInput) with the place where a line of `text` has more dots outside of
/// strings and comments than any scenario needs.
void refuse_deep_keys(std::string_view text, const std::string& source_name);

}  // namespace ringside
