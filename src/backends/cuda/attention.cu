// Scaled dot-product attention: products of all heads at once through cuBLAS, softmax between them.
#include <cmath>

#include "backends/cuda/blocks.cuh"
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/floating.h"
#include "backends/cuda/functions.cuh"
#include "backends/cuda/workspace.h"

namespace ringside::cuda {
namespace {

/// The geometry of an attention; heads of all samples are one row of matrices.
struct Heads {
  Heads(const DeviceArray& q, const DeviceArray& k)
      : count(q.shape[0] * q.shape[1]), queries(q.shape[2]), keys(k.shape[2]), depth(q.shape[3]) {}
  bool empty() const { return count == 0 || queries == 0 || keys == 0 || depth == 0; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(depth)); }
  std::int64_t rows() const { return count * queries; }

  std::int64_t count, queries, keys, depth;
};

/// A head's matrix, as one operand of `count` products.
template <typename T>
struct Matrices {
  T* data;
  std::int64_t rows, columns;
  bool transpose = false;
  std::int64_t height() const { return transpose ? columns : rows; }
  std::int64_t width() const { return transpose ? rows : columns; }
  RowMajor operand() const { return {columns, transpose}; }
};

/// c = alpha op(a) op(b) for every head.
template <typename T>
void multiply(CublasHandles& handles, const LaunchContext& context, std::int64_t count, T* c,
              double alpha, const Matrices<const T>& a, const Matrices<const T>& b) {
  const Batch batch{count, b.rows * b.columns, a.rows * a.columns, a.height() * b.width()};
  handles.multiply(stream_of(context),
                   column_major(a.height(), b.width(), a.width(), a.operand(), b.operand()), batch,
                   static_cast<T>(alpha), b.data, a.data, T(0), c);
}

/// A warp a row: softmax of the keys that its query sees, in place; the others become 0.
template <typename T>
__global__ void softmax_kernel(T* scores, std::int64_t rows, std::int64_t queries,
                               std::int64_t keys, bool causal) {
  const unsigned lane = threadIdx.x % kWarp;
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / kWarp);
  for (std::int64_t r = blockIdx.x * std::int64_t{blockDim.x / kWarp} + threadIdx.x / kWarp;
       r < rows; r += warps) {
    T* row = scores + r * keys;
    const std::int64_t seen = causal ? min(r % queries + 1, keys) : keys;
    T largest = row[0];
    for (std::int64_t j = lane; j < seen; j += kWarp) largest = fmax(largest, row[j]);
    largest = warp_max(largest);
    double sum = 0;
    for (std::int64_t j = lane; j < seen; j += kWarp) {
      const T power = device_exp(row[j] - largest);
      row[j] = power;
      sum += power;
    }
    const T inverse = static_cast<T>(1 / warp_sum(sum));
    for (std::int64_t j = lane; j < keys; j += kWarp) row[j] = j < seen ? row[j] * inverse : T(0);
  }
}

/// A warp a row: from the gradient of probabilities p that of their scores, p (dp - Σ p dp).
template <typename T>
__global__ void softmax_backward_kernel(T* gradient, const T* probabilities, std::int64_t rows,
                                        std::int64_t keys) {
  const unsigned lane = threadIdx.x % kWarp;
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / kWarp);
  for (std::int64_t r = blockIdx.x * std::int64_t{blockDim.x / kWarp} + threadIdx.x / kWarp;
       r < rows; r += warps) {
    T* row = gradient + r * keys;
    const T* p = probabilities + r * keys;
    double sum = 0;
    for (std::int64_t j = lane; j < keys; j += kWarp) sum += row[j] * p[j];
    const T dot = static_cast<T>(warp_sum(sum));
    for (std::int64_t j = lane; j < keys; j += kWarp) row[j] = p[j] * (row[j] - dot);
  }
}

}  // namespace

void CudaKernels::attention(LaunchContext& context, const DeviceArray& y,
                            const DeviceArray& probabilities, const DeviceArray& q,
                            const DeviceArray& k, const DeviceArray& v, bool causal) {
  const Heads heads(q, k);
  if (heads.empty()) return fill(context, y, 0);
  visit_trainable(y.dtype, [&]<typename T>() {
    T* p = probabilities.data<T>();
    multiply<T>(cublas_, context, heads.count, p, heads.scale(),
                {q.data<T>(), heads.queries, heads.depth},
                {k.data<T>(), heads.keys, heads.depth, true});
    const auto rows = static_cast<std::size_t>(heads.rows());
    softmax_kernel<<<blocks_for(rows * kWarp), kThreads, 0, stream_of(context)>>>(
        p, heads.rows(), heads.queries, heads.keys, causal);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
    multiply<T>(cublas_, context, heads.count, y.data<T>(), 1, {p, heads.queries, heads.keys},
                {v.data<T>(), heads.keys, heads.depth});
  });
}

void CudaKernels::attention_backward(LaunchContext& context, const DeviceArray& dq,
                                     const DeviceArray& dk, const DeviceArray& dv,
                                     const DeviceArray& dy, const DeviceArray& probabilities,
                                     const DeviceArray& q, const DeviceArray& k,
                                     const DeviceArray& v) {
  const Heads heads(q, k);
  if (heads.empty()) {
    for (const DeviceArray* out : {&dq, &dk, &dv}) fill(context, *out, 0);
    return;
  }
  visit_trainable(dy.dtype, [&]<typename T>() {
    const auto [count, queries, keys, depth] = heads;
    const T* p = probabilities.data<T>();
    const Matrices<const T> gradient{dy.data<T>(), queries, depth};
    const StreamWorkspace workspace(stream_of(context), probabilities.bytes());
    T* scores = workspace.data<T>();
    multiply<T>(cublas_, context, count, dv.data<T>(), 1, {p, queries, keys, true}, gradient);
    multiply<T>(cublas_, context, count, scores, 1, gradient, {v.data<T>(), keys, depth, true});
    const auto rows = static_cast<std::size_t>(heads.rows());
    softmax_backward_kernel<<<blocks_for(rows * kWarp), kThreads, 0, stream_of(context)>>>(
        scores, p, heads.rows(), keys);
    RINGSIDE_CUDA_CHECK(cudaGetLastError());
    multiply<T>(cublas_, context, count, dq.data<T>(), heads.scale(), {scores, queries, keys},
                {k.data<T>(), keys, depth});
    multiply<T>(cublas_, context, count, dk.data<T>(), heads.scale(), {scores, queries, keys, true},
                {q.data<T>(), queries, depth});
  });
}

}  // namespace ringside::cuda
