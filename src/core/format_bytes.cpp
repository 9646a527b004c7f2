#include "core/format_bytes.h"

#include <fmt/format.h>

#include <array>

namespace ringside {

std::string format_bytes(std::size_t bytes) {
  constexpr std::array<const char*, 7> kUnits = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  std::size_t unit = 1;
  std::size_t scale = 1000;
  while (unit + 1 < kUnits.size() && bytes / scale >= 1000) {
    scale *= 1000;
    ++unit;
  }
  // In integers, so that halves round alike everywhere; a carry ("999.96 kB") moves to the next
  // form.
  for (;;) {
    for (const int decimals : {3, 1, 0}) {
      const std::size_t per = decimals == 3 ? 1000 : decimals == 1 ? 10 : 1;
      const std::size_t step = scale / per;
      const std::size_t rounded = bytes / step + (bytes % step >= (step + 1) / 2 ? 1 : 0);
      const std::size_t limit = decimals == 3 ? 10 : decimals == 1 ? 100 : 1000;
      if (rounded >= limit * per) continue;
      if (decimals == 0) return fmt::format("{} {}", rounded, kUnits[unit]);
      return fmt::format("{}.{:0{}} {}", rounded / per, rounded % per, decimals, kUnits[unit]);
    }
    scale *= 1000;
    ++unit;
  }
}

}  // namespace ringside
