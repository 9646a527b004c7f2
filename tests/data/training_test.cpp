// The rooms together: models learn the digits on one simulated device.
//
// The digits' own test rows are harder than a seventh dealt out of all rows: a nearest neighbour
// gets 0.943 of them, so no threshold above that can hold (docs/data.md). Accuracy above 0.95 is
// therefore asked for on dealt rows.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "ringside/data.h"
#include "ringside/nn.h"
#include "ringside/optim.h"
#include "sim/device/engine.h"
#include "support/time_limit.h"
#include "tensor/cpu_kernels.h"

namespace ringside {
namespace {

struct Result {
  double first_loss = 0;
  double train_accuracy = 0;
  double test_accuracy = 0;
};

/// All digits, every seventh for the test.
TrainTest dealt_digits() {
  const TrainTest digits = load_dataset("digits", 0);
  TrainTest dealt;
  dealt.train = dealt.test = Dataset{"digits", Shape{64}, 10, {}, {}};
  int row = 0;
  for (const Dataset* part : {&digits.train, &digits.test}) {
    for (std::size_t i = 0; i < part->targets.size(); ++i, ++row) {
      Dataset& to = row % 7 == 6 ? dealt.test : dealt.train;
      const auto sample = part->samples.begin() + static_cast<std::ptrdiff_t>(64 * i);
      to.samples.insert(to.samples.end(), sample, sample + 64);
      to.targets.push_back(part->targets[i]);
    }
  }
  return dealt;
}

class Training : public ::testing::Test {
 protected:
  double accuracy(Module& model, const Dataset& test) {
    model.train(false);
    const NoGradScope no_grad(*device_);
    std::vector<std::int64_t> all(static_cast<std::size_t>(test.size()));
    std::iota(all.begin(), all.end(), 0);
    const auto loader = make_loader(test, all, *device_, {.batch_size = 100});
    double correct = 0;
    for (Batch batch; loader->next(batch);) {
      correct += host_value(count_correct(model.forward(batch.inputs), batch.targets), 0);
    }
    model.train();
    return correct / static_cast<double>(test.size());
  }

  Result train(const TrainTest& data, const std::string& spec, int epochs, double lr,
               std::int64_t batch_size = 64) {
    Generator generator(0);
    const auto model = make_model(spec, {*device_, DType::kFloat32, generator},
                                  data.train.sample_shape, data.train.classes);
    const auto sgd = make_sgd(model->named_parameters(), {lr, 0.9});
    Result result;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      const auto loader =
          make_loader(data.train, distributed_sampler(data.train.size(), 1, 0, epoch, {}), *device_,
                      {.batch_size = batch_size, .drop_last = true, .workers = 2});
      for (Batch batch; loader->next(batch);) {
        sgd->zero_grad();
        const Tensor loss = cross_entropy(model->forward(batch.inputs), batch.targets);
        backward(loss);
        sgd->step();
        if (result.first_loss == 0) result.first_loss = host_value(loss, 0);
      }
    }
    result.train_accuracy = accuracy(*model, data.train);
    result.test_accuracy = accuracy(*model, data.test);
    return result;
  }

  std::unique_ptr<Kernels> kernels_ = make_cpu_kernels();
  sim::Engine engine_{{}};
  std::unique_ptr<Device> device_ = engine_.make_device(0, "sim:0", 0, *kernels_);
};

TEST_F(Training, MlpsLearnTheDigits) {
  test::with_time_limit([&] {
    const TrainTest dealt = dealt_digits();
    for (const char* spec : {"mlp:64,32,10", "mlp:64,32,10:tanh", "mlp:64,32,10:bn"}) {
      const Result result = train(dealt, spec, 15, 0.1);
      EXPECT_NEAR(result.first_loss, 2.3, 0.4) << spec;
      EXPECT_GT(result.train_accuracy, 0.98) << spec;
      EXPECT_GT(result.test_accuracy, 0.95) << spec;
    }
  });
}

TEST_F(Training, AnMlpLearnsTheHarderTestRows) {
  test::with_time_limit([&] {
    const Result result = train(load_dataset("digits", 0), "mlp:64,32,10", 15, 0.1);
    EXPECT_GT(result.train_accuracy, 0.98);
    EXPECT_GT(result.test_accuracy, 0.88);
  });
}

// Few rows, since sanitizers make convolutions slow: enough to see that it learns them by heart.
TEST_F(Training, LeNetLearnsPaddedDigits) {
  test::with_time_limit(std::chrono::seconds(300), [&] {
    TrainTest data = dealt_digits();
    for (Dataset* part : {&data.train, &data.test}) {
      part->targets.resize(4);
      part->samples.resize(std::size_t{4} * 64);
    }
    const Result result = train(data, "lenet", 200, 0.03, /*batch_size=*/4);
    EXPECT_NEAR(result.first_loss, 2.3, 0.2);
    EXPECT_EQ(result.train_accuracy, 1);
  });
}

}  // namespace
}  // namespace ringside
