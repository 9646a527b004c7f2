// Embedding and scaled dot-product attention. Attention goes head by head through gemm; the matrix
// of one head's scores is the only scratch of the backward pass.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "tensor/cpu_kernel_set.h"
#include "tensor/gemm.h"
#include "tensor/lane_sum.h"
#include "tensor/vector_math.h"

namespace ringside {
namespace {

/// An asynchronous error: the values are known only when the launch runs.
void check_index(std::int64_t index, std::int64_t place, std::int64_t rows) {
  if (index >= 0 && index < rows) return;
  throw Error(
      ErrorKind::kInvalidInput,
      fmt::format("embedding: index {} at place {} is outside [0, {})", index, place, rows),
      fmt::format("the table has {} rows; tokens must be numbers from 0 to {}", rows, rows - 1));
}

/// The geometry of an attention; heads of all samples are one row of matrices.
struct Heads {
  Heads(const DeviceArray& q, const DeviceArray& k)
      : count(q.shape[0] * q.shape[1]), queries(q.shape[2]), keys(k.shape[2]), depth(q.shape[3]) {}
  bool empty() const { return count == 0 || queries == 0 || keys == 0 || depth == 0; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(depth)); }

  std::int64_t count, queries, keys, depth;
};

/// Softmax of the first `seen` values of a row in place; the others become 0.
template <typename T>
void softmax_row(T* __restrict row, std::int64_t seen, std::int64_t width) {
  const T largest = *std::max_element(row, row + seen);
  for (std::int64_t j = 0; j < seen; ++j) row[j] = vector_exp(row[j] - largest);
  const double sum = lane_sum(seen, [row](std::int64_t j) -> double { return row[j]; });
  const T inverse = static_cast<T>(1 / sum);
  for (std::int64_t j = 0; j < seen; ++j) row[j] *= inverse;
  std::fill(row + seen, row + width, T(0));
}

/// From the gradient of a row of probabilities p that of its scores: p (dp - Σ p dp), in place. A
/// masked key has p = 0 and so gets 0.
template <typename T>
void softmax_row_backward(T* __restrict gradient, const T* __restrict p, std::int64_t width) {
  const T dot = static_cast<T>(
      lane_sum(width, [gradient, p](std::int64_t j) -> double { return gradient[j] * p[j]; }));
  for (std::int64_t j = 0; j < width; ++j) gradient[j] = p[j] * (gradient[j] - dot);
}

}  // namespace

void CpuKernels::embedding(LaunchContext&, const DeviceArray& y, const DeviceArray& weight,
                           const DeviceArray& indices) {
  const std::int64_t rows = weight.shape[0];
  const std::size_t row_bytes = static_cast<std::size_t>(weight.shape[1]) * size_of(weight.dtype);
  const auto* index = indices.data<std::int64_t>();
  const auto count = static_cast<std::int64_t>(indices.count());
  for (std::int64_t i = 0; i < count; ++i) {
    check_index(index[i], i, rows);
    std::memcpy(y.raw() + static_cast<std::size_t>(i) * row_bytes,
                weight.raw() + static_cast<std::size_t>(index[i]) * row_bytes, row_bytes);
  }
}

void CpuKernels::embedding_backward(LaunchContext&, const DeviceArray& dweight,
                                    const DeviceArray& dy, const DeviceArray& indices) {
  visit_floating(dweight.dtype, [&]<typename T>() {
    const std::int64_t width = dweight.shape[1];
    const auto* index = indices.data<std::int64_t>();
    const auto count = static_cast<std::int64_t>(indices.count());
    std::fill_n(dweight.data<T>(), dweight.count(), T(0));
    for (std::int64_t i = 0; i < count; ++i) {
      T* __restrict sum = dweight.data<T>() + index[i] * width;
      const T* __restrict gradient = dy.data<T>() + i * width;
      for (std::int64_t j = 0; j < width; ++j) sum[j] += gradient[j];
    }
  });
}

void CpuKernels::attention(LaunchContext&, const DeviceArray& y, const DeviceArray& probabilities,
                           const DeviceArray& q, const DeviceArray& k, const DeviceArray& v,
                           bool causal) {
  visit_floating(y.dtype, [&]<typename T>() {
    const Heads heads(q, k);
    if (heads.empty()) return std::fill_n(y.data<T>(), y.count(), T(0)), void();
    const auto [count, queries, keys, depth] = heads;
    for (std::int64_t h = 0; h < count; ++h) {
      T* p = probabilities.data<T>() + h * queries * keys;
      const T* query = q.data<T>() + h * queries * depth;
      const T* key = k.data<T>() + h * keys * depth;
      const T* value = v.data<T>() + h * keys * depth;
      ringside::gemm(queries, keys, depth, static_cast<T>(heads.scale()),
                     MatrixOperand<T>{query, depth}, MatrixOperand<T>{key, depth, true}, T(0), p);
      for (std::int64_t t = 0; t < queries; ++t) {
        softmax_row(p + t * keys, causal ? std::min(t + 1, keys) : keys, keys);
      }
      ringside::gemm(queries, depth, keys, T(1), MatrixOperand<T>{p, keys},
                     MatrixOperand<T>{value, depth}, T(0), y.data<T>() + h * queries * depth);
    }
  });
}

void CpuKernels::attention_backward(LaunchContext&, const DeviceArray& dq, const DeviceArray& dk,
                                    const DeviceArray& dv, const DeviceArray& dy,
                                    const DeviceArray& probabilities, const DeviceArray& q,
                                    const DeviceArray& k, const DeviceArray& v) {
  visit_floating(dy.dtype, [&]<typename T>() {
    const Heads heads(q, k);
    if (heads.empty()) {
      for (const DeviceArray* out : {&dq, &dk, &dv})
        std::fill_n(out->data<T>(), out->count(), T(0));
      return;
    }
    const auto [count, queries, keys, depth] = heads;
    const T scale = static_cast<T>(heads.scale());
    const auto workspace = workspaces_.borrow();
    T* scores = workspace->array<T>(0, queries * keys);
    for (std::int64_t h = 0; h < count; ++h) {
      const std::int64_t of_query = h * queries * depth;
      const std::int64_t of_key = h * keys * depth;
      const T* p = probabilities.data<T>() + h * queries * keys;
      const MatrixOperand<T> gradient{dy.data<T>() + of_query, depth};
      ringside::gemm(keys, depth, queries, T(1), MatrixOperand<T>{p, keys, true}, gradient, T(0),
                     dv.data<T>() + of_key);
      ringside::gemm(queries, keys, depth, T(1), gradient,
                     MatrixOperand<T>{v.data<T>() + of_key, depth, true}, T(0), scores);
      for (std::int64_t t = 0; t < queries; ++t) {
        softmax_row_backward(scores + t * keys, p + t * keys, keys);
      }
      ringside::gemm(queries, depth, keys, scale, MatrixOperand<T>{scores, keys},
                     MatrixOperand<T>{k.data<T>() + of_key, depth}, T(0), dq.data<T>() + of_query);
      ringside::gemm(keys, depth, queries, scale, MatrixOperand<T>{scores, keys, true},
                     MatrixOperand<T>{q.data<T>() + of_query, depth}, T(0), dk.data<T>() + of_key);
    }
  });
}

}  // namespace ringside
