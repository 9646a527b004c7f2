#include "tensor/batch_norm_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ringside {
namespace {

void check_per_channel(std::string_view op, const Tensor& x, const Operand& operand) {
  if (operand.tensor.shape() == Shape{x.shape()[1]}) return;
  fail(op, fmt::format("{} {} does not fit input {}: it must have {} elements", operand.role,
                       to_string(operand.tensor.shape()), to_string(x.shape()), x.shape()[1]));
}

}  // namespace

void check_batch_norm(std::string_view op, const Tensor& x,
                      std::initializer_list<Operand> per_channel) {
  check_defined(op, {{x, "input"}});
  check_defined(op, per_channel);
  check_alike(op, {{x, "input"}});
  if (x.shape().rank() < 2) {
    fail(op, fmt::format("input {} must be [batch, channels] or [batch, channels, ...]",
                         to_string(x.shape())));
  }
  for (const Operand& operand : per_channel) {
    check_alike(op, {{x, "input"}, operand});
    check_per_channel(op, x, operand);
  }
}

void check_values_per_channel(const Shape& shape) {
  const std::int64_t per_channel = shape[1] == 0 ? 0 : shape.numel() / shape[1];
  if (per_channel > 1) return;
  throw Error(ErrorKind::kTrainingFailed,
              fmt::format("Expected more than 1 value per channel when training, got input size "
                          "[{}]",
                          fmt::join(shape.sizes(), ", ")),
              "give every device at least two samples, or drop the last incomplete batch");
}

}  // namespace ringside
