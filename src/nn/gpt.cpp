// A small GPT-2: token and position embeddings, blocks of causal self-attention and a two-layer
// perceptron, each behind a layer norm and around a residual sum, a last layer norm, a projection
// to the vocabulary.
//
// [Radford et al., "Language models are unsupervised multitask learners", 2019; names as in
// Karpathy's nanoGPT] First values are PyTorch's layer defaults; the projection is not tied to the
// embedding; dropout follows the embeddings and both halves of a block, not the attention weights.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "nn/models.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

constexpr std::int64_t kMostLayers = 1024;

class Perceptron final : public Module {
 public:
  Perceptron(const ModuleContext& context, std::int64_t width) {
    register_child("c_fc", make_linear(context, width, 4 * width));
    register_child("c_proj", make_linear(context, 4 * width, width));
  }
  Tensor forward(const Tensor& input) override {
    return child(1).forward(gelu(child(0).forward(input)));
  }
  std::string describe() const override {
    return fmt::format("Perceptron({}, GELU(), {})", child(0).describe(), child(1).describe());
  }
  std::shared_ptr<Module> shallow_copy() const override {
    return std::make_shared<Perceptron>(*this);
  }
};

class Block final : public Module {
 public:
  Block(const ModuleContext& context, const GptSpec& spec) {
    register_child("ln_1", make_layer_norm(context, spec.width));
    register_child("attn", make_self_attention(context, spec.width, spec.heads));
    register_child("ln_2", make_layer_norm(context, spec.width));
    register_child("mlp", std::make_shared<Perceptron>(context, spec.width));
    register_child("drop", make_dropout(spec.dropout));
  }
  Tensor forward(const Tensor& input) override {
    Module& drop = child(4);
    const Tensor x = add(input, drop.forward(child(1).forward(child(0).forward(input))));
    return add(x, drop.forward(child(3).forward(child(2).forward(x))));
  }
  std::string describe() const override { return fmt::format("Block({})", child(1).describe()); }
  std::shared_ptr<Module> shallow_copy() const override { return std::make_shared<Block>(*this); }
};

class Gpt final : public Module {
 public:
  Gpt(const ModuleContext& context, const GptSpec& spec, std::int64_t vocabulary)
      : spec_(spec), vocabulary_(vocabulary) {
    register_child("wte", make_embedding(context, vocabulary, spec.width));
    register_child("wpe", make_positions(context, spec.context, spec.width));
    register_child("drop", make_dropout(spec.dropout));
    std::vector<std::shared_ptr<Module>> blocks;
    for (std::int64_t i = 0; i < spec.layers; ++i) {
      blocks.push_back(std::make_shared<Block>(context, spec));
    }
    register_child("h", make_sequential(std::move(blocks)));
    register_child("ln_f", make_layer_norm(context, spec.width));
    register_child("lm_head", make_linear(context, spec.width, vocabulary, /*bias=*/false));
  }
  Tensor forward(const Tensor& input) override {
    Tensor x = input;
    for (std::size_t i = 0; i < children(); ++i) x = child(i).forward(x);
    return x;
  }
  std::string describe() const override {
    return fmt::format("Gpt({} layers, {} heads, width {}, context {}, vocabulary {})",
                       spec_.layers, spec_.heads, spec_.width, spec_.context, vocabulary_);
  }
  std::shared_ptr<Module> shallow_copy() const override { return std::make_shared<Gpt>(*this); }

 private:
  GptSpec spec_;
  std::int64_t vocabulary_;
};

double parse_probability(std::string_view spec, std::string_view text) {
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value < 1)) {
    fail_model(spec, fmt::format("dropout '{}': must be a number from 0 to below 1", text));
  }
  return value;
}

void set(GptSpec& gpt, std::string_view spec, std::string_view setting) {
  const std::size_t equals = setting.find('=');
  const std::string_view name = setting.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : setting.substr(equals + 1);
  if (name == "layers") {
    gpt.layers = parse_size(spec, name, value);
  } else if (name == "heads") {
    gpt.heads = parse_size(spec, name, value);
  } else if (name == "width") {
    gpt.width = parse_size(spec, name, value);
  } else if (name == "context") {
    gpt.context = parse_size(spec, name, value);
  } else if (name == "dropout") {
    gpt.dropout = parse_probability(spec, value);
  } else {
    fail_model(spec, fmt::format("setting '{}': must be layers=N, heads=N, width=N, context=N or "
                                 "dropout=P",
                                 setting));
  }
}

}  // namespace

GptSpec parse_gpt(std::string_view spec) {
  GptSpec gpt;
  constexpr std::string_view kName = "gpt:";
  if (spec.starts_with(kName)) {
    std::string_view rest = spec.substr(kName.size());
    std::vector<std::string_view> given;
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
      comma = rest.find(',');
      const std::string_view setting = rest.substr(0, comma);
      set(gpt, spec, setting);
      const std::string_view name = setting.substr(0, setting.find('='));
      if (std::find(given.begin(), given.end(), name) != given.end()) {
        fail_model(spec, fmt::format("{} is given more than once", name));
      }
      given.push_back(name);
      rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
  }
  if (gpt.layers > kMostLayers) {
    fail_model(spec, fmt::format("layers {}: at most {}", gpt.layers, kMostLayers));
  }
  if (gpt.width % gpt.heads != 0) {
    fail_model(spec, fmt::format("width {} is not divisible by {} heads", gpt.width, gpt.heads));
  }
  const double parameters = static_cast<double>(gpt.layers) * 12 * static_cast<double>(gpt.width) *
                                static_cast<double>(gpt.width) +
                            static_cast<double>(gpt.width) * static_cast<double>(gpt.context);
  if (parameters > static_cast<double>(kMostModelParameters)) {
    fail_model(spec, fmt::format("has more than {} parameters", kMostModelParameters));
  }
  return gpt;
}

std::shared_ptr<Module> make_gpt(std::string_view spec, const ModuleContext& context,
                                 const Shape& sample_shape, std::int64_t classes) {
  const GptSpec gpt = parse_gpt(spec);
  if (sample_shape.rank() != 1 || sample_shape[0] > gpt.context) {
    fail_model(spec, fmt::format("takes up to {} tokens, but a sample is {}", gpt.context,
                                 to_string(sample_shape)));
  }
  return std::make_shared<Gpt>(context, gpt, classes);
}

}  // namespace ringside
