#include "parallel/state_checksum.h"

#include <span>

#include "core/fnv1a.h"

namespace ringside {

std::uint64_t state_checksum(const std::vector<NamedTensor>& state) {
  Fnv1a checksum;
  for (const NamedTensor& entry : state) {
    const std::vector<double> values = host_values(entry.tensor);
    checksum.add(std::as_bytes(std::span(values)));
  }
  return checksum.value();
}

std::int64_t short_checksum(const std::vector<NamedTensor>& state) {
  constexpr int kUnused = 12;
  return static_cast<std::int64_t>(state_checksum(state) >> kUnused);
}

}  // namespace ringside
