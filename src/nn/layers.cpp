// Linear, convolution, activations, pooling, and how layers are put together: each registers its
// tensors as PyTorch's does, and leaves the arithmetic to the operators of tensor.h.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>

#include "nn/initialise.h"
#include "nn/layer_base.h"
#include "ringside/error.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

/// A weight and, unless left out, a bias: registered and initialised in this order.
template <typename Layer>
class WeightAndBias : public LayerBase<Layer> {
 protected:
  void register_weights(const ModuleContext& context, const Shape& weight, std::int64_t fan_in,
                        bool bias) {
    this->register_parameter("weight",
                             uniform_parameter(context, weight, kaiming_bound(fan_in), "weight"));
    has_bias_ = bias;
    if (!bias) return;
    this->register_parameter(
        "bias", uniform_parameter(context, Shape{weight[0]}, bias_bound(fan_in), "bias"));
  }
  const Tensor& weight() const { return this->parameter(0); }
  Tensor bias() const { return has_bias_ ? this->parameter(1) : Tensor(); }
  std::string_view without_bias() const { return has_bias_ ? "" : ", without bias"; }

 private:
  bool has_bias_ = true;
};

class Linear final : public WeightAndBias<Linear> {
 public:
  Linear(const ModuleContext& context, std::int64_t in, std::int64_t out, bool bias)
      : in_(in), out_(out) {
    check_positive("Linear", "inputs", in);
    check_positive("Linear", "outputs", out);
    register_weights(context, Shape{out, in}, in, bias);
  }
  /// Of the last dimension, as in PyTorch: what lies before it counts the rows.
  Tensor forward(const Tensor& input) override {
    const auto sizes = input.shape().sizes();
    if (sizes.size() <= 2) return linear(input, weight(), bias());
    const Tensor rows = reshape(input, Shape{input.numel() / sizes.back(), sizes.back()});
    return reshape(linear(rows, weight(), bias()), input.shape().with(-1, out_));
  }
  std::string describe() const override {
    return fmt::format("Linear({}, {}{})", in_, out_, without_bias());
  }

 private:
  std::int64_t in_, out_;
};

class Conv2d final : public WeightAndBias<Conv2d> {
 public:
  Conv2d(const ModuleContext& context, std::int64_t in, std::int64_t out, std::int64_t kernel,
         const Conv2dOptions& options, bool bias)
      : in_(in), out_(out), kernel_(kernel), options_(options) {
    check_positive("Conv2d", "input channels", in);
    check_positive("Conv2d", "output channels", out);
    check_positive("Conv2d", "kernel", kernel);
    check_positive("Conv2d", "stride", options.stride);
    register_weights(context, Shape{out, in, kernel, kernel}, in * kernel * kernel, bias);
  }
  Tensor forward(const Tensor& input) override { return conv2d(input, weight(), bias(), options_); }
  std::string describe() const override {
    return fmt::format("Conv2d({}, {}, kernel {}, stride {}, padding {}{})", in_, out_, kernel_,
                       options_.stride, options_.padding, without_bias());
  }

 private:
  std::int64_t in_, out_, kernel_;
  Conv2dOptions options_;
};

class ReLU final : public LayerBase<ReLU> {
 public:
  Tensor forward(const Tensor& input) override { return relu(input); }
  std::string describe() const override { return "ReLU()"; }
};

class Tanh final : public LayerBase<Tanh> {
 public:
  Tensor forward(const Tensor& input) override { return tanh(input); }
  std::string describe() const override { return "Tanh()"; }
};

class GELU final : public LayerBase<GELU> {
 public:
  Tensor forward(const Tensor& input) override { return gelu(input); }
  std::string describe() const override { return "GELU()"; }
};

class Flatten final : public LayerBase<Flatten> {
 public:
  Tensor forward(const Tensor& input) override { return flatten(input); }
  std::string describe() const override { return "Flatten()"; }
};

class MaxPool2d final : public LayerBase<MaxPool2d> {
 public:
  explicit MaxPool2d(const Pool2dOptions& options) : options_(options) {
    check_positive("MaxPool2d", "kernel", options.kernel);
    check_positive("MaxPool2d", "stride", options.stride);
  }
  Tensor forward(const Tensor& input) override { return max_pool2d(input, options_); }
  std::string describe() const override {
    return fmt::format("MaxPool2d(kernel {}, stride {})", options_.kernel, options_.stride);
  }

 private:
  Pool2dOptions options_;
};

class AvgPool2d final : public LayerBase<AvgPool2d> {
 public:
  explicit AvgPool2d(const Pool2dOptions& options) : options_(options) {
    check_positive("AvgPool2d", "kernel", options.kernel);
    check_positive("AvgPool2d", "stride", options.stride);
  }
  Tensor forward(const Tensor& input) override { return avg_pool2d(input, options_); }
  std::string describe() const override {
    return fmt::format("AvgPool2d(kernel {}, stride {})", options_.kernel, options_.stride);
  }

 private:
  Pool2dOptions options_;
};

class Sequential final : public LayerBase<Sequential> {
 public:
  explicit Sequential(std::vector<std::shared_ptr<Module>> layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      register_child(std::to_string(i), std::move(layers[i]));
    }
  }
  Tensor forward(const Tensor& input) override {
    Tensor x = input;
    for (std::size_t i = 0; i < children(); ++i) x = child(i).forward(x);
    return x;
  }
  std::string describe() const override {
    std::vector<std::string> layers;
    for (std::size_t i = 0; i < children(); ++i) layers.push_back(child(i).describe());
    return fmt::format("Sequential({})", fmt::join(layers, ", "));
  }
};

/// y = shortcut(x) + body(x), the shortcut being x itself if there is none.
/// [He et al., "Deep residual learning for image recognition", 2015]
class Residual final : public LayerBase<Residual> {
 public:
  Residual(std::shared_ptr<Module> body, std::shared_ptr<Module> shortcut) {
    register_child("body", std::move(body));
    if (shortcut) register_child("shortcut", std::move(shortcut));
  }
  Tensor forward(const Tensor& input) override {
    const Tensor inner = child(0).forward(input);
    return add(inner, children() > 1 ? child(1).forward(input) : input);
  }
  std::string describe() const override {
    return fmt::format("Residual({}{})", child(0).describe(),
                       children() > 1 ? ", shortcut " + child(1).describe() : "");
  }
};

}  // namespace

std::shared_ptr<Module> make_linear(const ModuleContext& context, std::int64_t in, std::int64_t out,
                                    bool bias) {
  return std::make_shared<Linear>(context, in, out, bias);
}

std::shared_ptr<Module> make_conv2d(const ModuleContext& context, std::int64_t in, std::int64_t out,
                                    std::int64_t kernel, const Conv2dOptions& options, bool bias) {
  return std::make_shared<Conv2d>(context, in, out, kernel, options, bias);
}

std::shared_ptr<Module> make_relu() { return std::make_shared<ReLU>(); }

std::shared_ptr<Module> make_tanh() { return std::make_shared<Tanh>(); }

std::shared_ptr<Module> make_flatten() { return std::make_shared<Flatten>(); }

std::shared_ptr<Module> make_max_pool2d(const Pool2dOptions& options) {
  return std::make_shared<MaxPool2d>(options);
}

std::shared_ptr<Module> make_avg_pool2d(const Pool2dOptions& options) {
  return std::make_shared<AvgPool2d>(options);
}

std::shared_ptr<Module> make_gelu() { return std::make_shared<GELU>(); }

std::shared_ptr<Module> make_sequential(std::vector<std::shared_ptr<Module>> layers) {
  return std::make_shared<Sequential>(std::move(layers));
}

std::shared_ptr<Module> make_residual(std::shared_ptr<Module> body,
                                      std::shared_ptr<Module> shortcut) {
  return std::make_shared<Residual>(std::move(body), std::move(shortcut));
}

}  // namespace ringside
