// Numbers of bytes for people, the same everywhere (ringside/views.h shows it to other programs).
#pragma once

#include <cstddef>
#include <string>

namespace ringside {

/// Decimal units: "512 B", "64.0 kB", "4.004 MB". Three decimals below ten (exact for most
/// tensors), else three significant digits.
std::string format_bytes(std::size_t bytes);

}  // namespace ringside
