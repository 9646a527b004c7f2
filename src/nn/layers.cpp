// The layers: each registers its tensors as PyTorch's does, and leaves the arithmetic to the
// operators of tensor.h.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>

#include "nn/initialise.h"
#include "ringside/error.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

void check_positive(std::string_view layer, std::string_view what, std::int64_t value) {
  if (value > 0) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: {} {}: must be at least 1", layer, what, value));
}

/// What every layer says of itself and how it is copied, so that its class says what it computes.
template <typename Layer>
class LayerBase : public Module {
 public:
  std::shared_ptr<Module> shallow_copy() const override {
    return std::make_shared<Layer>(static_cast<const Layer&>(*this));
  }
};

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
  Tensor forward(const Tensor& input) override { return linear(input, weight(), bias()); }
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

class BatchNorm1d final : public LayerBase<BatchNorm1d> {
 public:
  BatchNorm1d(const ModuleContext& context, std::int64_t channels, double momentum, double epsilon)
      : channels_(channels), momentum_(momentum), epsilon_(epsilon) {
    check_positive("BatchNorm1d", "channels", channels);
    const Shape per_channel{channels};
    const DType dtype = context.dtype;
    register_parameter("weight", constant(context, per_channel, dtype, 1, "weight"));
    register_parameter("bias", constant(context, per_channel, dtype, 0, "bias"));
    register_buffer("running_mean", constant(context, per_channel, dtype, 0, "running_mean"));
    register_buffer("running_var", constant(context, per_channel, dtype, 1, "running_var"));
    register_buffer("num_batches_tracked",
                    constant(context, Shape{}, DType::kInt64, 0, "num_batches_tracked"));
  }
  Tensor forward(const Tensor& input) override {
    Tensor output = batch_norm(input, parameter(0), parameter(1), buffer(0), buffer(1), training(),
                               momentum_, epsilon_);
    if (training()) count_batch();
    return output;
  }
  std::string describe() const override {
    return fmt::format("BatchNorm1d({}, momentum {}, epsilon {})", channels_, momentum_, epsilon_);
  }

 private:
  void count_batch() {
    const Tensor& count = buffer(2);
    Device& device = count.device();
    const DeviceArray one =
        device.allocate(count.bytes(), MemoryKind::kWorkspace).array(DType::kInt64, Shape{});
    const TensorRef reference{count.name(), &count.array()};
    const std::string_view name = count.name();
    OpInfo info;
    info.name = "count-batch";
    info.label = name.substr(0, name.rfind('.'));
    info.flops = 1;
    info.reads = {&reference, 1};
    info.writes = {&reference, 1};
    device.compute().submit(info, [tally = count.array(), one](LaunchContext& context) {
      context.kernels.fill(context, one, 1);
      context.kernels.add(context, tally, 1, tally, 1, one);
    });
  }

  std::int64_t channels_;
  double momentum_, epsilon_;
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

std::shared_ptr<Module> make_batch_norm1d(const ModuleContext& context, std::int64_t channels,
                                          double momentum, double epsilon) {
  return std::make_shared<BatchNorm1d>(context, channels, momentum, epsilon);
}

std::shared_ptr<Module> make_sequential(std::vector<std::shared_ptr<Module>> layers) {
  return std::make_shared<Sequential>(std::move(layers));
}

}  // namespace ringside
