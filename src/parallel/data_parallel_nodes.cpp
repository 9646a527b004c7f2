#include "parallel/data_parallel_nodes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "parallel/coalesce.h"
#include "parallel/in_place_call.h"
#include "parallel/step_scope.h"

namespace ringside {
namespace {

std::vector<Device*> devices_of(const DrivenGroup& group) {
  std::vector<Device*> devices;
  for (int member = 0; member < group.size(); ++member) devices.push_back(&group.device(member));
  return devices;
}

std::vector<Tensor> select(std::span<const Tensor> tensors, const std::vector<std::size_t>& indices,
                           std::size_t first = 0) {
  std::vector<Tensor> selected;
  selected.reserve(indices.size());
  for (const std::size_t index : indices) selected.push_back(tensors[first + index]);
  return selected;
}

/// Outputs are numbered member by member: copy p on member m is output m * tensors + p.
class Broadcast : public Node {
 public:
  Broadcast(const std::vector<Tensor>& tensors, const std::shared_ptr<DrivenGroup>& group,
            Algorithm algorithm)
      : Node("Broadcast", tensors.size() * static_cast<std::size_t>(group->size())),
        group_(group),
        algorithm_(algorithm) {
    for (const Tensor& tensor : tensors) {
      originals_.push_back(tensor.detach());
      next().push_back(tensor.gradient_edge());
    }
  }

  /// Sums at home in member order, ((g0 + g1) + g2) + ...; a gradient that no replica produced
  /// counts as zeros, so that an unused parameter ends with zeros, not with none.
  Gradients backward(Gradients gradients) override {
    const StepScope phase(devices_of(*group_), Phase::kReduceGrad);
    Gradients sums(originals_.size());
    for (const std::vector<std::size_t>& piece : coalesce(originals_, kReplicateBytes)) {
      std::vector<FlatBuffer> flats;
      for (int member = 0; member < group_->size(); ++member) {
        flats.emplace_back(group_->device(member), select(originals_, piece),
                           MemoryKind::kGradients, "gradients");
        flats.back().copy_in(
            select(gradients, piece, static_cast<std::size_t>(member) * originals_.size()));
      }
      group_->collective([&](int member, Communicator& communicator, Stream& stream) {
        const Tensor& flat = flats[static_cast<std::size_t>(member)].flat;
        return communicator.call(in_place_call(Operation::kReduce, flat, algorithm_), stream);
      });
      for (std::size_t i = 0; i < piece.size(); ++i) {
        if (next()[piece[i]].node) sums[piece[i]] = flats.front().views[i];
      }
    }
    return sums;
  }

 private:
  std::shared_ptr<DrivenGroup> group_;  // outputs may live longer than their DataParallel
  Algorithm algorithm_;
  std::vector<Tensor> originals_;
};

class Gather : public Node {
 public:
  Gather(const std::vector<Tensor>& outputs, int dim, const std::shared_ptr<DrivenGroup>& group,
         int root)
      : Node("Gather"), dim_(dim), group_(group), root_(root) {
    for (const Tensor& output : outputs) {
      sizes_.push_back(output.shape()[dim]);
      next().push_back(output.gradient_edge());
    }
  }

  Gradients backward(Gradients gradients) override {
    const StepScope phase(devices_of(*group_), Phase::kScatterGrad);
    return Gradients(group_->scatter(gradients.front(), dim_, sizes_, root_,
                                     MemoryKind::kActivations, "output.grad"));
  }

 private:
  int dim_;
  std::shared_ptr<DrivenGroup> group_;  // outputs may live longer than their DataParallel
  int root_;
  std::vector<std::int64_t> sizes_;
};

}  // namespace

std::vector<std::vector<Tensor>> broadcast_tensors(const std::vector<Tensor>& tensors,
                                                   const std::shared_ptr<DrivenGroup>& group,
                                                   Algorithm algorithm, bool differentiable) {
  std::vector<std::vector<Tensor>> copies(static_cast<std::size_t>(group->size()),
                                          std::vector<Tensor>(tensors.size()));
  for (std::size_t i = 0; i < tensors.size(); ++i) copies[0][i] = tensors[i].detach();

  for (const std::vector<std::size_t>& piece : coalesce(tensors, kReplicateBytes)) {
    std::vector<FlatBuffer> flats;
    for (int member = 0; member < group->size(); ++member) {
      flats.emplace_back(group->device(member), select(tensors, piece),
                         member == 0 ? MemoryKind::kWorkspace : MemoryKind::kReplicas,
                         "parameters");
    }
    flats.front().copy_in(select(copies[0], piece));
    group->collective([&](int member, Communicator& communicator, Stream& stream) {
      const Tensor& flat = flats[static_cast<std::size_t>(member)].flat;
      return communicator.call(in_place_call(Operation::kBroadcast, flat, algorithm), stream);
    });
    for (std::size_t member = 1; member < copies.size(); ++member) {
      for (std::size_t i = 0; i < piece.size(); ++i) {
        copies[member][piece[i]] = flats[member].views[i];
      }
    }
  }
  if (!differentiable) return copies;

  const auto node = std::make_shared<Broadcast>(tensors, group, algorithm);
  for (std::size_t member = 0; member < copies.size(); ++member) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i].requires_grad()) continue;
      copies[member][i].set_grad_fn(node, static_cast<int>(member * tensors.size() + i));
    }
  }
  return copies;
}

Tensor gather_outputs(const std::vector<Tensor>& outputs, int dim,
                      const std::shared_ptr<DrivenGroup>& group, int root) {
  Tensor gathered = group->gather(outputs, dim, root, MemoryKind::kOutputs, "output");
  const bool differentiable = std::any_of(outputs.begin(), outputs.end(), [](const Tensor& output) {
    return output.grad_fn() != nullptr;
  });
  if (differentiable) {
    gathered.set_grad_fn(std::make_shared<Gather>(outputs, dim, group, root), 0);
  }
  return gathered;
}

}  // namespace ringside
