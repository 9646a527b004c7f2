// sync_batch_norm: batch_norm in training whose statistics and backward sums are those of all
// ranks. [torch/nn/modules/_functions.py, SyncBatchNorm, 1.13]
#include <memory>

#include "tensor/batch_norm_checks.h"
#include "tensor/operator.h"

namespace ringside {
namespace {

constexpr std::string_view kSyncBatchNorm = "sync_batch_norm";
constexpr double kSyncBatchNormFlops = 4;  // of each of the two passes over the batch

class SyncBatchNormBackward final : public Node {
 public:
  SyncBatchNormBackward(const Tensor& x, const Tensor& weight, const Tensor& mean,
                        const Tensor& inverse_std, const Tensor& count,
                        std::shared_ptr<const RankExchange> exchange)
      : Node("sync-batch-norm-backward"),
        x_(saved(x)),
        weight_(saved(weight)),
        mean_(saved(mean)),
        inverse_std_(saved(inverse_std)),
        count_(saved(count)),
        exchange_(std::move(exchange)) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dy = gradients.front();
    const std::int64_t channels = weight_.numel();
    Tensor sums = empty_activation(x_, Shape{2 * channels});
    submit(dy.device(), "batch-norm-backward-sums", module_of(weight_), flops(),
           {{dy, "grad-output"}, {x_, "input"}, {mean_, "mean"}, {inverse_std_, "inverse-std"}},
           {{sums, "sums"}},
           [out = sums.array(), gradient = dy.array(), x = x_.array(), mean = mean_.array(),
            spread = inverse_std_.array()](LaunchContext& context) {
             context.kernels.batch_norm_backward_sums(context, out, gradient, x, mean, spread);
           });
    // The parameters' gradients are this rank's own sums: whoever reduces gradients adds them up.
    Tensor dbias = empty_parameter_gradient(weight_);
    Tensor dweight = empty_parameter_gradient(weight_);
    const std::size_t bytes = dbias.bytes();
    copy_in_place(dbias, Tensor::view(dy.device(), sums.buffer(), sums.array().offset,
                                      weight_.shape(), sums.dtype(), "sums"));
    copy_in_place(dweight, Tensor::view(dy.device(), sums.buffer(), sums.array().offset + bytes,
                                        weight_.shape(), sums.dtype(), "sums"));
    exchange_->sum(sums);
    const Tensor dx = empty_activation(x_, x_.shape());
    submit(dy.device(), "batch-norm-backward-elements", module_of(weight_), flops(),
           {{dy, "grad-output"}, {x_, "input"}, {weight_, "weight"}, {sums, "sums"}},
           {{dx, "grad-input"}},
           [out = dx.array(), gradient = dy.array(), x = x_.array(), weight = weight_.array(),
            mean = mean_.array(), spread = inverse_std_.array(), all = sums.array(),
            count = count_.array()](LaunchContext& context) {
             context.kernels.batch_norm_backward_elements(context, out, gradient, x, weight, mean,
                                                          spread, all, count);
           });
    return {dx, dweight, dbias};
  }

  void release() override { x_ = weight_ = mean_ = inverse_std_ = count_ = Tensor(); }

 private:
  double flops() const { return kSyncBatchNormFlops * static_cast<double>(x_.numel()); }

  Tensor x_, weight_, mean_, inverse_std_, count_;
  std::shared_ptr<const RankExchange> exchange_;
};

/// A rank with a single value per channel is well if others have some, too.
void check_values(const Tensor& x, const RankExchange& exchange) {
  if (exchange.ranks == 1) check_values_per_channel(x.shape());
}

}  // namespace

Tensor sync_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Tensor& running_mean, const Tensor& running_variance, double momentum,
                       double epsilon, const std::shared_ptr<const RankExchange>& exchange) {
  check_batch_norm(kSyncBatchNorm, x,
                   {{weight, "weight"},
                    {bias, "bias"},
                    {running_mean, "running_mean"},
                    {running_variance, "running_var"}});
  check_values(x, *exchange);
  const std::int64_t channels = weight.numel();
  const double flops = kSyncBatchNormFlops * static_cast<double>(x.numel());
  const Tensor own = empty_activation(x, Shape{2 * channels + 1});
  submit(x.device(), "batch-norm-statistics", module_of(weight), flops, {{x, "input"}},
         {{own, "statistics"}}, [out = own.array(), in = x.array()](LaunchContext& context) {
           context.kernels.batch_norm_statistics(context, out, in);
         });
  const Tensor all = exchange->gather(own);
  const Tensor mean = empty_activation(x, weight.shape());
  const Tensor inverse_std = empty_activation(x, weight.shape());
  const Tensor count = empty_activation(x, Shape{1});
  submit(x.device(), "batch-norm-merge", module_of(weight), static_cast<double>(all.numel()),
         {{all, "statistics"}},
         {{mean, "mean"},
          {inverse_std, "inverse-std"},
          {count, "count"},
          {running_mean, "running_mean"},
          {running_variance, "running_var"}},
         [mean = mean.array(), spread = inverse_std.array(), count = count.array(),
          moving_mean = running_mean.array(), moving_variance = running_variance.array(),
          statistics = all.array(), momentum, epsilon](LaunchContext& context) {
           context.kernels.batch_norm_merge(context, mean, spread, count, moving_mean,
                                            moving_variance, statistics, momentum, epsilon);
         });
  Tensor y = empty_activation(x, x.shape());
  submit(x.device(), "sync-batch-norm", module_of(weight), flops,
         {{x, "input"},
          {mean, "mean"},
          {inverse_std, "inverse-std"},
          {weight, "weight"},
          {bias, "bias"}},
         {{y, "output"}},
         [out = y.array(), in = x.array(), mean = mean.array(), spread = inverse_std.array(),
          w = weight.array(), b = bias.array()](LaunchContext& context) {
           context.kernels.batch_norm_normalise(context, out, in, mean, spread, w, b);
         });
  if (records_graph(x.device(), {&x, &weight, &bias})) {
    attach(
        y,
        make_node<SyncBatchNormBackward>(x.device(), x, weight, mean, inverse_std, count, exchange),
        {&x, &weight, &bias});
  }
  return y;
}

}  // namespace ringside
