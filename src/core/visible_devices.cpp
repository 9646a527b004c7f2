#include "core/visible_devices.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "core/whole_number.h"
#include "ringside/error.h"

namespace ringside {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// The index that `entry` spells, or -1.
int parse_index(std::string_view entry) { return whole_number<int>(trim(entry)).value_or(-1); }

}  // namespace

std::vector<int> visible_devices(int physical_count, const char* value, std::string_view variable) {
  std::vector<int> visible;
  if (value == nullptr) {
    for (int index = 0; index < physical_count; ++index) visible.push_back(index);
    return visible;
  }
  std::vector<bool> listed(static_cast<std::size_t>(physical_count), false);
  std::string_view rest = value;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const int index = parse_index(rest.substr(0, comma));
    if (index < 0 || index >= physical_count) break;
    if (listed[static_cast<std::size_t>(index)]) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{}='{}': device {} is listed twice, which leaves no device visible",
                              variable, value, index),
                  "list every device once");
    }
    listed[static_cast<std::size_t>(index)] = true;
    visible.push_back(index);
    if (more) rest.remove_prefix(comma + 1);
  }
  return visible;
}

std::vector<int> simulated_devices(int size, const char* value) {
  std::vector<int> devices = visible_devices(value == nullptr ? size : kPhysicalDevices, value);
  if (devices.size() < static_cast<std::size_t>(size)) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{} {} asked for, but {}='{}' makes {} visible", size,
                    size == 1 ? "device is" : "devices are", kVisibleDevicesVariable, value,
                    devices.size()),
        fmt::format("ask for fewer devices, or list more in {} (an entry that is not an index "
                    "hides all after it)",
                    kVisibleDevicesVariable));
  }
  devices.resize(static_cast<std::size_t>(size));
  return devices;
}

}  // namespace ringside
