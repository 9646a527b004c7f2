// A model of two weights behind DistributedDataParallel, whose gradients are its inputs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ringside/error.h"
#include "support/error_text.h"
#include "toy.h"

namespace ringside::test {

/// y = a x, and b x on top where `use_b`; one weight each.
class Branches : public Module {
 public:
  explicit Branches(Device& device, DType dtype = DType::kFloat64) {
    for (const char* name : {"a", "b"}) {
      register_parameter(
          name, Tensor::full(device, Shape{1, 1}, dtype, 1, MemoryKind::kParameters, name));
    }
  }
  Tensor forward(const Tensor& input) override {
    const Tensor y = linear(input, parameter(0), {});
    return use_b ? add(y, linear(input, parameter(1), {})) : y;
  }
  std::string describe() const override { return "Branches"; }
  std::shared_ptr<Module> shallow_copy() const override {
    return std::make_shared<Branches>(*this);
  }

  bool use_b = true;
};

struct Wrapped {
  explicit Wrapped(Rank& rank_of, const DdpWrapperOptions& options = {})
      : rank(rank_of),
        module(std::make_shared<Branches>(rank.device)),
        ddp(module, rank, options) {}

  /// The gradient of both weights is x, of b only where it is used.
  void step(double x, bool use_b) {
    module->use_b = use_b;
    ddp.backward(ddp.forward(input(x)));
  }
  Tensor input(double x) const {
    return Tensor::full(rank.device, Shape{1, 1}, DType::kFloat64, x, MemoryKind::kInputs);
  }
  Tensor parameter(std::size_t index) const { return module->named_parameters()[index].tensor; }
  double gradient(std::size_t index) const { return host_value(parameter(index).grad(), 0); }
  void zero_grad() const {
    for (const NamedTensor& entry : module->named_parameters()) {
      Tensor tensor = entry.tensor;
      tensor.set_grad({});
    }
  }

  Rank& rank;
  std::shared_ptr<Branches> module;
  DistributedDataParallel ddp;
};

inline std::string error_of(int ranks, const std::function<void(Rank&)>& body) {
  try {
    sim_world(ranks)->run(body);
  } catch (const Error& error) {
    return std::string(error.what()) + " hint: " + error.hint();
  }
  return "no error";
}

}  // namespace ringside::test
