// SGD beyond its formula, which optim_oracle_test.cpp compares with PyTorch's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "optim/fixture.h"
#include "ringside/optim.h"
#include "support/error_text.h"

namespace ringside {
namespace {

using ::testing::ElementsAre;

using SgdTest = test::OptimizerTest;

TEST_F(SgdTest, IsOneOpPerParameterThatHasAGradient) {
  Tensor a = parameter({1, 2});
  Tensor b = parameter({3});
  a.set_grad(tensor({1, 1}));
  const auto sgd = make_sgd({{"a", a}, {"b", b}}, {0.5, 0.9});
  device_.clear_ops();
  sgd->step();
  EXPECT_THAT(device_.ops(), ElementsAre("sgd"));
  EXPECT_THAT(host_values(a), ElementsAre(0.5, 1.5));
  EXPECT_THAT(host_values(b), ElementsAre(3));
  EXPECT_EQ(device_.memory().used_by_kind[static_cast<std::size_t>(MemoryKind::kOptimizerState)],
            2 * sizeof(float))
      << "momentum of the parameter with a gradient alone";
}

TEST_F(SgdTest, ClearsGradientsInEitherWay) {
  Tensor p = parameter({1, 2});
  const auto sgd = make_sgd({{"p", p}}, {});
  sgd->zero_grad();
  p.set_grad(tensor({1, 1}));
  sgd->zero_grad(/*set_to_none=*/false);
  EXPECT_THAT(host_values(p.grad()), ElementsAre(0, 0));
  sgd->zero_grad();
  EXPECT_FALSE(p.grad().defined());
}

// Zeroed gradients keep momentum moving a parameter; absent ones do not.
TEST_F(SgdTest, MomentumRestsWithoutAGradient) {
  Tensor p = parameter({1});
  const auto sgd = make_sgd({{"p", p}}, {1, 0.5});
  p.set_grad(tensor({1}));
  sgd->step();  // v = 1, p = 0
  sgd->zero_grad();
  sgd->step();
  EXPECT_THAT(host_values(p), ElementsAre(0));
  p.set_grad(tensor({0}));
  sgd->step();  // v = 0.5
  EXPECT_THAT(host_values(p), ElementsAre(-0.5));
}

TEST_F(SgdTest, RefusesOptionsThatCannotBe) {
  const Tensor p = parameter({1});
  const auto text = [&](const SgdOptions& options) {
    return test::error_text(ErrorKind::kInvalidArgument, [&] { make_sgd({{"p", p}}, options); });
  };
  EXPECT_EQ(text({-0.1}), "SGD: lr -0.1: must be a number that is not negative");
  EXPECT_EQ(text({std::nan("")}), "SGD: lr nan: must be a number that is not negative");
  EXPECT_EQ(text({0.1, -1}), "SGD: momentum -1: must be a number that is not negative");
  EXPECT_EQ(text({0.1, 0, 0, -1}), "SGD: weight_decay -1: must be a number that is not negative");
  EXPECT_EQ(text({0.1, 0, 0, 0, true}),
            "SGD: Nesterov with momentum 0 and dampening 0: it requires a momentum and zero "
            "dampening");
  EXPECT_EQ(text({0.1, 0.9, 0.1, 0, true}),
            "SGD: Nesterov with momentum 0.9 and dampening 0.1: it requires a momentum and zero "
            "dampening");
  EXPECT_EQ(test::error_text(ErrorKind::kInvalidArgument, [] { make_sgd({}, {}); }),
            "SGD: there are no parameters to optimise");
}

TEST_F(SgdTest, AStateGoesOnWhereItWasTaken) {
  Tensor p = parameter({1, 2});
  const auto sgd = make_sgd({{"p", p}}, {1, 0.5});
  EXPECT_TRUE(sgd->state_dict().empty());
  p.set_grad(tensor({1, 2}));
  sgd->step();
  const std::vector<NamedTensor> state = sgd->state_dict();
  ASSERT_EQ(state.size(), 1U);
  EXPECT_EQ(state[0].name, "p.momentum_buffer");
  Tensor q = parameter(host_values(p));
  const auto other = make_sgd({{"p", q}}, {1, 0.5});
  other->load_state_dict(state);
  q.set_grad(tensor({1, 2}));
  sgd->step();
  other->step();
  EXPECT_EQ(host_values(q), host_values(p));
  EXPECT_EQ(test::error_text(ErrorKind::kInvalidInput,
                             [&] {
                               make_sgd({{"q", q}}, {1, 0.5})->load_state_dict(state);
                             }),
            "load_state_dict: unexpected: p.momentum_buffer");
}

}  // namespace
}  // namespace ringside
