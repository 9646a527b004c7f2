// Adam, AdamW and gradient clipping beyond their formulas, which optim_oracle_test.cpp compares
// with PyTorch's.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "optim/fixture.h"
#include "ringside/optim.h"
#include "support/error_text.h"

namespace ringside {
namespace {

using ::testing::ElementsAre;

using AdamTest = test::OptimizerTest;

Tensor entry(const std::vector<NamedTensor>& state, const std::string& name) {
  for (const NamedTensor& candidate : state) {
    if (candidate.name == name) return candidate.tensor;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

// A parameter that gets its first gradient later begins with its own step 1.
TEST_F(AdamTest, CountsTheStepsOfEachParameter) {
  Tensor a = parameter({1});
  Tensor b = parameter({1});
  const auto adam = make_adam({{"a", a}, {"b", b}}, {.lr = 0.5});
  a.set_grad(tensor({3}));
  adam->step();
  b.set_grad(tensor({-3}));
  adam->step();
  EXPECT_EQ(host_value(entry(adam->state_dict(), "a.step"), 0), 2);
  EXPECT_EQ(host_value(entry(adam->state_dict(), "b.step"), 0), 1);
  EXPECT_NEAR(host_value(b, 0), 1.5, 1e-6);  // the first step is lr against the gradient's sign
}

// PyTorch's is a float32 tensor, which its foreach implementations rely on; Ringside's was an
// int64.
TEST_F(AdamTest, GivesTheStepAsAFloatAndTakesAnIntegerToo) {
  Tensor p = parameter({1}, DType::kFloat64);
  const auto adam = make_adam({{"p", p}}, {.lr = 0.1});
  p.set_grad(tensor({2}, DType::kFloat64));
  adam->step();
  std::vector<NamedTensor> state = adam->state_dict();
  const Tensor step = entry(state, "p.step");
  EXPECT_EQ(step.dtype(), DType::kFloat32);
  EXPECT_EQ(step.shape().rank(), 0U);
  for (const DType dtype : {DType::kFloat32, DType::kInt64}) {
    state[0].tensor = Tensor::full(device_, Shape{}, dtype, 7, MemoryKind::kWorkspace);
    adam->load_state_dict(state);
    EXPECT_EQ(host_value(entry(adam->state_dict(), "p.step"), 0), 7);
  }
}

TEST_F(AdamTest, AStateGoesOnWhereItWasTaken) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    Tensor p = parameter({1, 2}, dtype);
    const auto adam = make_adam({{"p", p}}, {.lr = 0.1, .amsgrad = true});
    const auto step = [&](Tensor& to, Optimizer& optimizer, const std::vector<double>& gradient) {
      to.set_grad(tensor(gradient, dtype));
      optimizer.step();
    };
    step(p, *adam, {1, -2});
    step(p, *adam, {0.5, 3});
    Tensor q = parameter(host_values(p), dtype);
    const auto other = make_adam({{"p", q}}, {.lr = 0.1, .amsgrad = true});
    other->load_state_dict(adam->state_dict());
    step(p, *adam, {1, 1});
    step(q, *other, {1, 1});
    EXPECT_EQ(host_values(q), host_values(p));
  }
}

TEST_F(AdamTest, AWrongStateIsRefusedAndChangesNothing) {
  Tensor p = parameter({1, 2});
  const auto adam = make_adam({{"p", p}}, {});
  p.set_grad(tensor({1, 1}));
  adam->step();
  const std::vector<NamedTensor> state = adam->state_dict();
  const auto text = [&](const std::vector<NamedTensor>& wrong) {
    return test::error_text(ErrorKind::kInvalidInput, [&] { adam->load_state_dict(wrong); });
  };
  EXPECT_EQ(text({state[0], state[1]}), "load_state_dict: p has 2 of the 3 entries that it needs");
  EXPECT_EQ(text({state[0], {"p.exp_avg", tensor({1})}, state[2]}),
            "load_state_dict: p.exp_avg is 1, but its parameter is 2");
  EXPECT_EQ(text({state[0], state[1], state[2], {"p.exp", tensor({1})}}),
            "load_state_dict: unexpected: p.exp");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [steps, shown] : {std::pair<double, std::string>{-1.0, "-1"},
                                     {0.0, "0"},
                                     {1.5, "1.5"},
                                     {HUGE_VAL, "inf"},
                                     {nan, "nan"}}) {
    EXPECT_EQ(text({{"p.step", tensor({steps})}, state[1], state[2]}),
              fmt::format("load_state_dict: p.step is {}, must be a whole number from 1", shown));
  }
  EXPECT_EQ(text({{"p.step", tensor({1, 1})}, state[1], state[2]}),
            "load_state_dict: p.step is 2, must be one number");
  EXPECT_EQ(host_values(entry(adam->state_dict(), "p.exp_avg")), host_values(state[1].tensor));
}

TEST_F(AdamTest, IsOneOpPerParameterFromTheSecondStepOn) {
  Tensor p = parameter({1, 2});
  const auto adam = make_adam({{"p", p}}, {.decoupled = true});
  p.set_grad(tensor({1, 1}));
  adam->step();
  device_.clear_ops();
  adam->step();
  EXPECT_THAT(device_.ops(), ElementsAre("adamw"));
}

TEST_F(AdamTest, RefusesOptionsThatCannotBe) {
  const Tensor p = parameter({1});
  const auto text = [&](const AdamOptions& options) {
    return test::error_text(ErrorKind::kInvalidArgument, [&] { make_adam({{"p", p}}, options); });
  };
  EXPECT_EQ(text({.lr = -1}), "Adam: lr -1: must be a number that is not negative");
  EXPECT_EQ(text({.beta1 = 1}), "Adam: beta 1: must be from 0 to below 1");
  EXPECT_EQ(text({.beta2 = -0.5}), "Adam: beta -0.5: must be from 0 to below 1");
  EXPECT_EQ(text({.epsilon = -1, .decoupled = true}),
            "AdamW: eps -1: must be a number that is not negative");
  EXPECT_EQ(test::error_text(ErrorKind::kInvalidArgument,
                             [&] {
                               make_optimizer("lion", {{"p", p}}, {});
                             }),
            "optimizer 'lion': must be sgd, adam or adamw");
}

TEST_F(AdamTest, OptimisersAreFoundByName) {
  const std::vector<NamedTensor> parameters = {{"p", parameter({1})}};
  OptimizerOptions options;
  options.sgd = {0.1, 0.9};
  options.adam.weight_decay = 0.01;
  EXPECT_EQ(make_optimizer("sgd", parameters, options)->describe(), "SGD(lr=0.1, momentum=0.9)");
  EXPECT_EQ(make_optimizer("adamw", parameters, options)->describe(),
            "AdamW(lr=0.001, betas=(0.9, 0.999), eps=1e-08, weight_decay=0.01)");
  options.clip_grad_norm = 2;
  EXPECT_EQ(make_optimizer("sgd", parameters, options)->describe(),
            "SGD(lr=0.1, momentum=0.9), gradients clipped to norm 2");
}

TEST_F(AdamTest, ClippingIsOneOpAndLeavesOutWhatHasNoGradient) {
  Tensor p = parameter({1, 2});
  const Tensor without = parameter({1});
  p.set_grad(tensor({3, 4}));
  device_.clear_ops();
  const Tensor total = clip_grad_norm({{"p", p}, {"without", without}}, 10);
  EXPECT_THAT(device_.ops(), ElementsAre("clip-grad-norm"));
  EXPECT_EQ(host_value(total, 0), 5);
  EXPECT_FALSE(clip_grad_norm({{"without", without}}, 1).defined());
  EXPECT_EQ(test::error_text(ErrorKind::kInvalidArgument, [&] { clip_grad_norm({}, 0); }),
            "clip_grad_norm: norm 0: must be above 0");
}

TEST_F(AdamTest, ClippingComesBeforeTheStep) {
  Tensor p = parameter({1, 1}, DType::kFloat64);
  OptimizerOptions options;
  options.sgd.lr = 1;
  options.clip_grad_norm = 1;
  const auto sgd = make_optimizer("sgd", {{"p", p}}, options);
  p.set_grad(tensor({3, 4}, DType::kFloat64));
  sgd->step();
  EXPECT_NEAR(host_values(p)[0], 1 - 0.6, 1e-6);
  EXPECT_NEAR(host_values(p)[1], 1 - 0.8, 1e-6);
}

}  // namespace
}  // namespace ringside
