// What is shared by workers and servers, and the checks before there are any.
#include "parallel/parameter_server.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ringside/error.h"

namespace ringside {
namespace {

[[noreturn]] void throw_invalid(const std::string& message, std::string hint = {}) {
  throw Error(ErrorKind::kInvalidArgument, message, std::move(hint));
}

void check_counts(const ParameterServerOptions& options, int ranks) {
  const std::pair<const char*, int> counts[] = {{"workers", options.workers},
                                                {"servers", options.servers},
                                                {"worker_devices", options.worker_devices},
                                                {"server_devices", options.server_devices}};
  for (const auto& [name, count] : counts) {
    if (count < 1) throw_invalid(fmt::format("{} {}: must be at least 1", name, count));
  }
  const std::int64_t needed = std::int64_t{options.workers} * options.worker_devices +
                              std::int64_t{options.servers} * options.server_devices;
  if (needed != ranks) {
    throw_invalid(
        fmt::format("{} workers of {} and {} servers of {} devices need {} ranks: the "
                    "world has {}",
                    options.workers, options.worker_devices, options.servers,
                    options.server_devices, needed, ranks));
  }
  if (options.server_devices > options.workers) {
    throw_invalid(fmt::format("server_devices {}: there are {} workers, and each device of a "
                              "server serves at least one",
                              options.server_devices, options.workers),
                  fmt::format("give a server at most {} devices", options.workers));
  }
  if (options.staleness < 0) {
    throw_invalid(fmt::format("staleness {}: must be at least 0", options.staleness));
  }
  if (!(options.clip_grad_norm >= 0)) {
    throw_invalid(fmt::format("clip_grad_norm {}: must be at least 0", options.clip_grad_norm));
  }
}

/// They lie in one flat tensor.
void check_one_dtype(const std::vector<NamedTensor>& parameters) {
  for (const NamedTensor& entry : parameters) {
    const NamedTensor& first = parameters.front();
    if (entry.tensor.dtype() == first.tensor.dtype()) continue;
    throw_invalid(
        fmt::format("{} is {} and {} is {}: a server keeps parameters of one dtype", first.name,
                    to_string(first.tensor.dtype()), entry.name, to_string(entry.tensor.dtype())),
        "make all parameters with one dtype");
  }
}

void check_options(const ParameterServerOptions& options, const Module& module, int ranks) {
  check_counts(options, ranks);
  if (options.asynchronous && (!options.server_updates || options.server_devices > 1)) {
    throw_invalid(
        "an asynchronous server applies each push by itself: it must be the one that "
        "updates, and have one device");
  }
  if (!options.worker_steps.empty() &&
      options.worker_steps.size() != static_cast<std::size_t>(options.workers)) {
    throw_invalid(fmt::format("worker_steps: {} numbers for {} workers",
                              options.worker_steps.size(), options.workers));
  }
  const std::vector<NamedTensor> parameters = trained_parameters(module);
  check_one_dtype(parameters);
  const std::size_t elements = element_count(parameters);
  if (static_cast<std::size_t>(options.servers) > elements) {
    throw_invalid(fmt::format("{} servers: the model has {} parameters to train, and each server "
                              "keeps at least one",
                              options.servers, elements),
                  "choose fewer servers, or a larger model");
  }
}

void submit_sum(Tensor& sum, const Tensor& term, double factor, bool first) {
  const TensorRef read[] = {{term.name(), &term.array()}, {sum.name(), &sum.array()}};
  const TensorRef written[] = {{sum.name(), &sum.array()}, {term.name(), &term.array()}};
  const bool scales_term = !first && factor != 1;
  OpInfo info;
  info.name = "aggregate";
  info.label = term.name();
  info.flops = static_cast<double>(sum.numel()) * ((first ? 0 : 1) + (factor == 1 ? 0 : 1));
  info.bytes = sum.bytes();
  info.reads = std::span(read).first(first ? 1 : 2);
  info.writes = std::span(written).first(scales_term ? 2 : 1);
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

std::vector<NamedTensor> trained_parameters(const Module& module) {
  std::vector<NamedTensor> parameters = module.named_parameters();
  std::erase_if(parameters, [](const NamedTensor& entry) { return !entry.tensor.requires_grad(); });
  return parameters;
}

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
