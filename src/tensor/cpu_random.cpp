// Dropout. Element i takes word i % 4 of block i / 4 of its key's Philox numbers, whoever computes
// it.
#include <algorithm>

#include "tensor/cpu_kernel_set.h"
#include "tensor/philox.h"

namespace ringside {

void CpuKernels::dropout(LaunchContext&, const DeviceArray& y, const DeviceArray& x, double p,
                         const RandomKey& key) {
  visit_floating(y.dtype, [&]<typename T>() {
    const PhiloxKey seed{static_cast<std::uint32_t>(key.seed),
                         static_cast<std::uint32_t>(key.seed >> 32)};
    // Kept are words from p * 2^32 on: with probability 1 - p.
    const auto dropped = static_cast<std::uint64_t>(p * 4294967296.0);
    const T scale = p < 1 ? static_cast<T>(1 / (1 - p)) : T(0);
    T* out = y.data<T>();
    const T* in = x.data<T>();
    const std::size_t count = y.count();
    for (std::size_t first = 0; first < count; first += 4) {
      const PhiloxCounter words =
          philox({static_cast<std::uint32_t>(first / 4), key.draw, key.step, key.rank}, seed);
      const std::size_t last = std::min(count, first + 4);
      for (std::size_t i = first; i < last; ++i) {
        out[i] = words[i - first] < dropped ? T(0) : in[i] * scale;
      }
    }
  });
}

}  // namespace ringside
