// Kernels: the numerical bodies of ops, on arrays in device memory. Called from launches only.
//
// One implementation for CPU memory (sim, mpi; src/tensor) and one for CUDA (src/backends/cuda).
// The base class implements every kernel by throwing Error(kUnavailable) that names kernel and
// device, so that a backend may begin small. All arrays are contiguous and row-major, of one
// floating dtype per call unless said; targets are int64. Results do not depend on the number of
// threads: every kernel fixes its order of additions.
#pragma once

#include <cstdint>
#include <span>

#include "ringside/device.h"

namespace ringside {

struct GemmOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  double alpha = 1;
  double beta = 0;  ///< 0: c is not read
};

struct Conv2dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
};

struct Pool2dOptions {
  std::int64_t kernel = 2;
  std::int64_t stride = 2;
};

struct SgdOptions {
  double lr = 0.01;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;  ///< up the gradient: its sign is turned first
};

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  ///< Adam: added to the gradient; AdamW: shrinks the parameter
  bool amsgrad = false;
  bool decoupled = false;  ///< AdamW's weight decay
  bool maximize = false;   ///< up the gradient: its sign is turned first
};

/// torch.nn.functional.cross_entropy's.
struct CrossEntropyOptions {
  enum class Reduction : std::uint8_t {
    kMean,  ///< over the rows that are not ignored
    kSum,
    kNone  ///< one loss per row, 0 for an ignored one
  };
  Reduction reduction = Reduction::kMean;
  std::int64_t ignore_index = -100;  ///< rows of this target count for nothing
  /// this part of each target is spread evenly over all classes; from 0 to 1
  double label_smoothing = 0;
};

class Kernels {
 public:
  virtual ~Kernels() = default;
  /// For messages: "cpu", "cuda".
  virtual std::string_view name() const = 0;

  // ---- memory. Any dtype; sizes in bytes are those of the arrays.
  virtual void copy_from_host(LaunchContext&, const DeviceArray& destination, const void* source);
  virtual void copy_to_host(LaunchContext&, void* destination, const DeviceArray& source);
  /// Same device or, between devices of one world, peer copy.
  virtual void copy(LaunchContext&, const DeviceArray& destination, const DeviceArray& source);
  /// Copies a block of `rows` rows of `row_bytes` bytes; rows lie `destination_pitch` and
  /// `source_pitch` bytes apart, from the given byte offsets on: one part of a split or
  /// concatenation along any dimension.
  virtual void copy_rows(LaunchContext&, const DeviceArray& destination,
                         std::size_t destination_offset, std::size_t destination_pitch,
                         const DeviceArray& source, std::size_t source_offset,
                         std::size_t source_pitch, std::size_t row_bytes, std::size_t rows);
  virtual void fill(LaunchContext&, const DeviceArray& out, double value);

  // ---- elementwise
  /// out = alpha * a + beta * b; out may be a or b.
  virtual void add(LaunchContext&, const DeviceArray& out, double alpha, const DeviceArray& a,
                   double beta, const DeviceArray& b);
  /// out = a * factor, the factor rounded to the dtype first (as DDP's division by the world size).
  virtual void scale(LaunchContext&, const DeviceArray& out, const DeviceArray& a, double factor);
  /// out = a / divisor, the divisor rounded to the dtype first; out may be a. All four floating
  /// types; the two of 16 bits divide in float32.
  virtual void divide(LaunchContext&, const DeviceArray& out, const DeviceArray& a, double divisor);
  /// out = a in out's dtype; both of the four floating types.
  virtual void convert(LaunchContext&, const DeviceArray& out, const DeviceArray& a);
  virtual void relu(LaunchContext&, const DeviceArray& y, const DeviceArray& x);
  /// dx = dy where y > 0, else 0 (where y is NaN: dy, as in PyTorch).
  virtual void relu_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                             const DeviceArray& y);
  virtual void tanh(LaunchContext&, const DeviceArray& y, const DeviceArray& x);
  /// dx = dy * (1 - y*y).
  virtual void tanh_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                             const DeviceArray& y);
  /// y = x Φ(x), Φ the normal distribution by the error function (PyTorch's approximate='none').
  virtual void gelu(LaunchContext&, const DeviceArray& y, const DeviceArray& x);
  /// dx = dy (Φ(x) + x φ(x)).
  virtual void gelu_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                             const DeviceArray& x);
  /// y = x / (1 - p) with probability 1 - p, else 0. The draws are Philox4x32-10's of `key`, one
  /// word an element, so that the same call on dy is the backward. y may be x. p in [0, 1].
  virtual void dropout(LaunchContext&, const DeviceArray& y, const DeviceArray& x, double p,
                       const RandomKey& key);

  // ---- linear algebra
  /// c[m,n] = alpha * op(a) * op(b) + beta * c.
  virtual void gemm(LaunchContext&, const DeviceArray& c, const DeviceArray& a,
                    const DeviceArray& b, const GemmOptions& options);
  /// y[i,:] += bias.  y [rows, n], bias [n].
  virtual void add_bias(LaunchContext&, const DeviceArray& y, const DeviceArray& bias);
  /// out[n] = sum over rows of x [rows, n], rows in ascending order.
  virtual void sum_rows(LaunchContext&, const DeviceArray& out, const DeviceArray& x);

  // ---- convolution and pooling: x [B,C,H,W], weight [O,C,kh,kw], bias [O] or empty, y [B,O,H',W']
  virtual void conv2d(LaunchContext&, const DeviceArray& y, const DeviceArray& x,
                      const DeviceArray& weight, const DeviceArray& bias,
                      const Conv2dOptions& options);
  virtual void conv2d_backward_input(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                                     const DeviceArray& weight, const Conv2dOptions& options);
  virtual void conv2d_backward_weight(LaunchContext&, const DeviceArray& dweight,
                                      const DeviceArray& dy, const DeviceArray& x,
                                      const Conv2dOptions& options);
  /// dbias[O] = sum of dy over B, H', W'.
  virtual void conv2d_backward_bias(LaunchContext&, const DeviceArray& dbias,
                                    const DeviceArray& dy);
  /// `argmax` int64, shape of y: the flat index into the H*W plane; the first of equal maxima (NaN
  /// counts as largest).
  virtual void max_pool2d(LaunchContext&, const DeviceArray& y, const DeviceArray& argmax,
                          const DeviceArray& x, const Pool2dOptions& options);
  virtual void max_pool2d_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                                   const DeviceArray& argmax);
  /// y = mean of each window.
  virtual void avg_pool2d(LaunchContext&, const DeviceArray& y, const DeviceArray& x,
                          const Pool2dOptions& options);
  virtual void avg_pool2d_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                                   const Pool2dOptions& options);

  // ---- tokens and attention
  /// y[i,:] = weight[indices[i],:]. weight [rows, width], indices int64. An index outside [0, rows)
  /// is an error that names place and value.
  virtual void embedding(LaunchContext&, const DeviceArray& y, const DeviceArray& weight,
                         const DeviceArray& indices);
  /// dweight[r,:] = sum of dy[i,:] where indices[i] = r, i ascending; zeros where there is none.
  virtual void embedding_backward(LaunchContext&, const DeviceArray& dweight, const DeviceArray& dy,
                                  const DeviceArray& indices);
  /// probabilities [B,H,T,S] = softmax(q kᵀ / sqrt(D)) by row, y [B,H,T,D] = probabilities v.
  /// q [B,H,T,D]; k, v [B,H,S,D]. `causal`: query t sees keys 0 to t only.
  virtual void attention(LaunchContext&, const DeviceArray& y, const DeviceArray& probabilities,
                         const DeviceArray& q, const DeviceArray& k, const DeviceArray& v,
                         bool causal);
  virtual void attention_backward(LaunchContext&, const DeviceArray& dq, const DeviceArray& dk,
                                  const DeviceArray& dv, const DeviceArray& dy,
                                  const DeviceArray& probabilities, const DeviceArray& q,
                                  const DeviceArray& k, const DeviceArray& v);

  // ---- layer normalisation of x [rows, width] over each row; weight, bias [width]
  /// y = (x - mean) / sqrt(biased variance + epsilon) * weight + bias; saves mean and
  /// 1/sqrt(var+eps) ([rows] each). PyTorch: native_layer_norm.
  virtual void layer_norm(LaunchContext&, const DeviceArray& y, const DeviceArray& saved_mean,
                          const DeviceArray& saved_inverse_std, const DeviceArray& x,
                          const DeviceArray& weight, const DeviceArray& bias, double epsilon);
  virtual void layer_norm_backward(LaunchContext&, const DeviceArray& dx,
                                   const DeviceArray& dweight, const DeviceArray& dbias,
                                   const DeviceArray& dy, const DeviceArray& x,
                                   const DeviceArray& weight, const DeviceArray& saved_mean,
                                   const DeviceArray& saved_inverse_std);

  // ---- batch normalisation over [B,C] or [B,C,...] per channel C
  /// Training: normalises with the batch's own mean and biased variance, saves mean and
  /// 1/sqrt(var+eps) ([C] each), and moves the running statistics (unbiased variance) by
  /// `momentum`. PyTorch: native_batch_norm.
  virtual void batch_norm(LaunchContext&, const DeviceArray& y, const DeviceArray& saved_mean,
                          const DeviceArray& saved_inverse_std, const DeviceArray& running_mean,
                          const DeviceArray& running_variance, const DeviceArray& x,
                          const DeviceArray& weight, const DeviceArray& bias, double momentum,
                          double epsilon);
  /// Evaluation: normalises with the running statistics.
  virtual void batch_norm_evaluate(LaunchContext&, const DeviceArray& y, const DeviceArray& x,
                                   const DeviceArray& running_mean,
                                   const DeviceArray& running_variance, const DeviceArray& weight,
                                   const DeviceArray& bias, double epsilon);
  virtual void batch_norm_backward(LaunchContext&, const DeviceArray& dx,
                                   const DeviceArray& dweight, const DeviceArray& dbias,
                                   const DeviceArray& dy, const DeviceArray& x,
                                   const DeviceArray& weight, const DeviceArray& saved_mean,
                                   const DeviceArray& saved_inverse_std);
  /// Backward of batch_norm_evaluate: the statistics are constants.
  virtual void batch_norm_evaluate_backward(LaunchContext&, const DeviceArray& dx,
                                            const DeviceArray& dweight, const DeviceArray& dbias,
                                            const DeviceArray& dy, const DeviceArray& x,
                                            const DeviceArray& weight,
                                            const DeviceArray& running_mean,
                                            const DeviceArray& running_variance, double epsilon);

  // ---- batch normalisation over several ranks (SyncBatchNorm), in parts with messages in between
  /// out [2C+1] = mean and Σ (x - mean)² per channel, then the number of values per channel.
  virtual void batch_norm_statistics(LaunchContext&, const DeviceArray& out, const DeviceArray& x);
  /// Of `statistics` [ranks, 2C+1] of all ranks: mean and 1/sqrt(biased variance + epsilon) [C] of
  /// all values, their number [1]; moves the running statistics as batch_norm does.
  virtual void batch_norm_merge(LaunchContext&, const DeviceArray& mean,
                                const DeviceArray& inverse_std, const DeviceArray& count,
                                const DeviceArray& running_mean,
                                const DeviceArray& running_variance, const DeviceArray& statistics,
                                double momentum, double epsilon);
  /// y = (x - mean) * inverse_std * weight + bias.
  virtual void batch_norm_normalise(LaunchContext&, const DeviceArray& y, const DeviceArray& x,
                                    const DeviceArray& mean, const DeviceArray& inverse_std,
                                    const DeviceArray& weight, const DeviceArray& bias);
  /// sums [2C] = Σ dy and Σ dy x̂ per channel, x̂ = (x - mean) * inverse_std: the gradients of bias
  /// and weight.
  virtual void batch_norm_backward_sums(LaunchContext&, const DeviceArray& sums,
                                        const DeviceArray& dy, const DeviceArray& x,
                                        const DeviceArray& mean, const DeviceArray& inverse_std);
  /// dx = weight * inverse_std * (dy - Σ dy / count - x̂ Σ dy x̂ / count), with the sums over ranks.
  virtual void batch_norm_backward_elements(LaunchContext&, const DeviceArray& dx,
                                            const DeviceArray& dy, const DeviceArray& x,
                                            const DeviceArray& weight, const DeviceArray& mean,
                                            const DeviceArray& inverse_std, const DeviceArray& sums,
                                            const DeviceArray& count);

  // ---- losses (mean over rows or elements), optimiser
  /// loss = logsumexp(row) - row[target] of each row, reduced: [1], or [rows] without a reduction;
  /// probabilities [rows,classes] = softmax, kept for backward.
  virtual void cross_entropy(LaunchContext&, const DeviceArray& loss,
                             const DeviceArray& probabilities, const DeviceArray& logits,
                             const DeviceArray& targets, const CrossEntropyOptions& options);
  /// dlogits = (probabilities - onehot(target)) * dloss, over the rows of a mean; 0 in ignored
  /// rows.
  virtual void cross_entropy_backward(LaunchContext&, const DeviceArray& dlogits,
                                      const DeviceArray& dloss, const DeviceArray& probabilities,
                                      const DeviceArray& targets,
                                      const CrossEntropyOptions& options);
  /// loss [1] = mean over elements of (x - y)^2.
  virtual void mse(LaunchContext&, const DeviceArray& loss, const DeviceArray& x,
                   const DeviceArray& y);
  virtual void mse_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dloss,
                            const DeviceArray& x, const DeviceArray& y);
  /// One SGD step in place, PyTorch's formula and order (optim/sgd.py). `velocity` is empty without
  /// momentum; `first` = the velocity starts as the plain gradient.
  virtual void sgd(LaunchContext&, const DeviceArray& parameter, const DeviceArray& gradient,
                   const DeviceArray& velocity, bool first, const SgdOptions& options);
  /// Step number `step` (from 1) of Adam or AdamW in place, PyTorch's formula and order
  /// (optim/adam.py, adamw.py, 1.13). `largest_second` is empty without amsgrad; the moments begin
  /// as zeros.
  virtual void adam(LaunchContext&, const DeviceArray& parameter, const DeviceArray& gradient,
                    const DeviceArray& first_moment, const DeviceArray& second_moment,
                    const DeviceArray& largest_second, std::int64_t step,
                    const AdamOptions& options);
  /// total [1] = the 2-norm of all arrays' 2-norms. [torch/nn/utils/clip_grad.py]
  virtual void total_norm(LaunchContext&, const DeviceArray& total,
                          std::span<const DeviceArray> arrays);
  /// Each gradient times min(1, max_norm / (total + 1e-6)), in place; total [1].
  /// [torch/nn/utils/clip_grad.py]
  virtual void clip_with_norm(LaunchContext&, std::span<const DeviceArray> gradients,
                              const DeviceArray& total, double max_norm);
  /// correct [1] int64 = number of rows whose largest logit (first of equals) is the target.
  virtual void count_correct(LaunchContext&, const DeviceArray& correct, const DeviceArray& logits,
                             const DeviceArray& targets);
};

}  // namespace ringside
