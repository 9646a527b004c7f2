// CpuKernels: the class behind make_cpu_kernels(). Its methods are defined by subject in
// cpu_memory.cpp, cpu_conversion.cpp, cpu_elementwise.cpp, cpu_linear_algebra.cpp,
// cpu_convolution.cpp, cpu_pooling.cpp, cpu_attention.cpp, cpu_normalisation.cpp,
// cpu_sync_batch_norm.cpp, cpu_layer_norm.cpp, cpu_random.cpp, cpu_losses.cpp and
// cpu_optimizer.cpp.
//
// Every kernel runs on the calling thread and adds in the order its loops show. Operators have
// checked shapes and dtypes before they launch; kernels check values only (targets). Loops work on
// local pointers marked __restrict where the arrays are distinct, so that compilers vectorise them.
#pragma once

#include "ringside/error.h"
#include "ringside/kernels.h"
#include "tensor/workspace.h"

namespace ringside {

class CpuKernels final : public Kernels {
 public:
  std::string_view name() const override { return "cpu"; }

  void copy_from_host(LaunchContext&, const DeviceArray& destination, const void* source) override;
  void copy_to_host(LaunchContext&, void* destination, const DeviceArray& source) override;
  void copy(LaunchContext&, const DeviceArray& destination, const DeviceArray& source) override;
  void copy_rows(LaunchContext&, const DeviceArray& destination, std::size_t destination_offset,
                 std::size_t destination_pitch, const DeviceArray& source,
                 std::size_t source_offset, std::size_t source_pitch, std::size_t row_bytes,
                 std::size_t rows) override;
  void fill(LaunchContext&, const DeviceArray& out, double value) override;

  void add(LaunchContext&, const DeviceArray& out, double alpha, const DeviceArray& a, double beta,
           const DeviceArray& b) override;
  void scale(LaunchContext&, const DeviceArray& out, const DeviceArray& a, double factor) override;
  void divide(LaunchContext&, const DeviceArray& out, const DeviceArray& a,
              double divisor) override;
  void convert(LaunchContext&, const DeviceArray& out, const DeviceArray& a) override;
  void relu(LaunchContext&, const DeviceArray& y, const DeviceArray& x) override;
  void relu_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                     const DeviceArray& y) override;
  void tanh(LaunchContext&, const DeviceArray& y, const DeviceArray& x) override;
  void tanh_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                     const DeviceArray& y) override;

  void gelu(LaunchContext&, const DeviceArray& y, const DeviceArray& x) override;
  void gelu_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                     const DeviceArray& x) override;
  void dropout(LaunchContext&, const DeviceArray& y, const DeviceArray& x, double p,
               const RandomKey& key) override;

  void gemm(LaunchContext&, const DeviceArray& c, const DeviceArray& a, const DeviceArray& b,
            const GemmOptions& options) override;
  void add_bias(LaunchContext&, const DeviceArray& y, const DeviceArray& bias) override;
  void sum_rows(LaunchContext&, const DeviceArray& out, const DeviceArray& x) override;

  void conv2d(LaunchContext&, const DeviceArray& y, const DeviceArray& x, const DeviceArray& weight,
              const DeviceArray& bias, const Conv2dOptions& options) override;
  void conv2d_backward_input(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                             const DeviceArray& weight, const Conv2dOptions& options) override;
  void conv2d_backward_weight(LaunchContext&, const DeviceArray& dweight, const DeviceArray& dy,
                              const DeviceArray& x, const Conv2dOptions& options) override;
  void conv2d_backward_bias(LaunchContext&, const DeviceArray& dbias,
                            const DeviceArray& dy) override;
  void max_pool2d(LaunchContext&, const DeviceArray& y, const DeviceArray& argmax,
                  const DeviceArray& x, const Pool2dOptions& options) override;
  void max_pool2d_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                           const DeviceArray& argmax) override;
  void avg_pool2d(LaunchContext&, const DeviceArray& y, const DeviceArray& x,
                  const Pool2dOptions& options) override;
  void avg_pool2d_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                           const Pool2dOptions& options) override;

  void embedding(LaunchContext&, const DeviceArray& y, const DeviceArray& weight,
                 const DeviceArray& indices) override;
  void embedding_backward(LaunchContext&, const DeviceArray& dweight, const DeviceArray& dy,
                          const DeviceArray& indices) override;
  void attention(LaunchContext&, const DeviceArray& y, const DeviceArray& probabilities,
                 const DeviceArray& q, const DeviceArray& k, const DeviceArray& v,
                 bool causal) override;
  void attention_backward(LaunchContext&, const DeviceArray& dq, const DeviceArray& dk,
                          const DeviceArray& dv, const DeviceArray& dy,
                          const DeviceArray& probabilities, const DeviceArray& q,
                          const DeviceArray& k, const DeviceArray& v) override;

  void layer_norm(LaunchContext&, const DeviceArray& y, const DeviceArray& saved_mean,
                  const DeviceArray& saved_inverse_std, const DeviceArray& x,
                  const DeviceArray& weight, const DeviceArray& bias, double epsilon) override;
  void layer_norm_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dweight,
                           const DeviceArray& dbias, const DeviceArray& dy, const DeviceArray& x,
                           const DeviceArray& weight, const DeviceArray& saved_mean,
                           const DeviceArray& saved_inverse_std) override;

  void batch_norm(LaunchContext&, const DeviceArray& y, const DeviceArray& saved_mean,
                  const DeviceArray& saved_inverse_std, const DeviceArray& running_mean,
                  const DeviceArray& running_variance, const DeviceArray& x,
                  const DeviceArray& weight, const DeviceArray& bias, double momentum,
                  double epsilon) override;
  void batch_norm_evaluate(LaunchContext&, const DeviceArray& y, const DeviceArray& x,
                           const DeviceArray& running_mean, const DeviceArray& running_variance,
                           const DeviceArray& weight, const DeviceArray& bias,
                           double epsilon) override;
  void batch_norm_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dweight,
                           const DeviceArray& dbias, const DeviceArray& dy, const DeviceArray& x,
                           const DeviceArray& weight, const DeviceArray& saved_mean,
                           const DeviceArray& saved_inverse_std) override;
  void batch_norm_evaluate_backward(LaunchContext&, const DeviceArray& dx,
                                    const DeviceArray& dweight, const DeviceArray& dbias,
                                    const DeviceArray& dy, const DeviceArray& x,
                                    const DeviceArray& weight, const DeviceArray& running_mean,
                                    const DeviceArray& running_variance, double epsilon) override;

  void batch_norm_statistics(LaunchContext&, const DeviceArray& out, const DeviceArray& x) override;
  void batch_norm_merge(LaunchContext&, const DeviceArray& mean, const DeviceArray& inverse_std,
                        const DeviceArray& count, const DeviceArray& running_mean,
                        const DeviceArray& running_variance, const DeviceArray& statistics,
                        double momentum, double epsilon) override;
  void batch_norm_normalise(LaunchContext&, const DeviceArray& y, const DeviceArray& x,
                            const DeviceArray& mean, const DeviceArray& inverse_std,
                            const DeviceArray& weight, const DeviceArray& bias) override;
  void batch_norm_backward_sums(LaunchContext&, const DeviceArray& sums, const DeviceArray& dy,
                                const DeviceArray& x, const DeviceArray& mean,
                                const DeviceArray& inverse_std) override;
  void batch_norm_backward_elements(LaunchContext&, const DeviceArray& dx, const DeviceArray& dy,
                                    const DeviceArray& x, const DeviceArray& weight,
                                    const DeviceArray& mean, const DeviceArray& inverse_std,
                                    const DeviceArray& sums, const DeviceArray& count) override;

  void cross_entropy(LaunchContext&, const DeviceArray& loss, const DeviceArray& probabilities,
                     const DeviceArray& logits, const DeviceArray& targets,
                     const CrossEntropyOptions& options) override;
  void cross_entropy_backward(LaunchContext&, const DeviceArray& dlogits, const DeviceArray& dloss,
                              const DeviceArray& probabilities, const DeviceArray& targets,
                              const CrossEntropyOptions& options) override;
  void mse(LaunchContext&, const DeviceArray& loss, const DeviceArray& x,
           const DeviceArray& y) override;
  void mse_backward(LaunchContext&, const DeviceArray& dx, const DeviceArray& dloss,
                    const DeviceArray& x, const DeviceArray& y) override;
  void sgd(LaunchContext&, const DeviceArray& parameter, const DeviceArray& gradient,
           const DeviceArray& velocity, bool first, const SgdOptions& options) override;
  void adam(LaunchContext&, const DeviceArray& parameter, const DeviceArray& gradient,
            const DeviceArray& first_moment, const DeviceArray& second_moment,
            const DeviceArray& largest_second, std::int64_t step,
            const AdamOptions& options) override;
  void total_norm(LaunchContext&, const DeviceArray& total,
                  std::span<const DeviceArray> arrays) override;
  void clip_with_norm(LaunchContext&, std::span<const DeviceArray> gradients,
                      const DeviceArray& total, double max_norm) override;
  void count_correct(LaunchContext&, const DeviceArray& correct, const DeviceArray& logits,
                     const DeviceArray& targets) override;

 private:
  WorkspacePool workspaces_;
};

/// visit_dtype for kernels that are defined on floating dtypes only.
template <typename Visitor>
void visit_floating(DType dtype, Visitor&& visitor) {
  if (dtype == DType::kFloat32) return visitor.template operator()<float>();
  if (dtype == DType::kFloat64) return visitor.template operator()<double>();
  throw Error(ErrorKind::kInvalidArgument, "this CPU kernel works on float32 and float64, not on " +
                                               std::string(to_string(dtype)));
}

}  // namespace ringside
