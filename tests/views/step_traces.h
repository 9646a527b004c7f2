// Traces with what the example traces lack: parts of unequal size, idle devices, other trees than
// stars, any number of ranks and buckets.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ringside/trace.h"

namespace ringside::test {

/// Of every trace made here.
inline constexpr int kStep = 2;
inline constexpr std::size_t kParameters = 1'000'000;

struct DataParallelCase {
  int devices = 4;
  std::vector<int> device_ids = {0, 1, 2, 3};
  int output_device = 0;
  std::vector<std::size_t> rows = {3, 3, 3, 1};  ///< of each chunk; fewer than ids: idle devices
  Algorithm algorithm = Algorithm::kStar;        ///< of broadcast and reduce
};

/// One DataParallel step, step 2, of a model of 1,000,000 parameters on rows of 64 numbers.
Trace data_parallel_case(const DataParallelCase& what);

/// One DDP step, step 2, with a bucket per convolution; bucket k has (k + 1) * 100,000 elements.
Trace ddp_case(int ranks, int buckets);

/// One step of a parameter server, step 2, of a model of 1,000,000 parameters; one device for each
/// worker and server. `optimizer` is an op's name, or "momentum" for sgd with it. Asynchronous: the
/// last worker pushes first, 0 updates old, then the others from the last to the first, 0, 1, 2,
/// ... updates old; `absent_worker`, who has none, only took part in the step before.
Trace parameter_server_case(const TraceRun::ParameterServer& who,
                            const std::string& optimizer = "sgd", int absent_worker = -1);

/// One step on a single device, step 2.
Trace single_case();

}  // namespace ringside::test
