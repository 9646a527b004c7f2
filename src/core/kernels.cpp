// The base of all Kernels: every kernel says that it is not there, so that a backend may begin with
// few and grow.
#include "ringside/kernels.h"

#include <fmt/format.h>

#include "ringside/error.h"

namespace ringside {
namespace {

[[noreturn]] void missing(const Kernels& kernels, std::string_view kernel) {
  throw Error(ErrorKind::kUnavailable,
              fmt::format("the {} kernels have no '{}'", kernels.name(), kernel),
              "run this model on the sim backend, which has every kernel");
}

}  // namespace

void Kernels::copy_from_host(LaunchContext&, const DeviceArray&, const void*) {
  missing(*this, "copy_from_host");
}
void Kernels::copy_to_host(LaunchContext&, void*, const DeviceArray&) {
  missing(*this, "copy_to_host");
}
void Kernels::copy(LaunchContext&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "copy");
}
void Kernels::copy_rows(LaunchContext&, const DeviceArray&, std::size_t, std::size_t,
                        const DeviceArray&, std::size_t, std::size_t, std::size_t, std::size_t) {
  missing(*this, "copy_rows");
}
void Kernels::fill(LaunchContext&, const DeviceArray&, double) { missing(*this, "fill"); }
void Kernels::add(LaunchContext&, const DeviceArray&, double, const DeviceArray&, double,
                  const DeviceArray&) {
  missing(*this, "add");
}
void Kernels::scale(LaunchContext&, const DeviceArray&, const DeviceArray&, double) {
  missing(*this, "scale");
}
void Kernels::divide(LaunchContext&, const DeviceArray&, const DeviceArray&, double) {
  missing(*this, "divide");
}
void Kernels::convert(LaunchContext&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "convert");
}
void Kernels::relu(LaunchContext&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "relu");
}
void Kernels::relu_backward(LaunchContext&, const DeviceArray&, const DeviceArray&,
                            const DeviceArray&) {
  missing(*this, "relu_backward");
}
void Kernels::tanh(LaunchContext&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "tanh");
}
void Kernels::tanh_backward(LaunchContext&, const DeviceArray&, const DeviceArray&,
                            const DeviceArray&) {
  missing(*this, "tanh_backward");
}
void Kernels::gelu(LaunchContext&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "gelu");
}
void Kernels::gelu_backward(LaunchContext&, const DeviceArray&, const DeviceArray&,
                            const DeviceArray&) {
  missing(*this, "gelu_backward");
}
void Kernels::dropout(LaunchContext&, const DeviceArray&, const DeviceArray&, double,
                      const RandomKey&) {
  missing(*this, "dropout");
}
void Kernels::gemm(LaunchContext&, const DeviceArray&, const DeviceArray&, const DeviceArray&,
                   const GemmOptions&) {
  missing(*this, "gemm");
}
void Kernels::add_bias(LaunchContext&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "add_bias");
}
void Kernels::sum_rows(LaunchContext&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "sum_rows");
}
void Kernels::conv2d(LaunchContext&, const DeviceArray&, const DeviceArray&, const DeviceArray&,
                     const DeviceArray&, const Conv2dOptions&) {
  missing(*this, "conv2d");
}
void Kernels::conv2d_backward_input(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                    const DeviceArray&, const Conv2dOptions&) {
  missing(*this, "conv2d_backward_input");
}
void Kernels::conv2d_backward_weight(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                     const DeviceArray&, const Conv2dOptions&) {
  missing(*this, "conv2d_backward_weight");
}
void Kernels::conv2d_backward_bias(LaunchContext&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "conv2d_backward_bias");
}
void Kernels::max_pool2d(LaunchContext&, const DeviceArray&, const DeviceArray&, const DeviceArray&,
                         const Pool2dOptions&) {
  missing(*this, "max_pool2d");
}
void Kernels::max_pool2d_backward(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                  const DeviceArray&) {
  missing(*this, "max_pool2d_backward");
}
void Kernels::avg_pool2d(LaunchContext&, const DeviceArray&, const DeviceArray&,
                         const Pool2dOptions&) {
  missing(*this, "avg_pool2d");
}
void Kernels::avg_pool2d_backward(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                  const Pool2dOptions&) {
  missing(*this, "avg_pool2d_backward");
}
void Kernels::embedding(LaunchContext&, const DeviceArray&, const DeviceArray&,
                        const DeviceArray&) {
  missing(*this, "embedding");
}
void Kernels::embedding_backward(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                 const DeviceArray&) {
  missing(*this, "embedding_backward");
}
void Kernels::attention(LaunchContext&, const DeviceArray&, const DeviceArray&, const DeviceArray&,
                        const DeviceArray&, const DeviceArray&, bool) {
  missing(*this, "attention");
}
void Kernels::attention_backward(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                 const DeviceArray&, const DeviceArray&, const DeviceArray&,
                                 const DeviceArray&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "attention_backward");
}
void Kernels::layer_norm(LaunchContext&, const DeviceArray&, const DeviceArray&, const DeviceArray&,
                         const DeviceArray&, const DeviceArray&, const DeviceArray&, double) {
  missing(*this, "layer_norm");
}
void Kernels::layer_norm_backward(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                  const DeviceArray&, const DeviceArray&, const DeviceArray&,
                                  const DeviceArray&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "layer_norm_backward");
}
void Kernels::batch_norm(LaunchContext&, const DeviceArray&, const DeviceArray&, const DeviceArray&,
                         const DeviceArray&, const DeviceArray&, const DeviceArray&,
                         const DeviceArray&, const DeviceArray&, double, double) {
  missing(*this, "batch_norm");
}
void Kernels::batch_norm_evaluate(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                  const DeviceArray&, const DeviceArray&, const DeviceArray&,
                                  const DeviceArray&, double) {
  missing(*this, "batch_norm_evaluate");
}
void Kernels::batch_norm_backward(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                  const DeviceArray&, const DeviceArray&, const DeviceArray&,
                                  const DeviceArray&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "batch_norm_backward");
}
void Kernels::batch_norm_evaluate_backward(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                           const DeviceArray&, const DeviceArray&,
                                           const DeviceArray&, const DeviceArray&,
                                           const DeviceArray&, const DeviceArray&, double) {
  missing(*this, "batch_norm_evaluate_backward");
}

void Kernels::batch_norm_statistics(LaunchContext&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "batch_norm_statistics");
}
void Kernels::batch_norm_merge(LaunchContext&, const DeviceArray&, const DeviceArray&,
                               const DeviceArray&, const DeviceArray&, const DeviceArray&,
                               const DeviceArray&, double, double) {
  missing(*this, "batch_norm_merge");
}
void Kernels::batch_norm_normalise(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                   const DeviceArray&, const DeviceArray&, const DeviceArray&,
                                   const DeviceArray&) {
  missing(*this, "batch_norm_normalise");
}
void Kernels::batch_norm_backward_sums(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                       const DeviceArray&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "batch_norm_backward_sums");
}
void Kernels::batch_norm_backward_elements(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                           const DeviceArray&, const DeviceArray&,
                                           const DeviceArray&, const DeviceArray&,
                                           const DeviceArray&, const DeviceArray&) {
  missing(*this, "batch_norm_backward_elements");
}
void Kernels::cross_entropy(LaunchContext&, const DeviceArray&, const DeviceArray&,
                            const DeviceArray&, const DeviceArray&, const CrossEntropyOptions&) {
  missing(*this, "cross_entropy");
}
void Kernels::cross_entropy_backward(LaunchContext&, const DeviceArray&, const DeviceArray&,
                                     const DeviceArray&, const DeviceArray&,
                                     const CrossEntropyOptions&) {
  missing(*this, "cross_entropy_backward");
}
void Kernels::mse(LaunchContext&, const DeviceArray&, const DeviceArray&, const DeviceArray&) {
  missing(*this, "mse");
}
void Kernels::mse_backward(LaunchContext&, const DeviceArray&, const DeviceArray&,
                           const DeviceArray&, const DeviceArray&) {
  missing(*this, "mse_backward");
}
void Kernels::sgd(LaunchContext&, const DeviceArray&, const DeviceArray&, const DeviceArray&, bool,
                  const SgdOptions&) {
  missing(*this, "sgd");
}
void Kernels::adam(LaunchContext&, const DeviceArray&, const DeviceArray&, const DeviceArray&,
                   const DeviceArray&, const DeviceArray&, std::int64_t, const AdamOptions&) {
  missing(*this, "adam");
}
void Kernels::total_norm(LaunchContext&, const DeviceArray&, std::span<const DeviceArray>) {
  missing(*this, "total_norm");
}
void Kernels::clip_with_norm(LaunchContext&, std::span<const DeviceArray>, const DeviceArray&,
                             double) {
  missing(*this, "clip_with_norm");
}
void Kernels::count_correct(LaunchContext&, const DeviceArray&, const DeviceArray&,
                            const DeviceArray&) {
  missing(*this, "count_correct");
}

}  // namespace ringside
