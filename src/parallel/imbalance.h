// DataParallel's warning of devices that are not alike.
#pragma once

#include <string>
#include <vector>

#include "ringside/device.h"

namespace ringside {

/// PyTorch's warning if the smallest memory is below 75 % of the largest; else empty. A device
/// whose memory is not limited has more than any other. PyTorch looks at the number of
/// multiprocessors next, which devices of Ringside do not have. [_check_balance]
std::string imbalance_warning(const std::vector<const Device*>& devices);

}  // namespace ringside
