// Parameters as PyTorch makes them.
#pragma once

#include <cstdint>
#include <string>

#include "ringside/nn.h"

namespace ringside {

/// The bound of the default weight initialisation, kaiming_uniform(a = sqrt 5): mathematically 1 /
/// sqrt(fan_in), computed in double as PyTorch computes it. [nn/init.py]
double kaiming_bound(std::int64_t fan_in);
/// Of the default bias initialisation: 1 / sqrt(fan_in). [nn/modules/linear.py]
double bias_bound(std::int64_t fan_in);

/// A parameter drawn uniformly from [-bound, bound) in float32 and cast. Devices that execute
/// nothing get no values, and nothing is drawn.
Tensor uniform_parameter(const ModuleContext& context, const Shape& shape, double bound,
                         const char* name);
/// Likewise from the normal distribution, as PyTorch's Embedding is.
Tensor normal_parameter(const ModuleContext& context, const Shape& shape, const char* name);
/// A parameter or buffer of one value.
Tensor constant(const ModuleContext& context, const Shape& shape, DType dtype, double value,
                const char* name);

}  // namespace ringside
