// The models, data and optimisers of oracle files, rebuilt from their descriptions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ringside/data.h"
#include "ringside/nn.h"
#include "ringside/optim.h"
#include "support/oracle.h"

namespace ringside::test {

struct OracleModel {
  std::shared_ptr<Module> module;
  Generator generator;  ///< as the construction has left it
};

/// Reads `init_seed` and `layers` (of linear [in, out, bias], tanh, relu, batchnorm1d, layernorm,
/// conv2d [in, out, kernel], flatten), or `branchy` [in, hidden, out]: a -> tanh -> (b -> tanh when
/// used) -> head, whose b is switched by use_second_head. Layers are drawn in float32 in this
/// order, then cast. Throws std::runtime_error for another layer.
OracleModel make_oracle_model(Record& spec, Device& device, DType dtype,
                              CpuCapability capability = CpuCapability::kAvx2);

/// x = rand(rows, features) * 2 - 1 in float32, y = randint(0, classes, rows), of one generator.
class OracleData {
 public:
  /// What a file holds of the data itself.
  enum class Recorded {
    kNothing,
    kAll,     ///< x and y
    kBySize,  ///< of more than 600 numbers only x_first and y_first, 8 of each
  };
  /// Reads seed, rows, features, classes; and compares with what is recorded.
  OracleData(Record& spec, Recorded recorded);

  std::int64_t rows() const { return static_cast<std::int64_t>(y_.size()); }
  /// Rows [begin, begin + count).
  Batch batch(Device& device, DType dtype, std::int64_t begin, std::int64_t count) const;
  /// These rows, in this order.
  Batch batch(Device& device, DType dtype, std::span<const std::int64_t> rows) const;

 private:
  std::size_t features_;
  std::vector<double> x_, y_;
};

/// torch.optim's options with its defaults: name (sgd, adam, adamw) and what torch.optim of 1.13
/// takes. An unknown one fails with the record.
struct OracleOptimizer {
  explicit OracleOptimizer(Record& spec);
  std::unique_ptr<Optimizer> operator()(std::vector<NamedTensor> parameters) const;

  std::string name;
  OptimizerOptions options;
};

/// .grad of each parameter, undefined where there is none.
std::vector<NamedTensor> gradients_of(const Module& module);

}  // namespace ringside::test
