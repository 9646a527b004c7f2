// The environment of the process.
#pragma once

#include <cstdlib>
#include <string_view>

namespace ringside {

/// The value of an environment variable; empty if it is not set. Valid until the environment
/// changes, which nothing here does.
inline std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace ringside
