// The models by name, and two of them: mlp and lenet. docs/models.md has the grammar.

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/nearest_name.h"
#include "core/whole_number.h"
#include "nn/models.h"
#include "ringside/error.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

struct Family {
  std::string_view name;
  std::string_view grammar;
};

constexpr Family kFamilies[] = {
    {"mlp",
     "mlp:INPUTS,HIDDEN,...,CLASSES, and :tanh, :bn, :heads, :backwards or :counted behind it"},
    {"cnn", "cnn:CHANNELS,...,HIDDEN, and :tanh behind it"},
    {"lenet", "lenet has no settings"},
    {"resnet", "resnet:CHANNELS,..."},
    {"gpt", "gpt:layers=2,heads=2,width=64,context=64,dropout=0, each of which may be left out"},
};

// How a model of the same family is written.
std::string hint_for(std::string_view spec) {
  const std::string_view name = spec.substr(0, spec.find(':'));
  for (const Family& family : kFamilies) {
    if (family.name == name) return std::string(family.grammar);
  }
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.name);
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "such as mlp:64,32,10 or resnet:8,16"
                         : fmt::format("did you mean {}?", nearest);
}

}  // namespace

void fail_model(std::string_view spec, const std::string& fault) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("model '{}': {}", spec, fault),
              hint_for(spec));
}

void check_classes(std::string_view spec, std::int64_t outputs, std::int64_t classes) {
  if (outputs == classes) return;
  fail_model(spec, fmt::format("gives {} outputs, but the data has {} classes", outputs, classes));
}

std::int64_t parse_size(std::string_view spec, std::string_view what, std::string_view text) {
  const auto size = whole_number<std::int64_t>(text);
  if (!size || *size < 1 || *size > kLargestLayer) {
    fail_model(spec, fmt::format("{} '{}': must be a whole number from 1 to {}", what, text,
                                 kLargestLayer));
  }
  return *size;
}

std::vector<std::int64_t> parse_sizes(std::string_view spec, std::string_view what,
                                      std::string_view text) {
  std::vector<std::int64_t> sizes;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    sizes.push_back(parse_size(spec, what, text.substr(0, comma)));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return sizes;
}

std::int64_t image_side(const Shape& sample_shape) {
  const auto side =
      static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(sample_shape.numel()))));
  const bool square = sample_shape == Shape{side * side} || sample_shape == Shape{1, side, side};
  return square ? side : 0;
}

namespace {

// ---------------------------------------------------------------- mlp

enum class MlpVariant { kRelu, kTanh, kBatchNorm, kTwoHeads, kBackwards, kCounted };

struct MlpSpec {
  std::vector<std::int64_t> sizes;
  MlpVariant variant = MlpVariant::kRelu;
};

/// `rest` is what follows "mlp:".
MlpSpec parse_mlp(std::string_view spec, std::string_view rest) {
  MlpSpec mlp;
  const std::size_t colon = rest.find(':');
  if (colon != std::string_view::npos) {
    const std::string_view variant = rest.substr(colon + 1);
    if (variant == "tanh") {
      mlp.variant = MlpVariant::kTanh;
    } else if (variant == "bn") {
      mlp.variant = MlpVariant::kBatchNorm;
    } else if (variant == "heads") {
      mlp.variant = MlpVariant::kTwoHeads;
    } else if (variant == "backwards") {
      mlp.variant = MlpVariant::kBackwards;
    } else if (variant == "counted") {
      mlp.variant = MlpVariant::kCounted;
    } else if (variant != "relu") {
      fail_model(spec, fmt::format("variant '{}': must be relu, tanh, bn, heads, backwards or "
                                   "counted",
                                   variant));
    }
  }
  mlp.sizes = parse_sizes(spec, "layer size", rest.substr(0, colon));
  if (mlp.sizes.size() < 2) fail_model(spec, "must have at least an input and an output size");
  std::int64_t parameters = 0;
  for (std::size_t i = 1; i < mlp.sizes.size(); ++i) {
    parameters += (mlp.sizes[i - 1] + 1) * mlp.sizes[i];
    if (parameters > kMostModelParameters) {
      fail_model(spec, fmt::format("has more than {} parameters", kMostModelParameters));
    }
  }
  return mlp;
}

/// Two linear heads on what the hidden layers give; their logits are added. A step may leave the
/// second one out, as a model with an auxiliary output does whose loss is not always taken.
class TwoHeads final : public Module {
 public:
  TwoHeads(std::shared_ptr<Module> hidden, std::shared_ptr<Module> head,
           std::shared_ptr<Module> second) {
    register_child("hidden", std::move(hidden));
    register_child("head", std::move(head));
    register_child("second", std::move(second));
  }
  Tensor forward(const Tensor& input) override {
    const Tensor features = child(0).forward(input);
    const Tensor logits = child(1).forward(features);
    return uses_second_ ? add(logits, child(2).forward(features)) : logits;
  }
  void use_second_head(bool use) override { uses_second_ = use; }
  std::string describe() const override {
    return fmt::format("TwoHeads({}; {}, {})", child(0).describe(), child(1).describe(),
                       child(2).describe());
  }
  std::shared_ptr<Module> shallow_copy() const override {
    return std::make_shared<TwoHeads>(*this);
  }

 private:
  bool uses_second_ = true;
};

/// A Sequential that registers its layers from the last to the first, as a class does whose
/// constructor names them in another order than forward uses them.
class RegisteredBackwards final : public Module {
 public:
  explicit RegisteredBackwards(std::vector<std::shared_ptr<Module>> layers) {
    for (std::size_t i = layers.size(); i > 0; --i) {
      register_child(fmt::format("{}", i - 1), std::move(layers[i - 1]));
    }
  }
  Tensor forward(const Tensor& input) override {
    Tensor x = input;
    for (std::size_t i = children(); i > 0; --i) x = child(i - 1).forward(x);
    return x;
  }
  std::string describe() const override {
    std::vector<std::string> layers;
    for (std::size_t i = children(); i > 0; --i) layers.push_back(child(i - 1).describe());
    return fmt::format("RegisteredBackwards({})", fmt::join(layers, ", "));
  }
  std::shared_ptr<Module> shallow_copy() const override {
    return std::make_shared<RegisteredBackwards>(*this);
  }
};

std::shared_ptr<Module> make_mlp(std::string_view spec, const MlpSpec& mlp,
                                 const ModuleContext& context, const Shape& sample_shape,
                                 std::int64_t classes) {
  if (mlp.sizes.front() != sample_shape.numel()) {
    fail_model(spec, fmt::format("takes {} inputs, but a sample has {} values ({})",
                                 mlp.sizes.front(), sample_shape.numel(), to_string(sample_shape)));
  }
  check_classes(spec, mlp.sizes.back(), classes);
  std::vector<std::shared_ptr<Module>> layers;
  if (sample_shape.rank() != 1) layers.push_back(make_flatten());
  for (std::size_t i = 1; i + 1 < mlp.sizes.size(); ++i) {
    layers.push_back(make_linear(context, mlp.sizes[i - 1], mlp.sizes[i]));
    if (mlp.variant == MlpVariant::kBatchNorm) {
      layers.push_back(make_batch_norm1d(context, mlp.sizes[i]));
    }
    layers.push_back(mlp.variant == MlpVariant::kTanh ? make_tanh() : make_relu());
  }
  const std::int64_t features = mlp.sizes[mlp.sizes.size() - 2];
  std::shared_ptr<Module> head = make_linear(context, features, classes);
  if (mlp.variant == MlpVariant::kTwoHeads) {
    return std::make_shared<TwoHeads>(make_sequential(std::move(layers)), std::move(head),
                                      make_linear(context, features, classes));
  }
  layers.push_back(std::move(head));
  if (mlp.variant == MlpVariant::kBackwards) {
    return std::make_shared<RegisteredBackwards>(std::move(layers));
  }
  std::shared_ptr<Module> model = make_sequential(std::move(layers));
  return mlp.variant == MlpVariant::kCounted ? make_counted_calls(context, std::move(model))
                                             : model;
}

// ---------------------------------------------------------------- lenet

constexpr std::int64_t kLeNetSide = 28;

/// LeNet-5 with ReLU and max pooling, as most PyTorch examples write it. Smaller images are put in
/// the middle of a 28x28 canvas of zeros, by the first convolution's padding.
/// [LeCun et al., "Gradient-based learning applied to document recognition", 1998]
class LeNet final : public Module {
 public:
  LeNet(const ModuleContext& context, std::int64_t side, std::int64_t classes) : side_(side) {
    const std::int64_t padding = 2 + (kLeNetSide - side) / 2;
    register_child("conv1", make_conv2d(context, 1, 6, 5, {1, padding}));
    register_child("conv2", make_conv2d(context, 6, 16, 5));
    register_child("fc1", make_linear(context, std::int64_t{16} * 5 * 5, 120));
    register_child("fc2", make_linear(context, 120, 84));
    register_child("fc3", make_linear(context, 84, classes));
  }
  Tensor forward(const Tensor& input) override {
    Tensor x = reshape(input, Shape{input.shape()[0], 1, side_, side_});
    x = max_pool2d(relu(child(0).forward(x)), {});
    x = max_pool2d(relu(child(1).forward(x)), {});
    x = relu(child(2).forward(flatten(x)));
    x = relu(child(3).forward(x));
    return child(4).forward(x);
  }
  std::string describe() const override {
    return fmt::format("LeNet({}x{}; {})", side_, side_, child(4).describe());
  }
  std::shared_ptr<Module> shallow_copy() const override { return std::make_shared<LeNet>(*this); }

 private:
  std::int64_t side_;
};

std::shared_ptr<Module> make_lenet(std::string_view spec, const ModuleContext& context,
                                   const Shape& sample_shape, std::int64_t classes) {
  const std::int64_t side = image_side(sample_shape);
  if (side < 2 || side > kLeNetSide || side % 2 != 0) {
    fail_model(spec,
               fmt::format("takes images of 1x28x28, or smaller ones with an even side, which it "
                           "pads; but a sample is {}",
                           to_string(sample_shape)));
  }
  return std::make_shared<LeNet>(context, side, classes);
}

}  // namespace

std::shared_ptr<Module> make_model(std::string_view spec, const ModuleContext& context,
                                   const Shape& sample_shape, std::int64_t classes) {
  if (classes < 1) fail_model(spec, fmt::format("{} classes: must be at least 1", classes));
  if (spec == "lenet") return make_lenet(spec, context, sample_shape, classes);
  if (spec.starts_with("mlp:")) {
    return make_mlp(spec, parse_mlp(spec, spec.substr(4)), context, sample_shape, classes);
  }
  if (spec == "gpt" || spec.starts_with("gpt:")) {
    return make_gpt(spec, context, sample_shape, classes);
  }
  if (spec.starts_with("cnn:")) return make_cnn(spec, context, sample_shape, classes);
  if (spec.starts_with("resnet:")) return make_resnet(spec, context, sample_shape, classes);
  fail_model(spec, "must be mlp:SIZES, cnn:SIZES, lenet, resnet:CHANNELS or gpt:SETTINGS");
}

std::optional<std::int64_t> token_context(std::string_view spec) {
  if (spec != "gpt" && !spec.starts_with("gpt:")) return std::nullopt;
  return parse_gpt(spec).context;
}

}  // namespace ringside
