#include "nn/initialise.h"

#include <cmath>
#include <utility>
#include <vector>

namespace ringside {

double kaiming_bound(std::int64_t fan_in) {
  const double negative_slope = std::sqrt(5.0);
  const double gain = std::sqrt(2.0 / (1 + negative_slope * negative_slope));
  const double deviation = gain / std::sqrt(static_cast<double>(fan_in));
  return std::sqrt(3.0) * deviation;
}

double bias_bound(std::int64_t fan_in) { return 1 / std::sqrt(static_cast<double>(fan_in)); }

Tensor uniform_parameter(const ModuleContext& context, const Shape& shape, double bound,
                         const char* name) {
  if (!context.device.executes()) {
    return Tensor::empty(context.device, shape, context.dtype, MemoryKind::kParameters, name);
  }
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (double& value : values) value = context.generator.uniform(-bound, bound, DType::kFloat32);
  return Tensor::from_host(context.device, shape, context.dtype, values, MemoryKind::kParameters,
                           name);
}

Tensor normal_parameter(const ModuleContext& context, const Shape& shape, const char* name) {
  if (!context.device.executes()) {
    return Tensor::empty(context.device, shape, context.dtype, MemoryKind::kParameters, name);
  }
  const std::vector<double> values =
      context.generator.randn(static_cast<std::size_t>(shape.numel()), DType::kFloat32);
  return Tensor::from_host(context.device, shape, context.dtype, values, MemoryKind::kParameters,
                           name);
}

Tensor constant(const ModuleContext& context, const Shape& shape, DType dtype, double value,
                const char* name) {
  return Tensor::full(context.device, shape, dtype, value, MemoryKind::kParameters, name);
}

}  // namespace ringside
