#include "calculators/device_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "core/clean_text.h"
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

/// The entries of a list, as they stand between its commas.
std::vector<std::string_view> entries_of(std::string_view list) {
  std::vector<std::string_view> entries;
  for (;;) {
    const std::size_t comma = list.find(',');
    entries.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return entries;
    list.remove_prefix(comma + 1);
  }
}

std::string fault_of(std::string_view entry, int physical) {
  entry.remove_prefix(std::min(entry.find_first_not_of(" \t"), entry.size()));
  if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) {
    return "names a device by its UUID, as CUDA lets one do; UUIDs are left out here, so that it "
           "counts as no device";
  }
  return fmt::format("is no device of this machine, which has 0 to {}", physical - 1);
}

void warn_of_faults(const std::string& visible, int physical, DeviceMapping& mapping) {
  if (visible.find_first_of(" \t") != std::string::npos) {
    mapping.warnings.push_back(
        fmt::format("'{}' has blanks: write it without them, since not every reader skips them",
                    shown_name(visible)));
  }
  const std::vector<std::string_view> entries = entries_of(visible);
  const std::size_t seen = mapping.physical.size();
  if (visible.empty()) {
    mapping.warnings.emplace_back("an empty list hides every device");
  } else if (seen < entries.size()) {
    mapping.warnings.push_back(fmt::format("entry {}, '{}', {}: it and all after it are hidden",
                                           seen + 1, shown_name(entries[seen]),
                                           fault_of(entries[seen], physical)));
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
  warn_of_faults(visible, physical, mapping);
  return mapping;
}

}  // namespace ringside
