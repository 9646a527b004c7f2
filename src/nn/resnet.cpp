// A small residual network: a 3x3 convolution, one basic block for each stage (from the second on
// with half the height and width), the mean of each channel, a linear layer.
//
// [He et al., "Deep residual learning for image recognition", 2015, section 4.2, with projection
// shortcuts; one block a stage] First values are PyTorch's layer defaults.

#include <fmt/format.h>

#include <string>
#include <utility>

#include "nn/layer_base.h"
#include "nn/models.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

using Layers = std::vector<std::shared_ptr<Module>>;

/// Rows of values as images of one channel.
class Unflatten final : public LayerBase<Unflatten> {
 public:
  explicit Unflatten(std::int64_t side) : side_(side) {}
  Tensor forward(const Tensor& input) override {
    return reshape(input, Shape{input.shape()[0], 1, side_, side_});
  }
  std::string describe() const override { return fmt::format("Unflatten(1x{}x{})", side_, side_); }

 private:
  std::int64_t side_;
};

void add_convolution(Layers& layers, const ModuleContext& context, std::int64_t in,
                     std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  layers.push_back(make_conv2d(context, in, out, kernel, {stride, kernel / 2}, /*bias=*/false));
  layers.push_back(make_batch_norm2d(context, out));
}

std::shared_ptr<Module> make_block(const ModuleContext& context, std::int64_t in, std::int64_t out,
                                   std::int64_t stride) {
  Layers body;
  add_convolution(body, context, in, out, 3, stride);
  body.push_back(make_relu());
  add_convolution(body, context, out, out, 3, 1);
  if (in == out && stride == 1) return make_residual(make_sequential(std::move(body)));
  Layers shortcut;
  add_convolution(shortcut, context, in, out, 1, stride);
  return make_residual(make_sequential(std::move(body)), make_sequential(std::move(shortcut)));
}

}  // namespace

std::shared_ptr<Module> make_resnet(std::string_view spec, const ModuleContext& context,
                                    const Shape& sample_shape, std::int64_t classes) {
  const std::vector<std::int64_t> channels =
      parse_sizes(spec, "channels", spec.substr(std::string_view("resnet:").size()));
  const bool image = sample_shape.rank() == 3 && sample_shape[1] == sample_shape[2];
  std::int64_t side = image ? sample_shape[1] : image_side(sample_shape);
  if (side < 1) {
    fail_model(spec,
               fmt::format("takes square images, but a sample is {}", to_string(sample_shape)));
  }
  double parameters = 0;
  for (const std::int64_t width : channels) {
    parameters += 18.0 * static_cast<double>(width) * static_cast<double>(width);
  }
  if (parameters > static_cast<double>(kMostModelParameters)) {
    fail_model(spec, fmt::format("has more than {} parameters", kMostModelParameters));
  }

  Layers layers;
  if (!image) layers.push_back(std::make_shared<Unflatten>(side));
  add_convolution(layers, context, image ? sample_shape[0] : 1, channels.front(), 3, 1);
  layers.push_back(make_relu());
  for (std::size_t stage = 0; stage < channels.size(); ++stage) {
    const std::int64_t in = channels[stage == 0 ? 0 : stage - 1];
    const std::int64_t stride = stage == 0 ? 1 : 2;
    layers.push_back(make_block(context, in, channels[stage], stride));
    layers.push_back(make_relu());
    side = (side - 1) / stride + 1;
  }
  layers.push_back(make_avg_pool2d({side, side}));
  layers.push_back(make_flatten());
  layers.push_back(make_linear(context, channels.back(), classes));
  return make_sequential(std::move(layers));
}

}  // namespace ringside
