// Where a copy goes: OpInfo has the other device only, the rest is told by what it reads and
// writes.
#pragma once

#include <cstdint>

#include "ringside/trace.h"

namespace ringside {

enum class CopyRoute : std::uint8_t {
  kFromHost,
  kToHost,
  kOnDevice,    ///< from one place of the device's memory to another
  kFromDevice,  ///< from `peer`
  kToDevice     ///< to `peer`
};

/// A copy that only reads takes a tensor away from its device, one that writes brings it there;
/// with both and no peer it stays.
inline CopyRoute route_of(const TraceOp& copy) {
  const bool away = copy.writes.empty() && !copy.reads.empty();
  if (copy.peer == copy.rank) return CopyRoute::kOnDevice;
  if (copy.peer >= 0) return away ? CopyRoute::kToDevice : CopyRoute::kFromDevice;
  if (away) return CopyRoute::kToHost;
  return copy.reads.empty() ? CopyRoute::kFromHost : CopyRoute::kOnDevice;
}

/// True for a copy from one device to another.
inline bool is_between_devices(const TraceOp& op) {
  if (op.kind != OpKind::kCopy) return false;
  const CopyRoute route = route_of(op);
  return route == CopyRoute::kFromDevice || route == CopyRoute::kToDevice;
}

}  // namespace ringside
