// What an update does to a parameter, in the words of a picture: SGD, momentum, Adam.
#pragma once

#include <string>
#include <string_view>

#include "ringside/trace.h"

namespace ringside {

struct UpdateRule {
  std::string name;       ///< "SGD", "SGD with momentum", "Adam"
  std::string state;      ///< "v", "m and v"; empty where nothing is kept from step to step
  int state_tensors = 0;  ///< of the size of a parameter

  /// The lines of a box: "v ← μ · v + dW" and "W ← W − η · v". `gradient` is what stands for dW.
  std::string text(std::string_view gradient) const;
};

/// Of the optimiser whose ops `step` has; plain SGD's where it has none.
UpdateRule update_rule(const Trace& trace, int step);

}  // namespace ringside
