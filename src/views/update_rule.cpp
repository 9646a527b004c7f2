#include "views/update_rule.h"

#include <fmt/format.h>

#include <algorithm>

namespace ringside {
namespace {

constexpr std::string_view kMomentum = "SGD with momentum";
constexpr std::string_view kNesterov = "SGD with Nesterov's momentum";
constexpr std::string_view kAdam = "Adam";
constexpr std::string_view kAdamW = "AdamW";

// A first step writes the velocity without having read it.
bool keeps_velocity(const TraceOp& op) {
  return std::any_of(op.writes.begin(), op.writes.end(), [](const TraceTensor& tensor) {
    return tensor.name.ends_with(".momentum_buffer");
  });
}

}  // namespace

std::string UpdateRule::text(std::string_view gradient) const {
  if (name == kMomentum) return fmt::format("v ← μ · v + {}\nW ← W − η · v", gradient);
  if (name == kNesterov) {
    return fmt::format("v ← μ · v + {0}\nW ← W − η ({0} + μ · v)", gradient);
  }
  if (name == kAdam) return fmt::format("m, v from {0}, {0}²\nW ← W − η · m / √v", gradient);
  if (name == kAdamW) {
    return fmt::format("m, v from {0}, {0}²\nW ← (1 − ηλ) W − η · m / √v", gradient);
  }
  return fmt::format("W ← W − η · {}", gradient);
}

UpdateRule update_rule(const Trace& trace, int step) {
  for (const TraceOp& op : trace.ops) {
    if (op.step != step || op.phase != Phase::kUpdate || op.kind != OpKind::kCompute) continue;
    if (op.name == "adam") return {std::string(kAdam), "m and v", 2};
    if (op.name == "adamw") return {std::string(kAdamW), "m and v", 2};
    if (op.name == "sgd-nesterov") return {std::string(kNesterov), "v", 1};
    if (op.name == "sgd") {
      return keeps_velocity(op) ? UpdateRule{std::string(kMomentum), "v", 1}
                                : UpdateRule{"SGD", "", 0};
    }
  }
  return {"SGD", "", 0};
}

}  // namespace ringside
