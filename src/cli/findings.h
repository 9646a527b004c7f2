// What `ringside doctor` finds: one finding per thing that Ringside uses or can use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::cli {

enum class Health : std::uint8_t {
  kFound,
  kMissing  ///< optional: Ringside works without it, but something is lost
};

struct Finding {
  std::string name;  ///< "Graphviz", ...
  Health health = Health::kFound;
  std::string detail;  ///< what was found, or what is missing
  std::string cost;    ///< of what is missing: what does not work without it
  std::string remedy;  ///< how to get it
};

std::vector<Finding> find_everything();

}  // namespace ringside::cli
