// Numbers of things for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ringside {

/// "1 message", "3 messages".
std::string counted(std::size_t number, std::string_view noun);

}  // namespace ringside
