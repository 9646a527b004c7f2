// RINGSIDE_VISIBLE_DEVICES: which of the simulated devices a program sees, and in which order. The
// rules are those of CUDA_VISIBLE_DEVICES (CUDA C++ Programming Guide, "CUDA Environment
// Variables").
#pragma once

#include <string_view>
#include <vector>

namespace ringside {

inline constexpr const char* kVisibleDevicesVariable = "RINGSIDE_VISIBLE_DEVICES";

/// The physical indices that are visible, in their new order. `value` is the variable's value; null
/// (unset) shows all of 0 .. physical_count - 1. The list is comma-separated; its first entry that
/// is not an index below `physical_count` (a negative number, a word) hides itself and all that
/// follow. An empty value hides all. An index that is listed twice hides all in CUDA; here that
/// throws Error(kInvalidArgument), which says which. `variable` is its name for that message.
std::vector<int> visible_devices(int physical_count, const char* value,
                                 std::string_view variable = kVisibleDevicesVariable);

/// The physical indices of a world of `size` simulated devices: the first `size` visible ones of
/// kPhysicalDevices, or 0 .. size - 1 when `value` is null. Throws Error(kInvalidArgument) when
/// fewer are visible, showing both numbers and the variable.
std::vector<int> simulated_devices(int size, const char* value);
/// As many devices a machine is taken to have when RINGSIDE_VISIBLE_DEVICES is set.
inline constexpr int kPhysicalDevices = 16384;

}  // namespace ringside
