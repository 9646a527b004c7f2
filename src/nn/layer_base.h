// What all layers share: how they are copied, and a check.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "ringside/error.h"
#include "ringside/nn.h"

namespace ringside {

inline void check_positive(std::string_view layer, std::string_view what, std::int64_t value) {
  if (value > 0) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: {} {}: must be at least 1", layer, what, value));
}

/// What every layer says of itself and how it is copied, so that its class says what it computes.
template <typename Layer>
class LayerBase : public Module {
 public:
  std::shared_ptr<Module> shallow_copy() const override {
    return std::make_shared<Layer>(static_cast<const Layer&>(*this));
  }
};

}  // namespace ringside
