// What DDP's oracle tests have in common: a world, a model with its optimiser, the rows.
#pragma once

#include <memory>
#include <string>

#include "ringside/ddp.h"
#include "support/oracle_training.h"

namespace ringside::test {

/// In gloo's order of additions: with half precision it shows in the digits.
inline std::unique_ptr<World> world_of(std::size_t ranks) {
  WorldOptions options;
  options.size = static_cast<int>(ranks);
  std::unique_ptr<World> world = open_world("sim", options);
  for (Communicator* communicator : world->local_communicators()) {
    communicator->set_defaults({Algorithm::kRing, Direction::kDown, Border::kGloo});
  }
  return world;
}

/// A model with its optimiser, as every run begins.
struct Trained {
  Trained(const std::shared_ptr<Module>& of_module, Record& optimizer_spec, DType of_dtype)
      : module(of_module),
        dtype(of_dtype),
        tolerance(training_tolerance(dtype)),
        optimizer(OracleOptimizer(optimizer_spec)(module->named_parameters())) {}

  void expect_gradients(const Json& expected) const {
    expect_tensors(gradients_of(*module), expected, tolerance, "gradients");
  }
  /// Drawn, not computed: bit for bit.
  void expect_initial(const Json& expected) const {
    expect_tensors(module->named_parameters(), expected, {}, "initial parameters");
  }
  void expect_parameters(const Json& expected) const {
    expect_tensors(module->named_parameters(), expected, tolerance, "parameters");
  }
  void expect_loss(const Tensor& loss, const Json& expected) const {
    expect_values(host_values(loss), expected, dtype, tolerance, "loss");
  }

  std::shared_ptr<Module> module;
  DType dtype;
  Tolerance tolerance;
  std::unique_ptr<Optimizer> optimizer;
};

inline std::shared_ptr<Module> model_of(const Json& model, const std::string& place, Device& device,
                                        DType dtype) {
  Record spec(model, place + " model");
  return make_oracle_model(spec, device, dtype).module;
}

inline Trained trained_on(const std::shared_ptr<Module>& module, const Json& optimizer,
                          const std::string& place, DType dtype) {
  Record spec(optimizer, place + " optimizer");
  return {module, spec, dtype};
}

inline OracleData data_of(Record& record, OracleData::Recorded recorded) {
  Record spec(record["data"], record.place() + " data");
  return {spec, recorded};
}

}  // namespace ringside::test
