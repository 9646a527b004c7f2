// Where a checkpoint goes: the option save, in which "{step}" stands for the step.
#pragma once

#include <string>
#include <string_view>

namespace ringside {

inline constexpr std::string_view kStepMark = "{step}";

/// `save` with `step` for the first mark.
inline std::string save_path(std::string save, std::string_view step) {
  if (const std::size_t at = save.find(kStepMark); at != std::string::npos) {
    save.replace(at, kStepMark.size(), step);
  }
  return save;
}

}  // namespace ringside
