// What a run does beside the training it shows.
#pragma once

#include <utility>
#include <vector>

#include "ringside/device.h"

namespace ringside {

/// Metrics, evaluation and checks are not part of the training step: the recorder does not hear of
/// them.
class Unrecorded {
 public:
  explicit Unrecorded(const std::vector<Device*>& devices) {
    for (Device* device : devices) {
      before_.emplace_back(device, device->listener());
      device->set_listener(nullptr);
    }
  }
  ~Unrecorded() {
    for (const auto& [device, listener] : before_) device->set_listener(listener);
  }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;

 private:
  std::vector<std::pair<Device*, OpListener*>> before_;
};

}  // namespace ringside
