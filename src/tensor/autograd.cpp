// Nodes, gradient accumulators, and the backward engine.
//
// The engine is PyTorch's (torch/csrc/autograd/engine.cpp) on one thread: it counts how many
// gradients each node waits for, then runs ready nodes from a queue ordered by descending sequence
// number, accumulators first and among them in the order in which they became ready. The order of
// everything is fixed by the graph alone. Nothing recurses: graphs may be as deep as memory allows.
#include <memory_resource>
#include <queue>
#include <stdexcept>
#include <unordered_map>

#include <fmt/format.h>

#include "ringside/error.h"
#include "tensor/operator.h"
#include "tensor/tensor_impl.h"

namespace ringside {
namespace {

std::uint64_t next_sequence() {
  thread_local std::uint64_t sequence = 0;  // a graph belongs to one thread
  return sequence++;
}

/// A copy that nobody else holds, as a leaf's gradient.
Tensor copy_of(const Tensor& gradient, std::string_view name) {
  Tensor copy = Tensor::empty(gradient.device(), gradient.shape(), gradient.dtype(),
                              MemoryKind::kGradients, name);
  copy_in_place(copy, gradient);
  return copy;
}

/// True if `tensor` may be written or kept: nobody else sees its memory, and it is all of it.
bool is_sole_owner(const Tensor& tensor) {
  return !tensor.shared() && tensor.buffer().storage()->bytes() == tensor.bytes();
}

/// sum += gradient, where `sum` may be undefined yet or belong to others, too.
void add_gradient(Tensor& sum, Tensor gradient) {
  if (!sum.defined()) {
    sum = std::move(gradient);
  } else if (is_sole_owner(sum)) {
    add_in_place(sum, gradient);
  } else {
    sum = add(sum.detach(), gradient.detach());
  }
}

}  // namespace

// ---------------------------------------------------------------- nodes

Node::Node(std::string_view name, std::size_t outputs)
    : name_(name), sequence_(next_sequence()), outputs_(outputs) {}

Node::~Node() {
  // Takes the edges out of every node that dies with this one before it dies, so that the
  // destructors of a long chain do not nest.
  InlineVector<std::shared_ptr<Node>, 4> dying;
  const auto let_go_of = [&dying](InlineVector<Edge, 4>& edges) {
    for (Edge& edge : edges) {
      std::shared_ptr<Node> node = std::move(edge.node);
      if (node != nullptr && node.use_count() == 1) dying.push_back(std::move(node));
    }
  };
  let_go_of(next_);
  while (!dying.empty()) {
    const std::shared_ptr<Node> node = std::move(dying.back());
    dying.pop_back();
    let_go_of(node->next_);
  }
}

Accumulator::Accumulator(std::weak_ptr<Tensor::Impl> leaf)
    : Node("accumulate-grad"), leaf_(std::move(leaf)) {
  set_sequence(kSequence);
}

Gradients Accumulator::backward(Gradients gradients) {
  const std::shared_ptr<Tensor::Impl> leaf = leaf_.lock();
  if (leaf == nullptr) return {};
  accumulate(*leaf, std::move(gradients.front()));
  const auto hooks = leaf->hooks;  // a hook may remove itself
  for (const AccumulateHook& hook : hooks) {
    Tensor tensor(leaf);
    hook.call(tensor);
  }
  return {};
}

void Accumulator::accumulate(Tensor::Impl& leaf, Tensor gradient) {
  if (&gradient.device() != leaf.device || gradient.dtype() != leaf.array.dtype ||
      gradient.shape() != leaf.array.shape) {
    fail("backward",
         fmt::format("the gradient ({} {} on {}) does not fit its leaf '{}' ({} {} on {})",
                     to_string(gradient.dtype()), to_string(gradient.shape()),
                     gradient.device().name(), leaf.name, to_string(leaf.array.dtype),
                     to_string(leaf.array.shape), leaf.device->name()));
  }
  if (leaf.grad.defined()) {
    add_in_place(leaf.grad, gradient);
    return;
  }
  const std::pmr::string name = gradient_name(*leaf.device, leaf.name);
  if (is_sole_owner(gradient)) {
    gradient.set_name(name);
    leaf.grad = std::move(gradient);
  } else {
    leaf.grad = copy_of(gradient, name);
  }
}

// ---------------------------------------------------------------- engine

class BackwardPass {
 public:
  /// Counts, for every node that `root` reaches, the edges that lead to it.
  BackwardPass(const std::shared_ptr<Node>& root, std::pmr::memory_resource& memory)
      : waiting_(&memory), ready_(std::pmr::polymorphic_allocator<Ready>(&memory)) {
    std::pmr::vector<Node*> unvisited({root.get()}, &memory);
    waiting_[root.get()].node = root;
    while (!unvisited.empty()) {
      Node& node = *unvisited.back();
      unvisited.pop_back();
      if (node.released_) fail_second_backward(node);
      for (const Edge& edge : node.next_) {
        if (edge.node == nullptr) continue;
        Waiting& next = waiting_[edge.node.get()];
        if (next.node == nullptr) {
          next.node = edge.node;
          unvisited.push_back(edge.node.get());
        }
        ++next.edges;
      }
    }
  }

  void run(const Edge& root, Tensor gradient) {
    Waiting& first = waiting_.at(root.node.get());
    receive(first, root.input, std::move(gradient));
    make_ready(first);
    while (!ready_.empty()) {
      const std::shared_ptr<Node> node = ready_.top().node;
      ready_.pop();
      run_node(*node);
    }
  }

 private:
  /// What a node waits for: edges that have not delivered yet, and the sums of what has come.
  struct Waiting {
    std::shared_ptr<Node> node;
    int edges = 0;
    Gradients gradients;  // per output; empty while nothing came
  };

  struct Ready {
    std::shared_ptr<Node> node;
    std::uint64_t arrival;
    bool operator<(const Ready& other) const {  // the largest runs first
      if (node->sequence() != other.node->sequence()) {
        return node->sequence() < other.node->sequence();
      }
      return arrival > other.arrival;
    }
  };

  [[noreturn]] static void fail_second_backward(const Node& node) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("backward: trying to backward through the graph a second time: '{}' "
                            "has let go of its saved tensors",
                            node.name()),
                "run forward again before every backward");
  }

  void receive(Waiting& waiting, int output, Tensor gradient) {
    if (!gradient.defined()) return;
    if (waiting.gradients.empty()) waiting.gradients.resize(waiting.node->outputs());
    add_gradient(waiting.gradients.at(static_cast<std::size_t>(output)), std::move(gradient));
  }

  void make_ready(const Waiting& waiting) { ready_.push({waiting.node, arrivals_++}); }

  void run_node(Node& node) {
    Gradients gradients = std::move(waiting_.at(&node).gradients);
    Gradients results;
    if (gradients.empty()) {
      results.resize(node.next_.size());  // where nothing comes in, nothing goes out
    } else {
      results = node.backward(std::move(gradients));
    }
    node.release();
    node.released_ = node.sequence() != Accumulator::kSequence;
    if (results.size() != node.next_.size()) {
      throw std::logic_error(fmt::format("node '{}' returned {} gradients for {} edges",
                                         node.name(), results.size(), node.next_.size()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Edge& edge = node.next_[i];
      if (edge.node == nullptr) continue;
      Waiting& next = waiting_.at(edge.node.get());
      receive(next, edge.input, std::move(results[i]));
      if (--next.edges == 0) make_ready(next);
    }
  }

  std::pmr::unordered_map<const Node*, Waiting>
      waiting_;  // never iterated: addresses order nothing
  std::priority_queue<Ready, std::pmr::vector<Ready>> ready_;
  std::uint64_t arrivals_ = 0;
};

void backward(const Tensor& root, const Tensor& gradient, const std::function<void()>& finished) {
  check_defined("backward", {{root, "root"}});
  const Edge edge = root.gradient_edge();
  if (edge.node == nullptr) {
    throw Error(ErrorKind::kInvalidArgument,
                "backward: the root does not require grad and has no grad_fn",
                "run forward with grad enabled on at least one tensor that requires grad");
  }
  if (!gradient.defined() && root.numel() != 1) {
    fail("backward", fmt::format("grad can be implicitly created only for scalar outputs, but the "
                                 "root is {}",
                                 to_string(root.shape())));
  }
  if (gradient.defined()) {
    check_alike("backward", {{root, "root"}, {gradient, "gradient"}});
    check_same_shape("backward", {root, "root"}, {gradient, "gradient"});
  }
  BackwardPass pass(edge.node, root.device().host_memory());
  pass.run(edge, gradient.defined() ? gradient
                                    : Tensor::full(root.device(), root.shape(), root.dtype(), 1,
                                                   MemoryKind::kActivations));
  if (finished) finished();
}

}  // namespace ringside
