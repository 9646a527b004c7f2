// What is shared by workers and servers, and the checks before there are any.
#include "parallel/parameter_server.h"

#include <fmt/format.h>

#include "ringside/error.h"

namespace ringside {
namespace {

[[noreturn]] void throw_invalid(const std::string& message, std::string hint = {}) {
  throw Error(ErrorKind::kInvalidArgument, message, std::move(hint));
}

void check_options(const ParameterServerOptions& options, const Module& module, int ranks) {
  if (options.ranks() != ranks) {
    throw_invalid(
        fmt::format("{} workers of {} and {} servers of {} devices need {} ranks: the "
                    "world has {}",
                    options.workers, options.worker_devices, options.servers,
                    options.server_devices, options.ranks(), ranks));
  }
  if (options.asynchronous && (!options.server_updates || options.server_devices > 1)) {
    throw_invalid(
        "an asynchronous server applies each push by itself: it must be the one that "
        "updates, and have one device");
  }
  const std::size_t elements = element_count(module.named_parameters());
  if (static_cast<std::size_t>(options.servers) > elements) {
    throw_invalid(fmt::format("{} servers: the model has {} parameters, and each server keeps at "
                              "least one",
                              options.servers, elements),
                  "choose fewer servers, or a larger model");
  }
}

void submit_sum(Tensor& sum, const Tensor& term, double factor, bool first) {
  const TensorRef reads[] = {{term.name(), &term.array()}};
  const TensorRef writes[] = {{sum.name(), &sum.array()}};
  OpInfo info;
  info.name = "aggregate";
  info.label = term.name();
  info.flops = static_cast<double>(sum.numel()) * ((first ? 0 : 1) + (factor == 1 ? 0 : 1));
  info.bytes = sum.bytes();
  info.reads = reads;
  info.writes = writes;
  sum.device().compute().submit(
      info, [sum = sum.array(), term = term.array(), factor, first](LaunchContext& launch) {
        Kernels& kernels = launch.kernels;
        if (first) {
          kernels.scale(launch, sum, term, factor);
        } else {
          if (factor != 1) kernels.scale(launch, term, term, factor);
          kernels.add(launch, sum, 1, sum, 1, term);
        }
      });
}

}  // namespace

void accumulate(Tensor& sum, std::vector<Tensor>& terms, double factor, bool continues) {
  for (const Tensor& term : terms) {
    submit_sum(sum, term, factor, !continues);
    continues = true;
  }
}

std::unique_ptr<Strategy> make_parameter_server(std::shared_ptr<Module> module, Rank& rank,
                                                const ParameterServerOptions& options) {
  check_options(options, *module, rank.communicator.size());
  if (ParameterServerLayout(options).is_worker(rank.rank)) {
    return make_worker(std::move(module), rank, options);
  }
  return make_server(std::move(module), rank, options);
}

}  // namespace ringside
