// A small convolutional network: 3x3 convolutions that keep the image's size, each followed by an
// activation and 2x2 max pooling; then a hidden layer and the classes.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "nn/layer_base.h"
#include "nn/models.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

struct CnnSpec {
  std::vector<std::int64_t> channels;
  std::int64_t hidden = 0;
  bool tanh = false;  ///< else ReLU
};

/// "cnn:32,64,128:tanh": the last size is the hidden layer's.
CnnSpec parse_cnn(std::string_view spec) {
  std::string_view sizes = spec.substr(std::string_view("cnn:").size());
  CnnSpec cnn;
  if (const std::size_t colon = sizes.find(':'); colon != std::string_view::npos) {
    const std::string_view variant = sizes.substr(colon + 1);
    cnn.tanh = variant == "tanh";
    if (!cnn.tanh && variant != "relu") {
      fail_model(spec, fmt::format("variant '{}': must be relu or tanh", variant));
    }
    sizes = sizes.substr(0, colon);
  }
  cnn.channels = parse_sizes(spec, "layer size", sizes);
  if (cnn.channels.size() < 2) {
    fail_model(spec, "must have at least one convolution and a hidden layer");
  }
  cnn.hidden = cnn.channels.back();
  cnn.channels.pop_back();
  return cnn;
}

class Cnn final : public LayerBase<Cnn> {
 public:
  Cnn(const ModuleContext& context, const CnnSpec& spec, std::int64_t side, std::int64_t classes)
      : side_(side), tanh_(spec.tanh), convolutions_(spec.channels.size()) {
    std::int64_t in = 1;
    for (std::size_t i = 0; i < convolutions_; ++i) {
      const std::int64_t out = spec.channels[i];
      register_child(fmt::format("conv{}", i + 1), make_conv2d(context, in, out, 3, {1, 1}));
      in = out;
      side /= 2;
    }
    register_child("fc1", make_linear(context, in * side * side, spec.hidden));
    register_child("fc2", make_linear(context, spec.hidden, classes));
  }
  Tensor forward(const Tensor& input) override {
    Tensor x = reshape(input, Shape{input.shape()[0], 1, side_, side_});
    for (std::size_t i = 0; i < convolutions_; ++i) {
      x = max_pool2d(activate(child(i).forward(x)), {});
    }
    x = activate(child(convolutions_).forward(flatten(x)));
    return child(convolutions_ + 1).forward(x);
  }
  std::string describe() const override {
    std::string text = fmt::format("Cnn({0}x{0}", side_);
    for (std::size_t i = 0; i < convolutions_ + 2; ++i) text += "; " + child(i).describe();
    return text + ")";
  }

 private:
  Tensor activate(const Tensor& x) const { return tanh_ ? tanh(x) : relu(x); }

  std::int64_t side_;
  bool tanh_;
  std::size_t convolutions_;
};

double parameters_of(const CnnSpec& cnn, std::int64_t pooled_side, std::int64_t classes) {
  double sum = 0;
  double in = 1;
  for (const std::int64_t channels : cnn.channels) {
    const auto out = static_cast<double>(channels);
    sum += (in * 9 + 1) * out;
    in = out;
  }
  const auto side = static_cast<double>(pooled_side);
  const auto hidden = static_cast<double>(cnn.hidden);
  return sum + (in * side * side + 1) * hidden + (hidden + 1) * static_cast<double>(classes);
}

}  // namespace

std::shared_ptr<Module> make_cnn(std::string_view spec, const ModuleContext& context,
                                 const Shape& sample_shape, std::int64_t classes) {
  const CnnSpec cnn = parse_cnn(spec);
  const std::int64_t side = image_side(sample_shape);
  const std::size_t halvings = cnn.channels.size();
  if (side == 0 || halvings > 30 || side % (std::int64_t{1} << halvings) != 0) {
    fail_model(spec, fmt::format("halves the side of a square one-channel image {}, but a sample "
                                 "is {}",
                                 halvings == 1 ? "once" : fmt::format("{} times", halvings),
                                 to_string(sample_shape)));
  }
  if (parameters_of(cnn, side >> halvings, classes) > static_cast<double>(kMostModelParameters)) {
    fail_model(spec, fmt::format("has more than {} parameters", kMostModelParameters));
  }
  return std::make_shared<Cnn>(context, cnn, side, classes);
}

}  // namespace ringside
