// What a Tensor handle points to, and the node at which a leaf's gradient arrives.
#pragma once

#include <boost/container/small_vector.hpp>
#include <functional>
#include <limits>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

#include "ringside/tensor.h"

namespace ringside {

struct AccumulateHook {
  const void* owner;
  std::function<void(Tensor&)> call;
};

struct Tensor::Impl {
  explicit Impl(Device& of) : device(&of), name(&of.host_memory()) {}
  /// A new handle of `device`, without an array.
  static std::shared_ptr<Impl> make(Device& device) {
    return std::allocate_shared<Impl>(std::pmr::polymorphic_allocator<>(&device.host_memory()),
                                      device);
  }

  Device* device;
  Buffer buffer;
  DeviceArray array;
  std::pmr::string name;

  bool requires_grad = false;     // of a leaf
  std::shared_ptr<Node> grad_fn;  // of a result
  int output = 0;                 // which output of grad_fn

  std::shared_ptr<Node> accumulator;  // of a leaf, made when first asked for
  Tensor grad;
  boost::container::small_vector<AccumulateHook, 1> hooks;
};

/// Adds what arrives to its leaf's grad and then calls the leaf's hook. Owned by the leaf (and by
/// graphs); a gradient for a leaf that is gone is dropped.
class Accumulator final : public Node {
 public:
  /// Accumulators run before all other ready nodes.
  static constexpr std::uint64_t kSequence = std::numeric_limits<std::uint64_t>::max();

  explicit Accumulator(std::weak_ptr<Tensor::Impl> leaf);
  Gradients backward(Gradients gradients) override;

 private:
  /// The first gradient becomes grad (stolen if nobody else holds it, else copied), later ones are
  /// added in place.
  static void accumulate(Tensor::Impl& leaf, Tensor gradient);

  std::weak_ptr<Tensor::Impl> leaf_;
};

}  // namespace ringside
