// What DDP's reducer reports, in PyTorch's key words with Ringside's names, ranks and values.
// [torch/csrc/distributed/c10d/reducer.cpp, 1.13]
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ringside/ddp.h"
#include "ringside/nn.h"

namespace ringside {

/// The next forward, after a backward in which some parameters were not `ready`.
[[noreturn]] void throw_unfinished(std::span<const NamedTensor> parameters,
                                   const std::vector<bool>& ready, int rank,
                                   const DdpWrapperOptions& options);
/// A parameter got a second gradient before the first was reduced.
[[noreturn]] void throw_ready_twice(std::span<const NamedTensor> parameters, std::size_t parameter,
                                    int rank);
/// static_graph: a gradient that the first iteration did not have.
[[noreturn]] void throw_graph_changed(std::span<const NamedTensor> parameters,
                                      std::size_t parameter, int rank);
/// gradient_as_bucket_view: somebody put another gradient in the view's place.
[[noreturn]] void throw_not_the_view(std::span<const NamedTensor> parameters, std::size_t parameter,
                                     int rank);

/// A communication hook is registered where there is one.
[[noreturn]] void throw_second_hook();
/// Throws if a hook's `result` cannot stand for the bucket's `values`.
void check_hook_result(const Tensor& result, const Tensor& values, std::size_t bucket);

}  // namespace ringside
