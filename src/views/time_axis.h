// The ticks of a time axis.
#pragma once

#include <string>

namespace ringside {

/// 1, 2 or 5 times a power of ten, so that `total` seconds have at most twelve ticks.
double tick_step(double total);

/// The unit of an axis and the decimals its ticks need.
struct AxisUnit {
  std::string name;
  double per_second = 1;
  int decimals = 0;
};
AxisUnit axis_unit(double total, double step);

}  // namespace ringside
