#include "calculators/costs.h"

#include <fmt/format.h>

#include "ringside/error.h"

namespace ringside {
namespace {

std::size_t divide_up(std::size_t value, std::size_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

/// `passes` times (n-1)/n of the bytes: a ring's reduce-scatter or all-gather is one.
std::size_t ring_bytes(std::size_t bytes, std::size_t passes, std::size_t devices) {
  // Whole multiples first, so that the products of large models stay below 2^64.
  const std::size_t whole = bytes / devices * (devices - 1) * passes;
  return whole + divide_up(bytes % devices * (devices - 1) * passes, devices);
}

/// Bytes of moments, in float32.
std::size_t moment_bytes(std::string_view optimizer) {
  if (optimizer == "sgd") return 0;
  if (optimizer == "momentum") return 4;
  if (optimizer == "adam" || optimizer == "adamw") return 8;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("optimizer '{}': must be sgd, momentum, adam or adamw", optimizer));
}

/// A worker sends and receives S; a server does so with every worker, for its part.
BusiestDevice busiest_of_parameter_servers(std::size_t bytes, std::size_t workers,
                                           std::size_t servers) {
  if (servers > workers) return {"PS", "every worker", bytes, bytes, "S"};
  const std::size_t served = workers * divide_up(bytes, servers);
  if (servers == 1) return {"PS", "the server", served, served, "N S"};
  return {"PS", "every server", served, served, "N S/M"};
}

}  // namespace

Precision parse_precision(std::string_view name) {
  if (name == "float32") return Precision::kFloat32;
  if (name == "mixed") return Precision::kMixed;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("precision '{}': must be float32 or mixed", name));
}

BytesPerParameter bytes_per_parameter(std::string_view optimizer, Precision precision) {
  const std::size_t moments = moment_bytes(optimizer);
  if (precision == Precision::kFloat32) return {4, 4, moments};
  return {2, 2, moments + 4};
}

std::vector<MemoryShare> memory_shares(std::size_t parameters, const BytesPerParameter& bytes,
                                       std::size_t devices) {
  const std::size_t part = divide_up(parameters, devices);
  const auto share = [&](std::string strategy, std::size_t weights, std::size_t gradients,
                         std::size_t optimizer) {
    return MemoryShare{std::move(strategy), weights * bytes.weight, gradients * bytes.gradient,
                       optimizer * bytes.optimizer};
  };
  return {share("DP, home", parameters, parameters, parameters),
          share("DP, others", parameters, parameters, 0),
          share("DDP", parameters, parameters, parameters),
          share("ZeRO-1", parameters, parameters, part),
          share("ZeRO-2", parameters, part, part),
          share("ZeRO-3", part, part, part)};
}

DataParallelTraffic data_parallel_traffic(std::size_t parameter_bytes, std::size_t input_bytes,
                                          std::size_t output_bytes, std::size_t devices) {
  const std::size_t others = devices - 1;
  const auto of_others = [&](std::size_t bytes) { return bytes - divide_up(bytes, devices); };
  return {of_others(input_bytes), others * parameter_bytes, of_others(output_bytes),
          of_others(output_bytes), others * parameter_bytes};
}

std::vector<BusiestDevice> busiest_devices(std::size_t parameter_bytes,
                                           const DataParallelTraffic& dp, std::size_t devices,
                                           std::size_t servers) {
  const std::size_t twice = ring_bytes(parameter_bytes, 2, devices);
  const std::size_t thrice = ring_bytes(parameter_bytes, 3, devices);
  return {{"DP", "device 0", dp.in(), dp.out(), "(N-1)S each way, inputs and outputs"},
          busiest_of_parameter_servers(parameter_bytes, devices, servers),
          {"DDP", "every rank", twice, twice, "2(N-1)/N S"},
          {"ZeRO-1", "every rank", twice, twice, "2(N-1)/N S"},
          {"ZeRO-2", "every rank", twice, twice, "2(N-1)/N S"},
          {"ZeRO-3", "every rank", thrice, thrice, "3(N-1)/N S"}};
}

}  // namespace ringside
