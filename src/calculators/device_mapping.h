// CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER: which physical device a program's cuda:0 is. [CUDA
// C++ Programming Guide, "CUDA Environment Variables"]
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ringside {

struct DeviceMapping {
  /// Physical number (as nvidia-smi counts, by PCI bus) of each logical device.
  std::vector<int> physical;
  std::vector<int> hidden;            ///< physical numbers that the program does not see
  std::vector<std::string> warnings;  ///< one sentence each
};

/// `visible` is the variable's value. `speeds` (one per physical device, or none) makes the order
/// "fastest first", CUDA's default: numbers in `visible` then count the devices by descending
/// speed, equal ones by their place. An entry that is no device hides itself and all after it.
/// Throws Error(kInvalidArgument) for a number that is listed twice, or another number of speeds.
DeviceMapping map_devices(int physical, const std::string& visible,
                          const std::vector<double>& speeds);

}  // namespace ringside
