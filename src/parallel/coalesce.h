// Coalescing: many small tensors sent as a few flat buffers.
//
// Two rules live in one library: DataParallel and DDP's initial synchronisation close a piece
// *before* a tensor would make it exceed the limit (below); DDP's gradient buckets close *after*
// the limit is reached (assign_buckets).
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "ringside/tensor.h"

namespace ringside {

/// torch.nn.parallel's coalescing buffer: 10 MiB.
inline constexpr std::size_t kReplicateBytes = 10 * 1024 * 1024;
/// DDP's initial synchronisation: 250 MiB (262,144,000 bytes).
inline constexpr std::size_t kInitialSyncBytes = 250 * 1024 * 1024;

/// Indices of `tensors` in pieces of one dtype each, in order, that stay within `limit` bytes
/// unless a single tensor is larger. [torch/_utils.py, _take_tensors]
std::vector<std::vector<std::size_t>> coalesce(const std::vector<Tensor>& tensors,
                                               std::size_t limit);

/// A flat buffer on one device with a view per tensor.
struct FlatBuffer {
  Tensor flat;                ///< one-dimensional
  std::vector<Tensor> views;  ///< in order, each in its tensor's shape and with its name

  /// Room for tensors like `models`, on `device`. Throws Error(kInvalidArgument) for models of
  /// several dtypes.
  FlatBuffer(Device& device, const std::vector<Tensor>& models, MemoryKind kind,
             std::string_view name);
  /// Enqueues the copies of `tensors` into the views; undefined ones become zeros.
  void copy_in(const std::vector<Tensor>& tensors);
  /// Enqueues the copies of the views into `tensors`.
  void copy_out(std::vector<Tensor>& tensors) const;
};

}  // namespace ringside
