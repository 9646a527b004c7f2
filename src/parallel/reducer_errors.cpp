#include "parallel/reducer_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "ringside/error.h"

namespace ringside {
namespace {

std::string unfinished_hint(const DdpWrapperOptions& options) {
  if (options.static_graph) {
    return "static_graph takes every iteration to use the parameters that the first one used: "
           "leave static_graph out and set find_unused_parameters=True "
           "(--find-unused-parameters), with which each may use others";
  }
  if (options.find_unused_parameters) {
    return "since find_unused_parameters=True is enabled, this likely means that not all forward "
           "outputs participate in computing loss: make sure that they do; or freeze these "
           "parameters before wrapping the module";
  }
  return "enable unused parameter detection with find_unused_parameters=True "
         "(--find-unused-parameters), and make sure that all forward outputs participate in "
         "calculating loss; or freeze these parameters before wrapping the module";
}

}  // namespace

void throw_unfinished(std::span<const NamedTensor> parameters, const std::vector<bool>& ready,
                      int rank, const DdpWrapperOptions& options) {
  std::vector<std::size_t> missing;
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (ready[i]) continue;
    missing.push_back(i);
    names.push_back(parameters[i].name);
  }
  throw Error(
      ErrorKind::kTrainingFailed,
      fmt::format("Expected to have finished reduction in the prior iteration before starting a "
                  "new one: your module has parameters that were not used in producing loss. "
                  "Parameter indices which did not receive grad for rank {}: {} ({})",
                  rank, fmt::join(missing, " "), fmt::join(names, ", ")),
      unfinished_hint(options));
}

void throw_ready_twice(std::span<const NamedTensor> parameters, std::size_t parameter, int rank) {
  throw Error(ErrorKind::kTrainingFailed,
              fmt::format("Expected to mark a variable ready only once. Parameter at index {} with "
                          "name {} has been marked as ready twice on rank {}: it got a second "
                          "gradient before the first was reduced, as with a second backward while "
                          "the first one's buckets still wait, use of a module parameter outside "
                          "the `forward` function, or reused parameters in multiple reentrant "
                          "backward passes",
                          parameter, parameters[parameter].name, rank),
              "run one backward per forward, or accumulate inside no_sync");
}

void throw_graph_changed(std::span<const NamedTensor> parameters, std::size_t parameter, int rank) {
  throw Error(ErrorKind::kTrainingFailed,
              fmt::format("Your training graph has changed in this iteration: rank {}'s parameter "
                          "{} ({}) got a gradient that it did not get in the first iteration. This "
                          "is not compatible with static_graph set to True",
                          rank, parameter, parameters[parameter].name),
              "leave static_graph out; find_unused_parameters allows graphs that change");
}

void throw_not_the_view(std::span<const NamedTensor> parameters, std::size_t parameter, int rank) {
  throw Error(
      ErrorKind::kTrainingFailed,
      fmt::format("Detected at least one parameter gradient is not the expected DDP bucket "
                  "view with gradient_as_bucket_view=True: that of parameter {} ({}) on rank {}",
                  parameter, parameters[parameter].name, rank),
      "change gradients in place, or leave gradient_as_bucket_view out");
}

void throw_second_hook() {
  throw Error(ErrorKind::kInvalidArgument,
              "register_comm_hook can only be called once: a communication hook is registered "
              "already, and there can only be one",
              "combine both in one function");
}

void check_hook_result(const Tensor& result, const Tensor& values, std::size_t bucket) {
  const auto describe = [](const Tensor& tensor) {
    return tensor ? fmt::format("{} {} on {}", to_string(tensor.dtype()), to_string(tensor.shape()),
                                tensor.device().name())
                  : std::string("nothing");
  };
  if (result && result.numel() == values.numel() && result.dtype() == values.dtype() &&
      &result.device() == &values.device()) {
    return;
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("communication hook: for bucket {} it gave {}, but the bucket is {}",
                          bucket, describe(result), describe(values)),
              "a hook gives back one tensor of its bucket's shape, dtype and device");
}

}  // namespace ringside
