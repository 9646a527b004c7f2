// Optimisers and the clipping of gradients against PyTorch's (optim.json).

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "optim/fixture.h"
#include "support/oracle_training.h"

namespace ringside::test {
namespace {

class OptimOracle : public OptimizerTest {
 protected:
  /// (rand(count) * 2 - 1) * scale, all in float32.
  static std::vector<double> draw(Generator& generator, std::size_t count, float scale = 1) {
    std::vector<double> values(count);
    for (double& value : values) {
      value = (static_cast<float>(generator.uniform(0, 1, DType::kFloat32)) * 2 - 1) * scale;
    }
    return values;
  }
};

void compare_state(Optimizer& optimizer, const Json& expected, DType dtype) {
  std::vector<NamedTensor> state;
  for (const NamedTensor& entry : optimizer.state_dict()) {
    state.push_back({entry.name.substr(std::string("p.").size()), entry.tensor});
  }
  expect_tensors(state, expected, optimizer_tolerance(dtype), "state");
}

TEST_F(OptimOracle, StepsAsPyTorchDoes) {
  with_oracle("optim.json", [&](Record& file) {
    file.leave({"cross_entropy", "clip_grad_norm"});
    file.for_each("cases", [&](Record& record) {
      const DType dtype = record.dtype();
      Record spec(record["optimizer"], record.place() + " optimizer");
      const OracleOptimizer make(spec);
      Generator generator(record.seed("seed"));
      const auto n = record.get<std::size_t>("n");
      const std::vector<double> start = draw(generator, n);
      expect_values(start, record["p0"], DType::kFloat32, {}, "p0");
      Tensor p = parameter(start, dtype);
      const std::unique_ptr<Optimizer> optimizer = make({{"p", p}});
      const auto steps = record.get<std::size_t>("steps");
      const Json& gradients = record.list("grads", steps);
      const Json& parameters = record.list("params_after_each_step", steps);
      for (std::size_t step = 0; step < steps; ++step) {
        SCOPED_TRACE(optimizer->describe() + ", step " + std::to_string(step));
        const std::vector<double> gradient = draw(generator, n);
        expect_values(gradient, gradients.at(step), DType::kFloat32, {}, "gradient");
        p.set_grad(tensor(gradient, dtype));
        optimizer->step();
        expect_values(host_values(p), parameters.at(step), dtype, optimizer_tolerance(dtype), "p");
      }
      compare_state(*optimizer, record["final_state"], dtype);
    });
  });
}

TEST_F(OptimOracle, ClipsAsPyTorchDoes) {
  with_oracle("optim.json", [&](Record& file) {
    file.leave({"cases", "cross_entropy"});
    file.for_each("clip_grad_norm", [&](Record& record) {
      Generator generator(record.seed("seed"));
      const auto scale = record.get<float>("scale");
      const auto sizes = record.get<std::vector<std::size_t>>("sizes");
      const Json& gradients = record.list("grads", sizes.size());
      const Json& clipped = record.list("clipped", sizes.size());
      std::vector<NamedTensor> parameters;
      for (const std::size_t n : sizes) {
        Tensor p = parameter(std::vector<double>(n));
        const std::vector<double> gradient = draw(generator, n, scale);
        expect_values(gradient, gradients.at(parameters.size()), DType::kFloat32, {}, "grads");
        p.set_grad(tensor(gradient));
        parameters.push_back({std::to_string(parameters.size()), p});
      }
      const Tensor norm = clip_grad_norm(parameters, record.get<double>("max_norm"));
      const Tolerance tolerance = optimizer_tolerance(DType::kFloat32);
      expect_values(host_values(norm), record["total_norm"], DType::kFloat32, tolerance, "norm");
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        expect_values(host_values(parameters[i].tensor.grad()), clipped.at(i), DType::kFloat32,
                      tolerance, parameters[i].name);
      }
    });
  });
}

}  // namespace
}  // namespace ringside::test
