// One number for the values of a state, by which two of them are compared.
#pragma once

#include <cstdint>
#include <vector>

#include "ringside/nn.h"

namespace ringside {

/// FNV-1a over all values as float64, in the order given. Blocks the host.
std::uint64_t state_checksum(const std::vector<NamedTensor>& state);
/// Its first 52 bits: a whole number that a float64 holds, for ranks to exchange.
std::int64_t short_checksum(const std::vector<NamedTensor>& state);

}  // namespace ringside
