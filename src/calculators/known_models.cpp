#include "calculators/known_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "core/clean_text.h"
#include "core/nearest_name.h"
#include "core/whole_number.h"
#include "ringside/error.h"
#include "ringside/nn.h"
#include "ringside/world.h"

namespace ringside {
namespace {

constexpr std::array<std::string_view, 6> kNames{"resnet18",  "resnet50",   "vgg16",
                                                 "bert-base", "gpt2-small", "gpt2-xl"};
constexpr std::int64_t kImageNetClasses = 1000;

using Size = std::int64_t;

/// A list of parameters while it is written down.
class Parameters {
 public:
  void add(std::string name, std::vector<Size> shape) {
    list_.push_back({std::move(name), std::move(shape)});
  }
  /// A weight of this shape, and a bias of `bias` elements.
  void with_bias(const std::string& layer, std::vector<Size> weight, Size bias) {
    add(layer + ".weight", std::move(weight));
    add(layer + ".bias", {bias});
  }
  void linear(const std::string& layer, Size in, Size out) { with_bias(layer, {out, in}, out); }
  /// BatchNorm and LayerNorm.
  void norm(const std::string& layer, Size width) { with_bias(layer, {width}, width); }
  void convolution(const std::string& layer, Size in, Size out, Size kernel) {
    add(layer + ".weight", {out, in, kernel, kernel});
  }
  std::vector<NamedShape> take() { return std::move(list_); }

 private:
  std::vector<NamedShape> list_;
};

// ---- convolutional networks. [He et al. 2015; Simonyan and Zisserman 2014; torchvision]

struct ResNet {
  std::array<int, 4> blocks;
  Size expansion;  ///< channels that leave a block, by its width; 1 has two convolutions a block
};

void residual_block(Parameters& parameters, const std::string& name, Size in, Size width,
                    Size expansion) {
  const Size out = width * expansion;
  if (expansion == 1) {
    parameters.convolution(name + "conv1", in, width, 3);
    parameters.norm(name + "bn1", width);
    parameters.convolution(name + "conv2", width, width, 3);
    parameters.norm(name + "bn2", width);
  } else {
    parameters.convolution(name + "conv1", in, width, 1);
    parameters.norm(name + "bn1", width);
    parameters.convolution(name + "conv2", width, width, 3);
    parameters.norm(name + "bn2", width);
    parameters.convolution(name + "conv3", width, out, 1);
    parameters.norm(name + "bn3", out);
  }
}

std::vector<NamedShape> resnet(const ResNet& net) {
  Parameters parameters;
  parameters.convolution("conv1", 3, 64, 7);
  parameters.norm("bn1", 64);
  Size in = 64;
  for (std::size_t stage = 0; stage < net.blocks.size(); ++stage) {
    const Size width = Size{64} << stage;
    const Size out = width * net.expansion;
    for (int block = 0; block < net.blocks[stage]; ++block) {
      const std::string name = fmt::format("layer{}.{}.", stage + 1, block);
      residual_block(parameters, name, in, width, net.expansion);
      if (block == 0 && in != out) {
        parameters.convolution(name + "downsample.0", in, out, 1);
        parameters.norm(name + "downsample.1", out);
      }
      in = out;
    }
  }
  parameters.linear("fc", in, kImageNetClasses);
  return parameters.take();
}

std::vector<NamedShape> vgg16() {
  // Numbers are places in torchvision's `features`: a ReLU follows each, 0 stands for a pooling.
  constexpr std::array<Size, 18> kChannels{64, 64,  0,   128, 128, 0,   256, 256, 256,
                                           0,  512, 512, 512, 0,   512, 512, 512, 0};
  Parameters parameters;
  Size in = 3;
  int place = 0;
  for (const Size out : kChannels) {
    if (out == 0) {
      ++place;
      continue;
    }
    parameters.with_bias(fmt::format("features.{}", place), {out, in, 3, 3}, out);
    in = out;
    place += 2;
  }
  parameters.linear("classifier.0", 512 * 7 * 7, 4096);
  parameters.linear("classifier.3", 4096, 4096);
  parameters.linear("classifier.6", 4096, kImageNetClasses);
  return parameters.take();
}

// ---- transformers. [Devlin et al. 2018; Radford et al. 2019; Hugging Face transformers]

std::vector<NamedShape> bert_base() {
  constexpr Size kWidth = 768;
  constexpr Size kInner = 3072;
  Parameters parameters;
  parameters.add("embeddings.word_embeddings.weight", {30522, kWidth});
  parameters.add("embeddings.position_embeddings.weight", {512, kWidth});
  parameters.add("embeddings.token_type_embeddings.weight", {2, kWidth});
  parameters.norm("embeddings.LayerNorm", kWidth);
  for (int layer = 0; layer < 12; ++layer) {
    const std::string name = fmt::format("encoder.layer.{}.", layer);
    for (const char* part : {"query", "key", "value"}) {
      parameters.linear(fmt::format("{}attention.self.{}", name, part), kWidth, kWidth);
    }
    parameters.linear(name + "attention.output.dense", kWidth, kWidth);
    parameters.norm(name + "attention.output.LayerNorm", kWidth);
    parameters.linear(name + "intermediate.dense", kWidth, kInner);
    parameters.linear(name + "output.dense", kInner, kWidth);
    parameters.norm(name + "output.LayerNorm", kWidth);
  }
  parameters.linear("pooler.dense", kWidth, kWidth);
  return parameters.take();
}

/// Linear layers are stored [in, out], as GPT-2's own Conv1D does; the output matrix is `wte`.
std::vector<NamedShape> gpt2(int layers, Size width) {
  Parameters parameters;
  parameters.add("wte.weight", {50257, width});
  parameters.add("wpe.weight", {1024, width});
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = fmt::format("h.{}.", layer);
    parameters.norm(name + "ln_1", width);
    parameters.with_bias(name + "attn.c_attn", {width, 3 * width}, 3 * width);
    parameters.with_bias(name + "attn.c_proj", {width, width}, width);
    parameters.norm(name + "ln_2", width);
    parameters.with_bias(name + "mlp.c_fc", {width, 4 * width}, 4 * width);
    parameters.with_bias(name + "mlp.c_proj", {4 * width, width}, width);
  }
  parameters.norm("ln_f", width);
  return parameters.take();
}

bool is_gpt(std::string_view name) { return name == "gpt" || name.starts_with("gpt:"); }

[[noreturn]] void fail_unknown(std::string_view name) {
  if (is_gpt(name)) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("model '{}': how many tokens it embeds depends on the text", shown_name(name)),
        "write it with ringside run --save a.safetensors, and name that file here");
  }
  const std::string nearest = nearest_name(name, kNames);
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("model '{}': must be {}, lenet, mlp:SIZES, cnn:SIZES, resnet:CHANNELS, "
                          "or a .safetensors or .json file",
                          shown_name(name), fmt::join(kNames, ", ")),
              nearest.empty() ? "such as resnet50, mlp:64,32,10, or model.safetensors"
                              : fmt::format("did you mean {}?", nearest));
}

[[noreturn]] void fail_sizes(std::string_view name, const std::string& fault) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("model '{}': {}", shown_name(name), fault),
              "such as mlp:64,32,10: features in, of each hidden layer, and out");
}

std::vector<NamedShape> mlp(std::string_view name) {
  constexpr Size kLargest = Size{1} << 24;
  std::vector<Size> sizes;
  std::string_view rest = name.substr(name.find(':') + 1);
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view text = rest.substr(0, comma);
    const auto size = whole_number<Size>(text);
    if (!size || *size < 1 || *size > kLargest) {
      fail_sizes(name, fmt::format("size '{}': must be a whole number from 1 to {}",
                                   shown_name(text), kLargest));
    }
    sizes.push_back(*size);
    if (more) rest.remove_prefix(comma + 1);
  }
  if (sizes.size() < 2) fail_sizes(name, "one size: a layer has two, in and out");
  Parameters parameters;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    parameters.linear(std::to_string(2 * i), sizes[i], sizes[i + 1]);
  }
  return parameters.take();
}

// ---- the models that runs train

std::vector<NamedShape> trained_model(std::string_view name, const Shape& sample, Size classes) {
  const std::unique_ptr<World> shapes = open_world("meta", {});
  Generator generator(0);
  const std::shared_ptr<Module> module =
      make_model(name, {shapes->device(0), DType::kFloat32, generator}, sample, classes);
  Parameters parameters;
  for (const NamedTensor& entry : module->named_parameters()) {
    const std::span<const Size> sizes = entry.tensor.shape().sizes();
    parameters.add(entry.name, {sizes.begin(), sizes.end()});
  }
  return parameters.take();
}

/// "mlp:64,32,10", and with a variant behind it, such as ":heads".
std::vector<NamedShape> any_mlp(std::string_view name) {
  const std::size_t variant = name.find(':', name.find(':') + 1);
  std::vector<NamedShape> layers = mlp(name.substr(0, variant));
  if (variant == std::string_view::npos) return layers;
  return trained_model(name, Shape{layers.front().shape.back()}, layers.back().shape.front());
}

/// Models whose sizes depend on the images.
bool is_of_images(std::string_view name) {
  return name == "lenet" || name.starts_with("cnn:") || name.starts_with("resnet:");
}

}  // namespace

std::span<const std::string_view> known_models() { return kNames; }

bool is_model_name(std::string_view name) {
  return name.starts_with("mlp:") || is_of_images(name) || is_gpt(name) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::vector<NamedShape> known_model(std::string_view name) {
  constexpr Size kGpt2Xl = 1600;
  constexpr Size kGpt2Small = 768;
  if (name == "resnet18") return resnet({{2, 2, 2, 2}, 1});
  if (name == "resnet50") return resnet({{3, 4, 6, 3}, 4});
  if (name == "vgg16") return vgg16();
  if (name == "bert-base") return bert_base();
  if (name == "gpt2-small") return gpt2(12, kGpt2Small);
  if (name == "gpt2-xl") return gpt2(48, kGpt2Xl);
  if (name.starts_with("mlp:")) return any_mlp(name);
  if (is_of_images(name)) return trained_model(name, Shape{1, 8, 8}, 10);  // the digits'
  fail_unknown(name);
}

std::size_t elements_of(const NamedShape& parameter) {
  std::size_t elements = 1;
  for (const Size size : parameter.shape) elements *= static_cast<std::size_t>(size);
  return elements;
}

std::size_t elements_of(std::span<const NamedShape> parameters) {
  std::size_t elements = 0;
  for (const NamedShape& parameter : parameters) elements += elements_of(parameter);
  return elements;
}

}  // namespace ringside
