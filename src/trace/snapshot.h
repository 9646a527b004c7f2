// The values of a tensor at a point of a stream: whole when it is small, else norm and checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/fnv1a.h"
#include "ringside/trace.h"

namespace ringside {

/// Norm, checksum and values of elements that come piece by piece.
class Digest {
 public:
  Digest(DType dtype, bool keep_values) : dtype_(dtype), keep_values_(keep_values) {}
  /// Whole elements of the dtype.
  void update(std::span<const std::byte> bytes);
  /// Fills in values, or norm and checksum. An int64 that a double cannot hold gives the latter.
  void store(TraceTensor& tensor) const;

 private:
  DType dtype_;
  bool keep_values_;
  bool exact_ = true;
  std::vector<double> values_;
  double sum_of_squares_ = 0;
  Fnv1a checksum_;
};

/// Taken by a launch, read when the stream is synchronised. The launch shares it, so that it can
/// run whenever it likes.
class Snapshot {
 public:
  Snapshot(DType dtype, bool keep_values) : digest_(dtype, keep_values) {}
  void take(LaunchContext& context, const DeviceArray& array);
  bool taken() const { return taken_; }
  /// Does nothing if the launch never ran (after an asynchronous error).
  void store(TraceTensor& tensor);

 private:
  Digest digest_;
  bool taken_ = false;
  std::vector<std::byte> pending_;  // a native stream fills it after the launch has returned
};

}  // namespace ringside
