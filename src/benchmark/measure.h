// Times one operation over a range of sizes, on any world, and verifies the results.
//
// As nccl-tests: for each size the operation runs a few times to warm up, then `iterations` times
// back to back, and the time of one is the mean over them: a throughput, not the latency of a lone
// call. Then the buffers are filled anew, and the result of one more call is compared element by
// element. Unlike nccl-tests, which by default averages over the ranks, a row's time is the slowest
// rank's, and each size is warmed up, not the first and the last alone.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "benchmark/figures.h"
#include "ringside/world.h"

namespace ringside::benchmark {

struct Request {
  /// kSend stands for sendrecv: every rank sends to the next and receives from the one before.
  Operation operation = Operation::kAllReduce;
  Communicator::Defaults algorithm;  ///< and its parameters
  DType dtype = DType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  std::vector<std::size_t> sizes;  ///< bytes, as sizes_of makes them
  int iterations = 20;
  int warmup = 1;        ///< calls before each measurement
  bool check = true;     ///< verify the results
  bool in_place = true;  ///< measure calls in place, too, where the operation has them
  /// Bytes of memory that may be used on this machine, by all its ranks together; 0 = not looked
  /// at.
  std::size_t host_memory = 0;
};

struct Measurement {
  double seconds = 0;                ///< of one call, on the slowest rank
  double mean_seconds = 0;           ///< the mean over the ranks, which is nccl-tests' default
  double algorithm_bandwidth = 0;    ///< bytes per second: size / seconds
  double bus_bandwidth = 0;          ///< the same times bus_factor
  std::optional<std::size_t> wrong;  ///< elements on all ranks; none where nothing was verified
};

struct Row {
  Extent extent;
  Measurement out_of_place;
  std::optional<Measurement> in_place;  ///< none where it is not asked for, or cannot be
};

/// Called on world rank 0's thread, of its process alone.
struct Observer {
  std::function<void(std::size_t done, const Extent& next)> progress;
  std::function<void(const Row&)> row;
};

/// All-to-all and sendrecv cannot be in place.
bool can_be_in_place(Operation operation);

/// The rows, in the order of the sizes, the same in every process. Throws Error(kOutOfMemory)
/// before anything runs if the largest buffers do not fit, Error(kInvalidArgument) for a root,
/// algorithm or node size that the operation or the world does not have, and what the operation
/// throws.
std::vector<Row> measure(World& world, const Request& request, const Observer& observer = {});

/// nccl-tests' last line: the mean of all bus bandwidths, out of place and in place; 0 of none.
double average_bus_bandwidth(const std::vector<Row>& rows);
/// Wrong elements of all rows.
std::size_t total_wrong(const std::vector<Row>& rows);

}  // namespace ringside::benchmark
