// batch_norm, in training and in evaluation.
#include "tensor/batch_norm_checks.h"
#include "tensor/operator.h"

namespace ringside {
namespace {

constexpr std::string_view kBatchNorm = "batch_norm";
constexpr double kBatchNormFlops = 8;  // mean, deviation, square, sum; scale and shift

class BatchNormBackward final : public Node {
 public:
  /// `mean` and `spread` are the saved mean and 1/std of the batch when training, else the running
  /// mean and variance.
  BatchNormBackward(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                    const Tensor& spread, bool training, double epsilon)
      : Node("batch-norm-backward"),
        x_(saved(x)),
        weight_(saved(weight)),
        bias_(saved(bias)),
        mean_(saved(mean)),
        spread_(saved(spread)),
        training_(training),
        epsilon_(epsilon) {}

  Gradients backward(Gradients gradients) override {
    const Tensor& dy = gradients.front();
    const Tensor dx = empty_activation(x_, x_.shape());
    const Tensor dweight = empty_parameter_gradient(weight_);
    const Tensor dbias = empty_parameter_gradient(bias_);
    submit(dy.device(), "batch-norm-backward", module_of(weight_),
           kBatchNormFlops * static_cast<double>(x_.numel()),
           {{dy, "grad-output"},
            {x_, "input"},
            {weight_, "weight"},
            {mean_, "mean"},
            {spread_, training_ ? "inverse-std" : "variance"}},
           {{dx, "grad-input"}, {dweight, "grad-weight"}, {dbias, "grad-bias"}},
           [out = dx.array(), out_weight = dweight.array(), out_bias = dbias.array(),
            gradient = dy.array(), x = x_.array(), weight = weight_.array(), mean = mean_.array(),
            spread = spread_.array(), training = training_,
            epsilon = epsilon_](LaunchContext& context) {
             Kernels& kernels = context.kernels;
             if (training) {
               kernels.batch_norm_backward(context, out, out_weight, out_bias, gradient, x, weight,
                                           mean, spread);
             } else {
               kernels.batch_norm_evaluate_backward(context, out, out_weight, out_bias, gradient, x,
                                                    weight, mean, spread, epsilon);
             }
           });
    return {dx, dweight, dbias};
  }

  void release() override { x_ = weight_ = bias_ = mean_ = spread_ = Tensor(); }

 private:
  Tensor x_, weight_, bias_, mean_, spread_;
  bool training_;
  double epsilon_;
};

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_variance, bool training,
                  double momentum, double epsilon) {
  check_batch_norm(kBatchNorm, x,
                   {{weight, "weight"},
                    {bias, "bias"},
                    {running_mean, "running_mean"},
                    {running_variance, "running_var"}});
  if (training) check_values_per_channel(x.shape());
  Tensor y = empty_activation(x, x.shape());
  Tensor mean = running_mean;
  Tensor spread = running_variance;
  const double flops = kBatchNormFlops * static_cast<double>(x.numel());
  if (training) {
    mean = empty_activation(x, weight.shape());
    spread = empty_activation(x, weight.shape());
    submit(x.device(), "batch-norm", module_of(weight), flops,
           {{x, "input"}, {weight, "weight"}, {bias, "bias"}},
           {{y, "output"},
            {mean, "mean"},
            {spread, "inverse-std"},
            {running_mean, "running_mean"},
            {running_variance, "running_var"}},
           [out = y.array(), saved_mean = mean.array(), saved_inverse_std = spread.array(),
            moving_mean = running_mean.array(), moving_variance = running_variance.array(),
            in = x.array(), w = weight.array(), b = bias.array(), momentum,
            epsilon](LaunchContext& context) {
             context.kernels.batch_norm(context, out, saved_mean, saved_inverse_std, moving_mean,
                                        moving_variance, in, w, b, momentum, epsilon);
           });
  } else {
    submit(x.device(), "batch-norm", module_of(weight), flops,
           {{x, "input"},
            {weight, "weight"},
            {bias, "bias"},
            {running_mean, "running_mean"},
            {running_variance, "running_var"}},
           {{y, "output"}},
           [out = y.array(), in = x.array(), moving_mean = running_mean.array(),
            moving_variance = running_variance.array(), w = weight.array(), b = bias.array(),
            epsilon](LaunchContext& context) {
             context.kernels.batch_norm_evaluate(context, out, in, moving_mean, moving_variance, w,
                                                 b, epsilon);
           });
  }
  if (records_graph(x.device(), {&x, &weight, &bias})) {
    attach(
        y,
        make_node<BatchNormBackward>(x.device(), x, weight, bias, mean, spread, training, epsilon),
        {&x, &weight, &bias});
  }
  return y;
}

}  // namespace ringside
