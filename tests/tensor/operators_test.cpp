// Operators: what they refuse and in which words, what they tell the trace, copies and slices.
#include <gtest/gtest.h>

#include "ringside/error.h"
#include "support/inline_device.h"
#include "tensor/random_values.h"

namespace ringside::test {
namespace {

using Values = std::vector<double>;

class Operators : public ::testing::Test {
 protected:
  Tensor zeros(const Shape& shape, DType dtype = DType::kFloat32, const std::string& name = {}) {
    return Tensor::full(device_, shape, dtype, 0, MemoryKind::kInputs, name);
  }
  InlineDevice device_;
  InlineDevice other_{true, "inline:1"};
};

/// The message of the Error that `call` throws; empty if it throws none.
template <typename Call>
std::string message(Call call, ErrorKind kind = ErrorKind::kInvalidArgument) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind));
    return error.what();
  }
  return {};
}

TEST_F(Operators, ShapesThatDoNotFitAreNamedOnBothSides) {
  EXPECT_EQ(message([&] {
              linear(zeros({4, 65}), zeros({32, 64}), {});
            }),
            "linear: input 4x65 does not fit weight 32x64: the last dimension must be 64");
  EXPECT_EQ(message([&] {
              linear(zeros({4, 64}), zeros({32, 64}), zeros({31}));
            }),
            "linear: bias 31 does not fit weight 32x64: it must have 32 elements");
  EXPECT_EQ(message([&] {
              linear(zeros({4, 8, 8}), zeros({32, 64}), {});
            }),
            "linear: input 4x8x8 must be [rows, in]");
  EXPECT_EQ(message([&] {
              conv2d(zeros({1, 3, 8, 8}), zeros({4, 1, 3, 3}), {}, {});
            }),
            "conv2d: input 1x3x8x8 does not fit weight 4x1x3x3: it must have 1 channels");
  EXPECT_EQ(message([&] {
              conv2d(zeros({1, 1, 3, 3}), zeros({4, 1, 6, 6}), {}, {1, 1});
            }),
            "conv2d: kernel 6x6 does not fit into the padded input 5x5 (input 1x1x3x3, padding 1)");
  EXPECT_EQ(message([&] {
              max_pool2d(zeros({1, 1, 1, 3}), {});
            }),
            "max_pool2d: kernel 2x2 does not fit into input 1x1x1x3");
  EXPECT_EQ(message([&] { add(zeros({2}), zeros({3})); }),
            "add: first 2 and second 3 must have one shape");
  EXPECT_EQ(message([&] {
              cross_entropy(zeros({4, 3}), zeros({5}, DType::kInt64));
            }),
            "cross_entropy: targets 5 do not fit logits 4x3: one target per row is needed, 4 in "
            "all");
  EXPECT_EQ(message([&] {
              reshape(zeros({2, 3}), {7});
            }),
            "reshape: shape 7 is invalid for input 2x3 of 6 elements");
  EXPECT_EQ(
      message([&] {
        batch_norm(zeros({4, 3}), zeros({3}), zeros({2}), zeros({3}), zeros({3}), true, 0.1, 1e-5);
      }),
      "batch_norm: bias 2 does not fit input 4x3: it must have 3 elements");
}

TEST_F(Operators, DtypesThatDoNotFitAreNamed) {
  EXPECT_EQ(message([&] {
              linear(zeros({4, 6}), zeros({2, 6}, DType::kFloat64, "0.weight"), {});
            }),
            "linear: input is float32, but weight '0.weight' is float64");
  EXPECT_EQ(message([&] { relu(zeros({4}, DType::kInt64)); }),
            "relu: input is int64, but float32 or float64 is needed");
  EXPECT_EQ(message([&] {
              cross_entropy(zeros({4, 3}), zeros({4}));
            }),
            "cross_entropy: targets are float32, but must be int64 class numbers");
}

TEST_F(Operators, TensorsOnTwoDevicesAreNamedWithTheirDevices) {
  const Tensor there = Tensor::full(other_, {2, 6}, DType::kFloat32, 0, MemoryKind::kInputs, "w");
  EXPECT_EQ(
      message([&] {
        linear(zeros({4, 6}), there, {});
      }),
      "linear: expected all tensors on one device, but input is on inline:0 and weight 'w' on "
      "inline:1");
  Tensor here = zeros({2, 6});
  EXPECT_NE(message([&] { add_in_place(here, there); }), "");
  EXPECT_NE(message([&] { copy_in_place(here, there); }), "");
}

TEST_F(Operators, BatchNormOfOneValuePerChannelHasPyTorchsWords) {
  const auto normalise = [&](const Shape& shape, bool training) {
    return message(
        [&] {
          const Shape channels{shape[1]};
          batch_norm(zeros(shape), zeros(channels), zeros(channels), zeros(channels),
                     zeros(channels), training, 0.1, 1e-5);
        },
        ErrorKind::kTrainingFailed);
  };
  EXPECT_EQ(normalise({1, 32}, true),
            "Expected more than 1 value per channel when training, got input size [1, 32]");
  EXPECT_EQ(normalise({1, 32}, false), "");
  EXPECT_EQ(normalise({1, 3, 2}, true), "");
  EXPECT_NE(normalise({0, 3}, true), "");
}

TEST_F(Operators, EmptyBatchesGoThroughForwardAndBackward) {
  Tensor weight = random_leaf(device_, {2, 1, 3, 3}, 1, DType::kFloat32);
  Tensor dense = random_leaf(device_, {3, 2}, 2, DType::kFloat32);
  const Tensor features = max_pool2d(relu(conv2d(zeros({0, 1, 4, 4}), weight, {}, {})), {2, 2});
  backward(cross_entropy(linear(flatten(features), dense, {}), targets_of(device_, {})));
  EXPECT_EQ(host_values(weight.grad()), Values(18, 0));
  EXPECT_EQ(host_values(dense.grad()), Values(6, 0));
}

TEST_F(Operators, UndefinedInputsAreErrors) {
  EXPECT_EQ(message([&] { relu({}); }), "relu: input is undefined");
  EXPECT_EQ(message([&] { linear(zeros({1, 2}), {}, {}); }), "linear: weight is undefined");
}

TEST_F(Operators, ConcatenateAndSliceAreInverseAlongEveryDimension) {
  const Shape shape{4, 5, 3};
  const Values values = random_values(shape.numel(), 1);
  const Tensor x = Tensor::from_host(device_, shape, DType::kFloat64, values, MemoryKind::kInputs);
  for (const std::int64_t dim : {0, 1, 2, -1}) {
    const std::int64_t size = shape[dim];
    const std::vector<Tensor> parts{slice(x, dim, 0, 1, MemoryKind::kInputs),
                                    slice(x, dim, 1, 1, MemoryKind::kInputs),
                                    slice(x, dim, 1, size, MemoryKind::kInputs)};
    EXPECT_EQ(parts[2].shape(), shape.with(dim < 0 ? 2 : dim, size - 1));
    const Tensor whole = concatenate(parts, dim, MemoryKind::kOutputs, "whole");
    EXPECT_EQ(whole.shape(), shape);
    EXPECT_EQ(host_values(whole), values) << "dimension " << dim;
  }
  EXPECT_EQ(host_values(slice(x, 1, 2, 3, MemoryKind::kInputs))[0], values[6]);
}

TEST_F(Operators, ConcatenateAndSliceRefuseWhatDoesNotFit) {
  const auto join = [](std::vector<Tensor> parts, std::int64_t dim) {
    return message([&] { concatenate(parts, dim, MemoryKind::kOutputs); });
  };
  EXPECT_EQ(join({zeros({2, 3}), zeros({2, 4})}, 0),
            "concatenate: part float32 2x4 does not fit the first part float32 2x3: only dimension "
            "0 may differ");
  EXPECT_EQ(join({zeros({2, 3}), zeros({2, 4})}, 1), "");
  EXPECT_NE(join({zeros({2}), zeros({2}, DType::kInt64)}, 0), "");
  EXPECT_NE(join({}, 0), "");
  EXPECT_NE(join({zeros({2})}, 1), "");
  EXPECT_EQ(message([&] {
              slice(zeros({2, 3}), 1, 2, 4, MemoryKind::kInputs);
            }),
            "slice: [2, 4) is not within dimension 1 of shape 2x3");
}

TEST_F(Operators, FlattenOfAFlatTensorIsTheTensorItself) {
  const Tensor x = zeros({2, 3});
  EXPECT_TRUE(flatten(x).same(x));
  EXPECT_EQ(flatten(zeros({2, 3, 4}), 0).shape(), Shape{24});
  EXPECT_EQ(flatten(zeros({2, 3, 4})).shape(), (Shape{2, 12}));
}

/// Keeps what the trace would learn of the last op.
struct LastOp final : OpListener {
  OpId on_submit(Stream&, const OpInfo& info) override {
    name = info.name;
    label = info.label;
    flops = info.flops;
    reads.clear();
    writes.clear();
    for (const TensorRef& tensor : info.reads) reads.emplace_back(tensor.name);
    for (const TensorRef& tensor : info.writes) writes.emplace_back(tensor.name);
    return kNoOp;
  }
  void on_enqueued(Stream&, OpId, const OpInfo&) override {}
  OpId on_host(Device&, const OpInfo&) override { return kNoOp; }
  std::string name, label;
  double flops = 0;
  std::vector<std::string> reads, writes;
};

TEST_F(Operators, TheTraceLearnsNamesLabelsAndFlops) {
  Tensor weight = random_leaf(device_, {5, 6}, 1, DType::kFloat32, "fc.0.weight");
  const Tensor bias = zeros({5}, DType::kFloat32, "fc.0.bias");
  const Tensor x = zeros({4, 6});
  LastOp last;
  device_.set_listener(&last);
  const Tensor y = linear(x, weight, bias);
  EXPECT_EQ(last.name, "linear");
  EXPECT_EQ(last.label, "fc.0");
  EXPECT_EQ(last.flops, 2 * 4 * 5 * 6);
  EXPECT_EQ(last.reads, (std::vector<std::string>{"input", "fc.0.weight", "fc.0.bias"}));
  EXPECT_EQ(last.writes, std::vector<std::string>{"output"});
  backward(y, Tensor::full(device_, y.shape(), y.dtype(), 1, MemoryKind::kInputs));
  EXPECT_EQ(last.name, "linear-backward-weight");
  EXPECT_EQ(last.label, "fc.0");
  EXPECT_EQ(last.writes, std::vector<std::string>{"fc.0.weight.grad"});
}

}  // namespace
}  // namespace ringside::test
