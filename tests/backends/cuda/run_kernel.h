// A row of the table of kernels, run on a device.
#pragma once

#include <vector>

#include "backends/cuda/kernel_case.h"
#include "ringside/device.h"

namespace ringside::test {

/// All arrays after the call, in the order of the arguments, as numbers.
using Results = std::vector<std::vector<double>>;

/// Fills the arrays (always the same values for the same row and seed), calls the kernel on the
/// compute stream, and waits. `skewed`: every array begins one element behind a place where 16
/// bytes can be read at once.
Results run_kernel(Device& device, const KernelCase& kernel_case, DType dtype, std::uint32_t seed,
                   bool skewed);

/// Where `results` are further from `expected` than the row allows; empty if nowhere.
std::string differences(const KernelCase& kernel_case, DType dtype, const Results& expected,
                        const Results& results);

}  // namespace ringside::test
