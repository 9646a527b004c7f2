#include "calculators/device_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/counted.h"
#include "core/visible_devices.h"
#include "ringside/error.h"

namespace ringside {
namespace {

/// Physical numbers in the order in which CUDA counts.
std::vector<int> enumeration(int physical, const std::vector<double>& speeds) {
  std::vector<int> order(static_cast<std::size_t>(physical));
  std::iota(order.begin(), order.end(), 0);
  if (speeds.empty()) return order;
  if (speeds.size() != order.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} for {}", counted(speeds.size(), "speed"),
                            counted(order.size(), "physical device")),
                "give one speed per device, in the order of nvidia-smi");
  }
  std::stable_sort(order.begin(), order.end(), [&](int left, int right) {
    return speeds[static_cast<std::size_t>(left)] > speeds[static_cast<std::size_t>(right)];
  });
  return order;
}

void warn_of_faults(const std::string& visible, std::size_t seen, DeviceMapping& mapping) {
  if (visible.find_first_of(" \t") != std::string::npos) {
    mapping.warnings.push_back(fmt::format(
        "'{}' has blanks: write it without them, since not every reader skips them", visible));
  }
  const auto entries =
      static_cast<std::size_t>(std::count(visible.begin(), visible.end(), ',')) + 1;
  if (visible.empty()) {
    mapping.warnings.emplace_back("an empty list hides every device");
  } else if (seen < entries) {
    mapping.warnings.push_back(
        fmt::format("entry {} is no device: it and all after it are hidden", seen + 1));
  }
}

}  // namespace

DeviceMapping map_devices(int physical, const std::string& visible,
                          const std::vector<double>& speeds) {
  const std::vector<int> order = enumeration(physical, speeds);
  DeviceMapping mapping;
  for (const int number : visible_devices(physical, visible.c_str(), "CUDA_VISIBLE_DEVICES")) {
    mapping.physical.push_back(order[static_cast<std::size_t>(number)]);
  }
  for (int number = 0; number < physical; ++number) {
    if (std::find(mapping.physical.begin(), mapping.physical.end(), number) ==
        mapping.physical.end()) {
      mapping.hidden.push_back(number);
    }
  }
  warn_of_faults(visible, mapping.physical.size(), mapping);
  return mapping;
}

}  // namespace ringside
