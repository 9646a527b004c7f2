// What the CUDA kernels decide on the host: geometry, vectors, arguments of cuBLAS, which cuBLAS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "backends/cuda/array_groups.h"
#include "backends/cuda/convolution_geometry.h"
#include "backends/cuda/cublas_library.h"
#include "backends/cuda/launch_geometry.h"
#include "backends/cuda/matrix_product.h"
#include "backends/cuda/value_check.h"
#include "support/error_text.h"

namespace ringside::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LaunchGeometry, HasABlockForEveryThreadsWorthUpToALimit) {
  EXPECT_EQ(blocks_for(0), 1U);
  EXPECT_EQ(blocks_for(1), 1U);
  EXPECT_EQ(blocks_for(kThreads), 1U);
  EXPECT_EQ(blocks_for(kThreads + 1), 2U);
  EXPECT_EQ(blocks_for(std::size_t{1} << 40), kMostBlocks);
  EXPECT_EQ(blocks_for_each(0), 1U);
  EXPECT_EQ(blocks_for_each(77), 77U);
  EXPECT_EQ(blocks_for_each(std::size_t{1} << 40), kMostBlocks * 16);
}

TEST(LaunchGeometry, ReadsSixteenBytesOnlyWhereEveryArrayAllowsIt) {
  alignas(16) const char memory[64] = {};
  EXPECT_EQ(vector_width<float>({memory, memory + 16}), 4U);
  EXPECT_EQ(vector_width<double>({memory, memory + 32}), 2U);
  EXPECT_EQ(vector_width<std::uint8_t>({memory}), 16U);
  EXPECT_EQ(vector_width<float>({memory, memory + 4}), 1U);
  EXPECT_EQ(vector_width<double>({memory + 8, memory}), 1U);
  EXPECT_EQ(vector_width<float>({memory, nullptr}), 4U) << "an array that is not used";
}

/// What cublasSgemm does: column-major, on what it is given.
std::vector<double> column_major_gemm(const ColumnMajorProduct& p, const std::vector<double>& first,
                                      const std::vector<double>& second) {
  std::vector<double> result(static_cast<std::size_t>(p.result_stride * p.n));
  const auto at = [](const std::vector<double>& matrix, std::int64_t stride, bool transpose,
                     std::int64_t row, std::int64_t column) {
    return matrix.at(
        static_cast<std::size_t>(transpose ? column + row * stride : row + column * stride));
  };
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      for (std::int64_t l = 0; l < p.k; ++l) {
        result.at(static_cast<std::size_t>(i + j * p.result_stride)) +=
            at(first, p.first_stride, p.transpose_first, i, l) *
            at(second, p.second_stride, p.transpose_second, l, j);
      }
    }
  }
  return result;
}

TEST(MatrixProduct, RowMajorOperandsBecomeColumnMajorOnes) {
  // a = [1 2 3; 4 5 6], b = [1 0; 2 1; 0 3], a b = [5 11; 14 23].
  const std::vector<double> a = {1, 2, 3, 4, 5, 6};
  const std::vector<double> a_transposed = {1, 4, 2, 5, 3, 6};
  const std::vector<double> b = {1, 0, 2, 1, 0, 3};
  const std::vector<double> b_transposed = {1, 2, 0, 0, 1, 3};
  const auto expected = ElementsAre(5, 11, 14, 23);
  EXPECT_THAT(column_major_gemm(column_major(2, 2, 3, {3, false}, {2, false}), b, a), expected);
  EXPECT_THAT(column_major_gemm(column_major(2, 2, 3, {2, true}, {2, false}), b, a_transposed),
              expected);
  EXPECT_THAT(column_major_gemm(column_major(2, 2, 3, {3, false}, {3, true}), b_transposed, a),
              expected);
  // One row and one column, which no mistake in m and n survives.
  EXPECT_THAT(column_major_gemm(column_major(1, 2, 3, {3, false}, {2, false}), b, {1, 2, 3}),
              ElementsAre(5, 11));
}

TEST(CublasLibrary, IsLookedForByVersionThenBesideTheRuntimeThenByName) {
  EXPECT_THAT(cublas_candidates(13010, "/opt/cuda/lib"),
              ElementsAre("libcublas.so.13", "/opt/cuda/lib/libcublas.so.13", "libcublas.so"));
  EXPECT_THAT(cublas_candidates(12040, ""), ElementsAre("libcublas.so.12", "libcublas.so"));
}

TEST(CublasLibrary, SaysWhatWasTriedWhereThereIsNone) {
  try {
    load_cublas({"libringside-has-none.so.1", "/nowhere/libcublas.so"});
    ADD_FAILURE() << "it was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
    EXPECT_THAT(error.what(), HasSubstr("libringside-has-none.so.1"));
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/libcublas.so"));
    EXPECT_THAT(error.hint(), HasSubstr("LD_LIBRARY_PATH"));
  }
}

TEST(CublasLibrary, NamesTheFunctionThatALibraryLacks) {
  const std::string text =
      test::error_text(ErrorKind::kUnavailable, [] { load_cublas({"libc.so.6"}); });
  EXPECT_THAT(text, HasSubstr("libc.so.6 has no function cublasCreate_v2"));
}

TEST(CublasLibrary, TheOneThatWasFoundWhenBuildingHasEveryFunction) {
  const CublasLibrary& library = cublas();
  EXPECT_NE(library.multiply_float, nullptr);
  EXPECT_NE(library.multiply_double, nullptr);
  EXPECT_EQ(&library, &cublas()) << "it is loaded once";
}

TEST(ArrayGroups, TakeAllArraysInOrderAndFitIntoALaunch) {
  EXPECT_LE(sizeof(ArrayGroup<float>), 4000U);
  const std::size_t count = 2 * ArrayGroup<float>::kMost + 5;
  std::vector<DeviceArray> arrays(count);
  for (std::size_t i = 0; i < count; ++i) arrays[i].shape = {static_cast<std::int64_t>(i)};
  std::vector<std::int64_t> seen;
  std::vector<int> sizes;
  for_each_group<float>(arrays, [&](const ArrayGroup<float>& group) {
    EXPECT_EQ(group.first, static_cast<int>(seen.size()));
    sizes.push_back(group.number);
    seen.insert(seen.end(), group.counts, group.counts + group.number);
  });
  EXPECT_THAT(sizes, ElementsAre(ArrayGroup<float>::kMost, ArrayGroup<float>::kMost, 5));
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(seen.at(i), static_cast<std::int64_t>(i));
  for_each_group<float>({}, [](const auto&) { ADD_FAILURE() << "a group of nothing"; });
}

TEST(ConvolutionGeometry, CountsInThirtyTwoBitsOrRefuses) {
  const ConvolutionGeometry g({2, 3, 11, 9}, {35, 3, 3, 3}, {2, 35, 6, 5}, {2, 1});
  EXPECT_EQ(g.taps(), 27);
  EXPECT_EQ(g.positions(), 198);
  EXPECT_EQ(g.out_positions(), 60);
  const std::string text = test::error_text(ErrorKind::kUnavailable, [] {
    ConvolutionGeometry({1 << 20, 1, 64, 64}, {1, 1, 1, 1}, {1 << 20, 1, 64, 64}, {});
  });
  EXPECT_THAT(text, HasSubstr("4294967296 positions of the input"));
}

TEST(ConvolutionGeometry, CutsLongSumsIntoPartsOnlyWhereTheGpuWouldIdle) {
  EXPECT_EQ(weight_gradient_parts(1, 100), 1) << "too little for two parts";
  EXPECT_EQ(weight_gradient_parts(1, 64 * 24 * 24), 144);
  EXPECT_EQ(weight_gradient_parts(1, 1 << 30), 256);
  EXPECT_EQ(weight_gradient_parts(1000, 1 << 30), 1) << "tiles enough without";
  EXPECT_EQ(weight_gradient_parts(0, 0), 1);
}

TEST(ValueCheck, SpeaksOfValuesAsTheCpuDoes) {
  ValueReport report;
  report.place = 3;
  report.value = 11;
  report.limit = 10;
  EXPECT_EQ(describe(report), "cross_entropy: target 11 of row 3 is outside [0, 10)");
  EXPECT_THAT(remedy(report), HasSubstr("class numbers from 0 to 9"));
  report.kernel = Checked::kCountCorrect;
  EXPECT_EQ(describe(report), "count_correct: target 11 of row 3 is outside [0, 10)");
  report.kernel = Checked::kEmbedding;
  EXPECT_EQ(describe(report), "embedding: index 11 at place 3 is outside [0, 10)");
  EXPECT_THAT(remedy(report), HasSubstr("tokens must be numbers from 0 to 9"));
}

}  // namespace
}  // namespace ringside::cuda
