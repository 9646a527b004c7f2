#include "views/time_axis.h"

#include <algorithm>
#include <cmath>

namespace ringside {

double tick_step(double total) {
  double step = std::pow(10, std::floor(std::log10(total / 12)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if (total / step <= 12) break;
    step *= factor;
  }
  return step;
}

AxisUnit axis_unit(double total, double step) {
  AxisUnit unit = {"s", 1, 0};
  if (total < 1) unit = {"ms", 1e3, 0};
  if (total < 1e-3) unit = {"µs", 1e6, 0};
  // A hundredth more, because a power of ten that was computed may lie just below.
  const double exponent = std::floor(std::log10(step * unit.per_second * 1.01));
  unit.decimals = std::max(0, static_cast<int>(-exponent));
  return unit;
}

}  // namespace ringside
