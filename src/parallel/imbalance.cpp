#include "parallel/imbalance.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/format_bytes.h"

namespace ringside {
namespace {

/// Bytes; infinite where nothing limits them.
double memory_of(const Device* device) {
  const std::size_t capacity = device->memory().capacity;
  return capacity == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(capacity);
}

std::string memory_text(const Device* device) {
  const std::size_t capacity = device->memory().capacity;
  return capacity == 0 ? "without limit" : format_bytes(capacity);
}

}  // namespace

std::string imbalance_warning(const std::vector<const Device*>& devices) {
  constexpr double kLeastShare = 0.75;
  const auto smaller = [](const Device* a, const Device* b) { return memory_of(a) < memory_of(b); };
  // The first of those that are alike, as PyTorch names it.
  const auto weakest = std::min_element(devices.begin(), devices.end(), smaller);
  const auto strongest = std::max_element(devices.begin(), devices.end(), smaller);
  // Of two infinities, neither has less.
  if (!(memory_of(*weakest) < kLeastShare * memory_of(*strongest))) return {};
  return fmt::format(
      "There is an imbalance between your GPUs. You may want to exclude GPU {} which has less than "
      "75% of the memory or cores of GPU {}. You can do so by setting the device_ids argument to "
      "DataParallel, or by setting the CUDA_VISIBLE_DEVICES environment variable. (memory of "
      "device "
      "{}: {}, of device {}: {})",
      (*weakest)->rank(), (*strongest)->rank(), (*weakest)->rank(), memory_text(*weakest),
      (*strongest)->rank(), memory_text(*strongest));
}

}  // namespace ringside
