// What training costs under each strategy, from the number of parameters alone: bytes on a device,
// and bytes through the busiest one. Activations, workspaces and the allocator's rounding are not
// in it. [Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter
// models", 2019]
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringside {

enum class Precision : std::uint8_t {
  kFloat32,
  kMixed  ///< weights and gradients of 2 bytes, and the optimiser keeps weights in float32
};
/// "float32", "mixed". Throws Error(kInvalidArgument) listing them.
Precision parse_precision(std::string_view name);

/// Bytes per parameter.
struct BytesPerParameter {
  std::size_t weight = 0;
  std::size_t gradient = 0;
  std::size_t optimizer = 0;  ///< moments, and with mixed precision the float32 weights
};
/// `optimizer`: "sgd", "momentum", "adam" or "adamw". Throws Error(kInvalidArgument) listing them.
BytesPerParameter bytes_per_parameter(std::string_view optimizer, Precision precision);

/// On one device.
struct MemoryShare {
  std::string strategy;  ///< "DP, home", "DP, others", "DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3"
  std::size_t weights = 0;
  std::size_t gradients = 0;
  std::size_t optimizer = 0;
  std::size_t total() const { return weights + gradients + optimizer; }
};
/// What is cut is cut into `devices` equal parts, rounded up to whole parameters.
std::vector<MemoryShare> memory_shares(std::size_t parameters, const BytesPerParameter& bytes,
                                       std::size_t devices);

/// DataParallel's copies in one step, bytes by their cause; the input lies on the home device.
struct DataParallelTraffic {
  std::size_t scatter = 0;           ///< the inputs, out of home
  std::size_t replicate = 0;         ///< the parameters, out of home
  std::size_t gather = 0;            ///< the outputs, into home
  std::size_t scatter_gradient = 0;  ///< of the outputs, out of home
  std::size_t reduce = 0;            ///< the parameters' gradients, into home
  std::size_t out() const { return scatter + replicate + scatter_gradient; }
  std::size_t in() const { return gather + reduce; }
};
/// `input_bytes` and `output_bytes` are of the whole batch, of which the home device keeps its
/// share.
DataParallelTraffic data_parallel_traffic(std::size_t parameter_bytes, std::size_t input_bytes,
                                          std::size_t output_bytes, std::size_t devices);

/// Bytes per step into and out of the busiest device.
struct BusiestDevice {
  std::string strategy;  ///< "DP", "PS", "DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3"
  std::string device;    ///< who that is: "device 0", "the server", "every server", "every rank"
  std::size_t in = 0;
  std::size_t out = 0;
  std::string formula;  ///< "(N-1)S"
};
/// S = `parameter_bytes`; `dp` is DataParallel's row. PS has `devices` workers and M = `servers`,
/// which share the parameters equally; with more servers than workers a worker is the busiest. The
/// others are rings, rounded up to whole bytes.
std::vector<BusiestDevice> busiest_devices(std::size_t parameter_bytes,
                                           const DataParallelTraffic& dp, std::size_t devices,
                                           std::size_t servers = 1);

}  // namespace ringside
