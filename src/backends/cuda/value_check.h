// Values that only the GPU sees and that may be wrong: targets and indices.
//
// A kernel that meets one reports the first place and goes on without it; the host finds the report
// when it next waits for a stream of the device, and throws it there, as the other backends do.
// Without a report that costs the host one read of its own memory. Threads: one at a time, the
// device's.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

namespace ringside::cuda {

/// Which kernel looks; its words are in value_check.cpp.
enum class Checked : std::int32_t { kCrossEntropy, kCountCorrect, kEmbedding };

struct ValueReport {
  std::int64_t place = -1;  ///< the first in the array; -1 = none
  std::int64_t value = 0;
  std::int64_t limit = 0;  ///< values go from 0 to below it
  Checked kernel = Checked::kCrossEntropy;
  int locked = 0;  ///< 1 while a thread of the GPU writes
};

/// What a kernel gets.
struct ValueReporter {
  ValueReport* report;     ///< on the GPU
  volatile int* reported;  ///< on the host, visible to the GPU
};

/// "cross_entropy: target 11 of row 3 is outside [0, 10)"
std::string describe(const ValueReport& report);
std::string remedy(const ValueReport& report);

class ValueCheck {
 public:
  /// For the current device.
  ValueCheck();
  ~ValueCheck();
  ValueCheck(const ValueCheck&) = delete;
  ValueCheck& operator=(const ValueCheck&) = delete;

  ValueReporter reporter() const { return {report_, reported_}; }
  /// After waiting for the work: throws Error(kInvalidInput) once for what was reported.
  void throw_if_reported();

 private:
  void forget();

  ValueReport* report_ = nullptr;
  int* reported_ = nullptr;
};

}  // namespace ringside::cuda
