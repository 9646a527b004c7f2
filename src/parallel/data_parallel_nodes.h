// DataParallel's places in the autograd graph: Broadcast (its backward sums the replicas' gradients
// at home) and Gather (its backward scatters the gradient of the output).
// [torch/nn/parallel/_functions.py]
#pragma once

#include <vector>

#include "parallel/driven_group.h"
#include "ringside/schedule.h"
#include "ringside/tensor.h"

namespace ringside {

/// Copies of home's tensors on every member of `group`, in pieces of at most 10 MiB. Member 0 is
/// home: its "copies" share the originals' memory. Result: one list per member, in the order of
/// `tensors`. With `differentiable`, the copies of tensors that require grad are outputs of one
/// Broadcast node: its backward can run only after every replica has finished all its gradients, so
/// DataParallel's reduction never overlaps with backward.
std::vector<std::vector<Tensor>> broadcast_tensors(const std::vector<Tensor>& tensors,
                                                   const std::shared_ptr<DrivenGroup>& group,
                                                   Algorithm algorithm, bool differentiable);

/// Joins the members' outputs along `dim` on member `root` of `group`; differentiable.
Tensor gather_outputs(const std::vector<Tensor>& outputs, int dim,
                      const std::shared_ptr<DrivenGroup>& group, int root);

}  // namespace ringside
