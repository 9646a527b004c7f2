// Tensor: making, viewing, reading back, memory kinds, and devices that do not execute.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ringside/error.h"
#include "support/inline_device.h"
#include "tensor/random_values.h"

namespace ringside::test {
namespace {

using Values = std::vector<double>;

TEST(Tensor, ValuesGoThereAndBackInEveryDtype) {
  InlineDevice device;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64}) {
    const Tensor x =
        Tensor::from_host(device, {2, 2}, dtype, Values{1, -2, 3, 4}, MemoryKind::kInputs, "x");
    EXPECT_EQ(x.dtype(), dtype);
    EXPECT_EQ(x.bytes(), 4 * size_of(dtype));
    EXPECT_EQ(x.name(), "x");
    EXPECT_EQ(host_values(x), (Values{1, -2, 3, 4}));
  }
}

TEST(Tensor, ValuesThatDoNotFitAreErrors) {
  InlineDevice device;
  const auto make = [&](const Shape& shape, DType dtype, const Values& values) {
    return Tensor::from_host(device, shape, dtype, values, MemoryKind::kInputs);
  };
  EXPECT_THROW(make({3}, DType::kFloat32, {1, 2}), Error);
  EXPECT_THROW(make({1}, DType::kInt64, {NAN}), Error);
  EXPECT_THROW(make({1}, DType::kInt32, {2147483648.0}), Error);
  EXPECT_EQ(host_values(make({1}, DType::kInt32, {-2147483648.0})), Values{-2147483648.0});
  EXPECT_THROW(make({1}, DType::kInt64, {9223372036854775808.0}), Error);
}

// A double has no 2^53 + 1, and the bits of a NaN say more than that it is one.
TEST(Tensor, BytesGoThereAndBackAsTheyAre) {
  InlineDevice device;
  const std::array<std::int64_t, 2> counters = {(std::int64_t{1} << 53) + 1, -1};
  const std::array<std::uint32_t, 2> floats = {0x7fa00001U, 0x80000000U};
  const auto there_and_back = [&](DType dtype, std::span<const std::byte> bytes) {
    const Tensor tensor =
        Tensor::from_host_bytes(device, {2}, dtype, bytes, MemoryKind::kInputs, "x");
    const std::vector<std::byte> back = host_bytes(tensor);
    EXPECT_TRUE(std::equal(back.begin(), back.end(), bytes.begin(), bytes.end()));
  };
  there_and_back(DType::kInt64, std::as_bytes(std::span(counters)));
  there_and_back(DType::kFloat32, std::as_bytes(std::span(floats)));
  EXPECT_THROW(there_and_back(DType::kFloat64, std::as_bytes(std::span(floats))), Error);
}

TEST(Tensor, AViewSharesPartOfABuffer) {
  InlineDevice device;
  const Tensor whole = Tensor::from_host(device, {6}, DType::kFloat32, Values{0, 1, 2, 3, 4, 5},
                                         MemoryKind::kBuckets);
  Tensor part = Tensor::view(device, whole.buffer(), 8, {2, 2}, DType::kFloat32, "part");
  EXPECT_EQ(host_values(part), (Values{2, 3, 4, 5}));
  fill_in_place(part, 9);
  EXPECT_EQ(host_values(whole), (Values{0, 1, 9, 9, 9, 9}));
  const auto view = [&](std::size_t offset, const Shape& shape) {
    return Tensor::view(device, whole.buffer(), offset, shape, DType::kFloat32);
  };
  EXPECT_THROW(view(8, {5}), Error);
  EXPECT_THROW(view(28, {0}), Error);
  EXPECT_THROW(view(2, {1}), Error) << "between two elements";
  EXPECT_EQ(view(24, {0}).numel(), 0);
}

TEST(Tensor, DetachSharesTheArrayOutsideTheGraph) {
  InlineDevice device;
  Tensor x = leaf(device, {1}, {3});
  Tensor y = scale(x, 2);
  EXPECT_TRUE(y.requires_grad());
  Tensor detached = y.detach();
  EXPECT_FALSE(detached.requires_grad());
  EXPECT_TRUE(detached.array().same_place(y.array()));
  EXPECT_TRUE(y.shared());
  detached = Tensor();
  EXPECT_FALSE(y.shared());
}

TEST(Tensor, OnlyFloatingLeavesCanRequireGrad) {
  InlineDevice device;
  Tensor integers = targets_of(device, {1, 2});
  EXPECT_THROW(integers.set_requires_grad(true), Error);
  Tensor result = relu(leaf(device, {1}, {1}));
  EXPECT_THROW(result.set_requires_grad(false), Error);
}

TEST(Tensor, BytesAreAccountedByKindUntilTheLastHandleGoes) {
  InlineDevice device;
  const auto used = [&](MemoryKind kind) {
    return device.memory().used_by_kind[static_cast<std::size_t>(kind)];
  };
  Tensor x = Tensor::empty(device, {8}, DType::kFloat64, MemoryKind::kParameters);
  const Tensor copy = x;
  x = Tensor();
  EXPECT_EQ(used(MemoryKind::kParameters), 64u);
  {
    const Tensor y = relu(copy);
    EXPECT_EQ(used(MemoryKind::kActivations), 64u);
  }
  EXPECT_EQ(used(MemoryKind::kActivations), 0u);
}

TEST(Tensor, ADeviceThatDoesNotExecuteRecordsTheSameOps) {
  const auto step = [](InlineDevice& device) {
    Tensor weight = random_leaf(device, {4, 6}, 1, DType::kFloat32);
    const Tensor x = random_leaf(device, {3, 6}, 2, DType::kFloat32).detach();
    const Tensor loss = cross_entropy(tanh(linear(x, weight, {})), targets_of(device, {0, 1, 3}));
    backward(loss);
    const double value = host_value(loss, 2.5);
    EXPECT_EQ(host_values(weight.grad(), 0.5).size(), 24u);
    return value;
  };
  InlineDevice real;
  InlineDevice meta(false, "meta:0");
  EXPECT_NE(step(real), 2.5);
  EXPECT_EQ(step(meta), 2.5);
  EXPECT_EQ(real.ops(), meta.ops());
  EXPECT_EQ(real.memory().peak, meta.memory().peak);
}

}  // namespace
}  // namespace ringside::test
