// Every CUDA kernel against its CPU twin, on the rows of the table. Skips, with the reason, where
// there is no GPU; that the rows themselves are sound is tested on the CPU (kernel_table_test.cpp).
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backends/cuda/cuda_world.h"
#include "backends/cuda/run_kernel.h"
#include "ringside/error.h"
#include "support/error_text.h"
#include "support/inline_device.h"

namespace ringside::test {
namespace {

class KernelTwins : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = cuda_why_unavailable();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    world_ = open_cuda_world({});
  }
  Device& gpu() const { return world_->device(0); }

  void expect_twins(const std::vector<KernelCase>& cases) {
    const auto seed = static_cast<std::uint32_t>(std::random_device{}());
    for (const KernelCase& each : cases) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
        for (const bool skewed : {false, true}) {
          const Results expected = run_kernel(cpu_, each, dtype, seed, skewed);
          const Results results = run_kernel(gpu(), each, dtype, seed, skewed);
          EXPECT_EQ(differences(each, dtype, expected, results), "") << "seed " << seed;
          KernelCase again = each;
          again.tolerance = kExact;
          EXPECT_EQ(
              differences(again, dtype, results, run_kernel(gpu(), each, dtype, seed, skewed)), "")
              << "two runs differ; seed " << seed;
        }
      }
    }
  }

  InlineDevice cpu_;
  std::unique_ptr<World> world_;
};

TEST_F(KernelTwins, Elementwise) { expect_twins(elementwise_cases()); }
TEST_F(KernelTwins, ConvolutionPoolingAndBatchNormalisation) { expect_twins(image_cases()); }
TEST_F(KernelTwins, ProductsTokensAndLayerNormalisation) { expect_twins(token_cases()); }
TEST_F(KernelTwins, LossesAndOptimisers) { expect_twins(training_cases()); }

TEST_F(KernelTwins, TypesOfSixteenBits) {
  KernelCase rows{"", "", {random({1003}), random({1003})}, {}, kExact};
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const bool skewed : {false, true}) {
      rows.kernel = "divide";
      rows.call = [](Kernels& k, LaunchContext& c, Arrays a) { k.divide(c, a[0], a[1], 3); };
      EXPECT_EQ(differences(rows, dtype, run_kernel(cpu_, rows, dtype, 1, skewed),
                            run_kernel(gpu(), rows, dtype, 1, skewed)),
                "");
      rows.kernel = "add";
      rows.call = [](Kernels& k, LaunchContext& c, Arrays a) {
        k.add(c, a[0], 0.1, a[0], 1.0 / 3, a[1]);
      };
      EXPECT_EQ(differences(rows, dtype, run_kernel(cpu_, rows, dtype, 1, skewed),
                            run_kernel(gpu(), rows, dtype, 1, skewed)),
                "");
    }
  }
  // By way of every type: the arrays are float64, their halves serve as arrays of the others.
  for (const DType to : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    rows.kernel = "convert";
    rows.name = "through " + std::string(to_string(to));
    rows.call = [to](Kernels& k, LaunchContext& c, Arrays a) {
      const DeviceArray narrow{a[0].storage, a[0].offset, to, a[0].shape};
      k.convert(c, narrow, a[1]);
      k.convert(c, a[1], narrow);
      k.fill(c, a[0], 0);
    };
    EXPECT_EQ(differences(rows, DType::kFloat64, run_kernel(cpu_, rows, DType::kFloat64, 1, false),
                          run_kernel(gpu(), rows, DType::kFloat64, 1, false)),
              "");
  }
}

TEST_F(KernelTwins, AValueOutOfRangeIsAnErrorAtTheNextWait) {
  KernelCase wrong{"cross_entropy", "", {random({1}), random({6, 3}), random({6, 3})}, {}, kExact};
  wrong.arguments.push_back(indices({6}, 3, 11));
  wrong.call = [](Kernels& k, LaunchContext& c, Arrays a) {
    k.cross_entropy(c, a[0], a[1], a[2], a[3], {});
  };
  const auto run_on = [&](Device& device) {
    return error_text(ErrorKind::kInvalidInput,
                      [&] { run_kernel(device, wrong, DType::kFloat32, 1, false); });
  };
  const std::string on_gpu = run_on(gpu());
  EXPECT_NE(on_gpu.find("target 11 of row 1 is outside [0, 3)"), std::string::npos) << on_gpu;
  wrong.arguments.back() = indices({6}, 3);
  EXPECT_NO_THROW(run_kernel(gpu(), wrong, DType::kFloat32, 1, false)) << "it must be said once";
}

}  // namespace
}  // namespace ringside::test
