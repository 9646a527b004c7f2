// The backward engine: order of gradients, graphs that fork and join, errors, depth.
#include <gtest/gtest.h>

#include "ringside/error.h"
#include "support/inline_device.h"
#include "tensor/random_values.h"

namespace ringside::test {
namespace {

using Names = std::vector<std::string>;

/// Appends the tensor's name to `order` whenever its gradient has been accumulated.
void note_arrival(Tensor& tensor, Names& order) {
  tensor.add_accumulate_hook(&order, [&order](Tensor& leaf) { order.emplace_back(leaf.name()); });
}

TEST(Autograd, LinearGradientsArriveFromTheLastLayerBiasBeforeWeight) {
  InlineDevice device;
  Names order;
  Tensor w1 = random_leaf(device, {4, 3}, 1, DType::kFloat32, "0.weight");
  Tensor b1 = random_leaf(device, {4}, 2, DType::kFloat32, "0.bias");
  Tensor w2 = random_leaf(device, {2, 4}, 3, DType::kFloat32, "2.weight");
  Tensor b2 = random_leaf(device, {2}, 4, DType::kFloat32, "2.bias");
  for (Tensor* parameter : {&w1, &b1, &w2, &b2}) note_arrival(*parameter, order);
  const Tensor x = random_leaf(device, {5, 3}, 5, DType::kFloat32).detach();

  const Tensor loss =
      cross_entropy(linear(relu(linear(x, w1, b1)), w2, b2), targets_of(device, {0, 1, 0, 1, 1}));
  backward(loss);

  EXPECT_EQ(order, (Names{"2.bias", "2.weight", "0.bias", "0.weight"}));
}

TEST(Autograd, ConvolutionAndBatchNormGradientsArriveWeightBeforeBias) {
  InlineDevice device;
  Names order;
  Tensor kernel = random_leaf(device, {2, 1, 3, 3}, 1, DType::kFloat64, "conv.weight");
  Tensor offset = random_leaf(device, {2}, 2, DType::kFloat64, "conv.bias");
  Tensor gamma = random_leaf(device, {2}, 3, DType::kFloat64, "bn.weight");
  Tensor beta = random_leaf(device, {2}, 4, DType::kFloat64, "bn.bias");
  for (Tensor* parameter : {&kernel, &offset, &gamma, &beta}) note_arrival(*parameter, order);
  Tensor mean = random_leaf(device, {2}, 5).detach();
  Tensor variance = random_leaf(device, {2}, 6).detach();
  const Tensor x = random_leaf(device, {2, 1, 5, 5}, 7).detach();

  const Tensor y =
      batch_norm(conv2d(x, kernel, offset, {}), gamma, beta, mean, variance, true, 0.1, 1e-5);
  backward(y, Tensor::full(device, y.shape(), y.dtype(), 1, MemoryKind::kActivations));

  EXPECT_EQ(order, (Names{"bn.weight", "bn.bias", "conv.weight", "conv.bias"}));
}

TEST(Autograd, AHookRunsRightAfterItsAccumulationWasEnqueued) {
  InlineDevice device;
  Tensor weight = random_leaf(device, {2, 3}, 1, DType::kFloat32, "weight");
  Tensor bias = random_leaf(device, {2}, 2, DType::kFloat32, "bias");
  const Tensor x = random_leaf(device, {4, 3}, 3, DType::kFloat32).detach();
  std::vector<double> seen;
  bias.add_accumulate_hook(&seen, [&](Tensor& leaf) {
    seen = host_values(leaf.grad());
    EXPECT_FALSE(weight.grad().defined());
  });
  const Tensor y = linear(x, weight, bias);
  backward(y, Tensor::full(device, y.shape(), y.dtype(), 1, MemoryKind::kActivations));
  EXPECT_EQ(seen, (std::vector<double>{4, 4}));
}

TEST(Autograd, AHookMayRemoveItself) {
  InlineDevice device;
  Tensor x = random_leaf(device, {1}, 1);
  int calls = 0;
  x.add_accumulate_hook(&calls, [&calls](Tensor& leaf) {
    ++calls;
    leaf.remove_accumulate_hooks(&calls);
    EXPECT_TRUE(leaf.grad().defined());
  });
  backward(scale(x, 2));
  backward(scale(x, 2));
  EXPECT_EQ(calls, 1);
}

TEST(Autograd, HooksOfOneOwnerGoWithoutTheOthers) {
  InlineDevice device;
  Tensor x = random_leaf(device, {1}, 1);
  Names first;
  Names second;
  note_arrival(x, first);
  note_arrival(x, second);
  x.remove_accumulate_hooks(&first);
  backward(scale(x, 2));
  EXPECT_EQ(first.size(), 0U);
  EXPECT_EQ(second.size(), 1U);
}

TEST(Autograd, GradientsOfAForkAreSummedBeforeTheNodeBehindItRuns) {
  InlineDevice device;
  Tensor x = leaf(device, {2}, {3, -1});
  const Tensor shared = scale(x, 2);
  const Tensor y = add(scale(shared, 5), scale(shared, 7));
  device.clear_ops();
  backward(y, Tensor::full(device, {2}, y.dtype(), 1, MemoryKind::kActivations));
  EXPECT_EQ(host_values(x.grad()), (std::vector<double>{24, 24}));
  const Names& ops = device.ops();
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "scale"), 3) << "each scale must run once";
}

TEST(Autograd, OneTensorOnBothSidesOfAnAddGetsBothGradients) {
  InlineDevice device;
  Tensor x = leaf(device, {2}, {3, -1});
  backward(add(x, x), Tensor::full(device, {2}, x.dtype(), 1, MemoryKind::kActivations));
  EXPECT_EQ(host_values(x.grad()), (std::vector<double>{2, 2}));
}

TEST(Autograd, LeavesThatShareAnIncomingGradientDoNotShareTheirGrad) {
  InlineDevice device;
  Tensor a = leaf(device, {2}, {3, -1});
  Tensor b = leaf(device, {2}, {5, 5});
  backward(add(a, b), Tensor::full(device, {2}, a.dtype(), 1, MemoryKind::kActivations));
  Tensor gradient = a.grad();
  fill_in_place(gradient, 9);
  EXPECT_EQ(host_values(b.grad()), (std::vector<double>{1, 1}));
}

TEST(Autograd, AGradientThatTheCallerKeepsIsNotTakenAway) {
  InlineDevice device;
  Tensor a = leaf(device, {2}, {3, -1});
  const Tensor seed = Tensor::full(device, {2}, a.dtype(), 1, MemoryKind::kActivations);
  backward(reshape(a, {1, 2}), reshape(seed, {1, 2}));
  Tensor gradient = a.grad();
  fill_in_place(gradient, 9);
  EXPECT_EQ(host_values(seed), (std::vector<double>{1, 1}));
}

TEST(Autograd, LaterBackwardsAddIntoTheSameGradient) {
  InlineDevice device;
  Tensor x = leaf(device, {2}, {3, -1});
  const auto ones = [&] { return Tensor::full(device, {2}, x.dtype(), 1, MemoryKind::kInputs); };
  backward(scale(x, 2), ones());
  const Tensor first = x.grad();
  backward(scale(x, 3), ones());
  EXPECT_TRUE(first.same(x.grad()));
  EXPECT_EQ(host_values(first), (std::vector<double>{5, 5}));
}

TEST(Autograd, AParametersGradientIsNamedAndAccountedAsAGradient) {
  InlineDevice device;
  Tensor weight = random_leaf(device, {2, 3}, 1, DType::kFloat32, "0.weight");
  const Tensor x = random_leaf(device, {4, 3}, 3, DType::kFloat32).detach();
  const Tensor y = linear(x, weight, {});
  backward(y, Tensor::full(device, y.shape(), y.dtype(), 1, MemoryKind::kInputs));
  EXPECT_EQ(weight.grad().name(), "0.weight.grad");
  EXPECT_EQ(device.memory().used_by_kind[static_cast<int>(MemoryKind::kGradients)], 24u);
}

TEST(Autograd, BackwardLetsGoOfWhatForwardSaved) {
  InlineDevice device;
  Tensor weight = random_leaf(device, {8, 8}, 1, DType::kFloat32);
  const Tensor x = random_leaf(device, {4, 8}, 3, DType::kFloat32).detach();
  const Tensor loss = cross_entropy(relu(linear(relu(linear(x, weight, {})), weight, {})),
                                    targets_of(device, {0, 1, 2, 3}));
  const auto activations = [&] {
    return device.memory().used_by_kind[static_cast<int>(MemoryKind::kActivations)];
  };
  EXPECT_GT(activations(), 0u);
  backward(loss);
  EXPECT_EQ(activations(), 0u);
}

TEST(Autograd, ASecondBackwardIsAnErrorThatSaysSo) {
  InlineDevice device;
  Tensor x = leaf(device, {1}, {3});
  const Tensor y = relu(x);
  backward(y);
  try {
    backward(y);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("a second time"), std::string::npos) << error.what();
  }
  EXPECT_EQ(host_values(x.grad()), std::vector<double>{1});
}

TEST(Autograd, ARootWithoutGraphOrWithoutGradientIsAnError) {
  InlineDevice device;
  Tensor x = leaf(device, {2}, {3, 4});
  EXPECT_THROW(backward(x.detach()), Error);
  EXPECT_THROW(backward(scale(x, 2)), Error) << "two elements, no gradient";
  EXPECT_THROW(backward(scale(x, 2), Tensor::full(device, {3}, x.dtype(), 1, MemoryKind::kInputs)),
               Error);
  EXPECT_THROW(backward(Tensor()), Error);
}

TEST(Autograd, NothingIsRecordedUnderNoGrad) {
  InlineDevice device;
  Tensor x = leaf(device, {1}, {3});
  {
    const NoGradScope no_grad(device);
    EXPECT_EQ(relu(x).grad_fn(), nullptr);
    EXPECT_FALSE(relu(x).requires_grad());
  }
  EXPECT_NE(relu(x).grad_fn(), nullptr);
}

TEST(Autograd, OnlyInputsThatRequireGradGetOne) {
  InlineDevice device;
  Tensor weight = random_leaf(device, {2, 3}, 1, DType::kFloat32);
  Tensor frozen = random_leaf(device, {2}, 2, DType::kFloat32);
  frozen.set_requires_grad(false);
  const Tensor x = random_leaf(device, {4, 3}, 3, DType::kFloat32).detach();
  const Tensor y = linear(x, weight, frozen);
  device.clear_ops();
  backward(y, Tensor::full(device, y.shape(), y.dtype(), 1, MemoryKind::kInputs));
  EXPECT_TRUE(weight.grad().defined());
  EXPECT_FALSE(frozen.grad().defined());
  EXPECT_EQ(device.ops(), (Names{"fill", "linear-backward-weight"}));
}

TEST(Autograd, FinishedRunsAfterTheLastGradient) {
  InlineDevice device;
  Names order;
  Tensor x = random_leaf(device, {1}, 1, DType::kFloat64, "x");
  note_arrival(x, order);
  backward(scale(x, 2), {}, [&order] { order.emplace_back("finished"); });
  EXPECT_EQ(order, (Names{"x", "finished"}));
}

TEST(Autograd, ADeepGraphNeitherRunsNorDiesRecursively) {
  InlineDevice device(false);
  Tensor x = leaf(device, {1}, {1});
  device.set_listener(nullptr);
  Tensor y = x;
  for (int i = 0; i < 300'000; ++i) y = reshape(y, {1});
  backward(y);
  EXPECT_TRUE(x.grad().defined());
  y = Tensor();  // the whole graph goes
}

TEST(Autograd, ALeafThatIsGoneLeavesTheRestOfTheGraphAlone) {
  InlineDevice device;
  Tensor kept = leaf(device, {1}, {3});
  Tensor gone = leaf(device, {1}, {4});
  const Tensor y = add(kept, gone);
  gone = Tensor();
  backward(y);
  EXPECT_EQ(host_values(kept.grad()), std::vector<double>{1});
}

/// A node with two outputs, as parallel/ makes them.
class SplitBackward final : public Node {
 public:
  SplitBackward() : Node("split-backward", 2) {}
  Gradients backward(Gradients gradients) override {
    arrived = {gradients[0].defined(), gradients[1].defined()};
    return {gradients[1]};
  }
  std::vector<bool> arrived;
};

TEST(Autograd, AnOutputThatNobodyUsedGetsNoGradient) {
  InlineDevice device;
  Tensor x = leaf(device, {1}, {3});
  auto node = std::make_shared<SplitBackward>();
  node->next() = {x.gradient_edge()};
  Tensor first = x.detach();
  Tensor second = x.detach();
  first.set_grad_fn(node, 0);
  second.set_grad_fn(node, 1);
  backward(scale(second, 4));
  EXPECT_EQ(node->arrived, (std::vector<bool>{false, true}));
  EXPECT_EQ(host_values(x.grad()), std::vector<double>{4});
}

}  // namespace
}  // namespace ringside::test
