// How a kernel reports a value that is out of range (value_check.h).
#pragma once

#include <cuda_runtime.h>

#include "backends/cuda/value_check.h"

namespace ringside::cuda {

/// The first kernel's report stays, with its first place, so that it does not vary from run to run.
__device__ inline void report_value(const ValueReporter& to, Checked kernel, std::int64_t place,
                                    std::int64_t value, std::int64_t limit) {
  volatile ValueReport* report = to.report;
  while (atomicCAS(&to.report->locked, 0, 1) != 0) {
  }
  __threadfence();
  if (report->place < 0 || (report->kernel == kernel && place < report->place)) {
    report->place = place;
    report->value = value;
    report->limit = limit;
    report->kernel = kernel;
  }
  __threadfence();
  atomicExch(&to.report->locked, 0);
  *to.reported = 1;
  __threadfence_system();
}

}  // namespace ringside::cuda
