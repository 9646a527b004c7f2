// The step and phase stamped on the ops of all devices that one host thread drives.
#pragma once

#include <string_view>
#include <vector>

#include "ringside/device.h"
#include "ringside/inline_vector.h"

namespace ringside {

/// Sets step and phase on several devices and restores what they had at the end. Strategies hold
/// one for the whole step and one for each phase.
class StepScope {
 public:
  StepScope(const std::vector<Device*>& devices, int step, Phase phase) {
    for (Device* device : devices) {
      before_.push_back({device, device->context()});
      device->context().step = step;
      device->context().phase = phase;
    }
  }
  /// Only the phase changes.
  StepScope(const std::vector<Device*>& devices, Phase phase) {
    for (Device* device : devices) {
      before_.push_back({device, device->context()});
      device->context().phase = phase;
    }
  }
  ~StepScope() {
    for (const Saved& saved : before_) saved.device->context() = saved.context;
  }
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  struct Saved {
    Device* device = nullptr;
    OpContext context;
  };
  InlineVector<Saved, 4> before_;
};

}  // namespace ringside
