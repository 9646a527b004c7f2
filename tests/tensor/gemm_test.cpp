// The matrix product: against its definition, and the same bits on every thread and at every
// address.
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensor/gemm.h"
#include "tensor/gemm_loops.h"
#include "tensor/random_values.h"

namespace ringside::test {
namespace {

template <typename T>
std::vector<T> random_matrix(std::int64_t count, std::uint32_t seed) {
  const std::vector<double> values = random_values(count, seed);
  return {values.begin(), values.end()};
}

/// op(a) and op(b) of one product as they lie in memory.
template <typename T>
struct Product {
  Product(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool ta, bool tb)
      : m(rows),
        n(columns),
        k(depth),
        transpose_a(ta),
        transpose_b(tb),
        a(random_matrix<T>(rows * depth, 1)),
        b(random_matrix<T>(depth * columns, 2)),
        c(random_matrix<T>(rows * columns, 3)) {}

  MatrixOperand<T> left() const { return {a.data(), transpose_a ? m : k, transpose_a}; }
  MatrixOperand<T> right() const { return {b.data(), transpose_b ? k : n, transpose_b}; }

  /// alpha * op(a) * op(b) + beta * c at (i, j), in double.
  double expected(std::int64_t i, std::int64_t j, double alpha, double beta) const {
    double sum = 0;
    for (std::int64_t p = 0; p < k; ++p) {
      sum += static_cast<double>(transpose_a ? a[p * m + i] : a[i * k + p]) *
             static_cast<double>(transpose_b ? b[j * k + p] : b[p * n + j]);
    }
    return alpha * sum + (beta == 0 ? 0 : beta * static_cast<double>(c[i * n + j]));
  }

  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
  std::vector<T> a, b, c;
};

template <typename T, typename Gemm>
void expect_product(const Product<T>& product, T alpha, T beta, double tolerance, Gemm run) {
  std::vector<T> c = product.c;
  if (beta == T(0)) c.assign(c.size(), static_cast<T>(NAN));  // must not be read
  run(product, alpha, beta, c.data());
  for (std::int64_t i = 0; i < product.m; ++i) {
    for (std::int64_t j = 0; j < product.n; ++j) {
      ASSERT_NEAR(static_cast<double>(c[i * product.n + j]),
                  product.expected(i, j, static_cast<double>(alpha), static_cast<double>(beta)),
                  tolerance * static_cast<double>(product.k + 1))
          << "at (" << i << ", " << j << ") of " << product.m << "x" << product.n << "x"
          << product.k << ", transposed " << product.transpose_a << product.transpose_b;
    }
  }
}

template <typename T>
void expect_all_products(double tolerance) {
  const std::vector<std::tuple<int, int, int>> sizes{
      {1, 1, 1},  {1, 7, 3},   {5, 1, 4},    {2, 3, 1},     {4, 4, 4},    {16, 10, 32},
      {17, 9, 5}, {33, 65, 7}, {64, 32, 64}, {63, 129, 65}, {3, 300, 200}};
  for (const auto& [m, n, k] : sizes) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const Product<T> product(m, n, k, transpose_a, transpose_b);
        for (const auto& [alpha, beta] : {std::pair{T(1), T(0)}, {T(1), T(1)}, {T(-2), T(0.5)}}) {
          expect_product(product, alpha, beta, tolerance, [](const auto& p, T al, T be, T* c) {
            gemm(p.m, p.n, p.k, al, p.left(), p.right(), be, c);
          });
          expect_product(product, alpha, beta, tolerance, [](const auto& p, T al, T be, T* c) {
            gemm_loops::gemm(p.m, p.n, p.k, al, p.left(), p.right(), be, c);
          });
        }
      }
    }
  }
}

TEST(Gemm, Float32IsTheProductOfItsDefinition) { expect_all_products<float>(2e-7); }
TEST(Gemm, Float64IsTheProductOfItsDefinition) { expect_all_products<double>(4e-16); }

/// The product with its operands `shift` elements behind a 64-byte boundary.
std::vector<float> product_at(const Product<float>& product, std::size_t shift) {
  constexpr std::align_val_t kAlignment{64};
  const auto placed = [&](const std::vector<float>& values) {
    auto* memory =
        static_cast<float*>(::operator new((values.size() + shift) * sizeof(float), kAlignment));
    std::copy(values.begin(), values.end(), memory + shift);
    return std::unique_ptr<float, void (*)(float*)>(
        memory, [](float* p) { ::operator delete (p, std::align_val_t{64}); });
  };
  const auto a = placed(product.a);
  const auto b = placed(product.b);
  const auto c = placed(product.c);
  gemm(product.m, product.n, product.k, 1.0F,
       {a.get() + shift, product.left().stride, product.transpose_a},
       {b.get() + shift, product.right().stride, product.transpose_b}, 0.0F, c.get() + shift);
  return {c.get() + shift, c.get() + shift + product.c.size()};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::size_t threads_of_this_process() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::size_t count = 0;
  while (status >> word) {
    if (word == "Threads:") status >> count;
  }
  return count;
}

TEST(Gemm, TheBitsDependOnNeitherThreadNorAddress) {
  for (const auto& [m, n, k] : {std::tuple{16, 32, 64}, {7, 13, 29}, {64, 512, 300}}) {
    for (const bool transpose : {false, true}) {
      const Product<float> product(m, n, k, transpose, !transpose);
      const std::vector<float> here = product_at(product, 0);
      for (std::size_t shift = 1; shift < 16; ++shift) {
        EXPECT_TRUE(same_bits(here, product_at(product, shift))) << "shift " << shift;
      }
      for (int i = 0; i < 4; ++i) {
        std::vector<float> there;
        std::thread([&] { there = product_at(product, 0); }).join();
        EXPECT_TRUE(same_bits(here, there));
      }
    }
  }
}

TEST(Gemm, ThreadsAtOnceGetTheSameBits) {
  const Product<float> product(64, 96, 80, false, true);
  const std::vector<float> here = product_at(product, 0);
  std::array<int, 8> different{};
  std::vector<std::thread> threads;
  for (int& count : different) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) count += same_bits(here, product_at(product, 0)) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(different, testing::Each(0));
}

TEST(Gemm, ALargeProductStartsNoThreads) {
  const Product<float> product(256, 256, 256, false, false);
  const auto threads_started = [&] {
    const std::size_t before = threads_of_this_process();
    product_at(product, 0);
    return threads_of_this_process() - before;
  };
  std::thread([&] { EXPECT_EQ(threads_started(), 0U); }).join();
  EXPECT_EQ(threads_started(), 0U);
}

}  // namespace
}  // namespace ringside::test
