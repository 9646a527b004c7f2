// cross_entropy and its gradient against PyTorch's (optim.json).

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ringside/nn.h"
#include "ringside/tensor.h"
#include "support/inline_device.h"
#include "support/oracle.h"

namespace ringside::test {
namespace {

CrossEntropyOptions options_of(Record& arguments) {
  using Reduction = CrossEntropyOptions::Reduction;
  CrossEntropyOptions options;
  const auto reduction = arguments.get_or<std::string>("reduction", "mean");
  if (reduction == "sum") options.reduction = Reduction::kSum;
  if (reduction == "none") options.reduction = Reduction::kNone;
  EXPECT_TRUE(reduction == "mean" || options.reduction != Reduction::kMean) << reduction;
  options.ignore_index = arguments.get_or("ignore_index", options.ignore_index);
  options.label_smoothing = arguments.get_or("label_smoothing", 0.0);
  return options;
}

void compare_case(Record& record) {
  const DType dtype = record.dtype();
  const auto rows = record.get<std::int64_t>("rows");
  const auto classes = record.get<std::int64_t>("classes");
  const auto scale = record.get<float>("scale");
  Generator generator(record.seed("seed"));
  std::vector<double> x;
  for (std::int64_t i = 0; i < rows * classes; ++i) {
    x.push_back((static_cast<float>(generator.uniform(0, 1, DType::kFloat32)) * 2 - 1) * scale);
  }
  std::vector<double> y;
  for (std::int64_t i = 0; i < rows; ++i) {
    y.push_back(static_cast<double>(generator.randint(0, classes)));
  }
  expect_values(x, record["logits"], DType::kFloat32, {}, "logits");
  expect_values(y, record["targets"], DType::kInt64, {}, "targets");

  InlineDevice device;
  Record arguments(record["args"], record.place() + " args");
  Tensor logits = Tensor::from_host(device, {rows, classes}, dtype, x, MemoryKind::kInputs);
  logits.set_requires_grad(true);
  const Tensor targets = Tensor::from_host(device, {rows}, DType::kInt64, y, MemoryKind::kInputs);
  const Tensor loss = cross_entropy(logits, targets, options_of(arguments));
  backward(loss, Tensor::full(device, loss.shape(), dtype, 1, MemoryKind::kGradients));
  // exp and log of vectors of logits up to 20 leave a little more than an optimiser's step.
  const Tolerance tolerance =
      dtype == DType::kFloat32 ? Tolerance{2e-6, 1e-7} : Tolerance{1e-13, 1e-13};
  expect_values(host_values(loss), record["loss"], dtype, tolerance, "loss");
  expect_values(host_values(logits.grad()), record["grad"], dtype, tolerance, "gradient");
}

TEST(CrossEntropyOracle, IsPyTorchs) {
  with_oracle("optim.json", [](Record& file) {
    file.leave({"cases", "clip_grad_norm"});
    file.for_each("cross_entropy", compare_case);
  });
}

}  // namespace
}  // namespace ringside::test
