// The layers of transformers: Embedding, positions, multi-head self-attention.

#include <fmt/format.h>

#include <string>

#include "nn/initialise.h"
#include "nn/layer_base.h"
#include "ringside/error.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

class Embedding final : public LayerBase<Embedding> {
 public:
  Embedding(const ModuleContext& context, std::int64_t rows, std::int64_t width)
      : rows_(rows), width_(width) {
    check_positive("Embedding", "rows", rows);
    check_positive("Embedding", "width", width);
    register_parameter("weight", normal_parameter(context, Shape{rows, width}, "weight"));
  }
  Tensor forward(const Tensor& input) override { return embedding(input, parameter(0)); }
  std::string describe() const override { return fmt::format("Embedding({}, {})", rows_, width_); }

 private:
  std::int64_t rows_, width_;
};

/// An embedding of the places 0, 1, ..., added to the input.
class Positions final : public LayerBase<Positions> {
 public:
  Positions(const ModuleContext& context, std::int64_t places, std::int64_t width)
      : places_(places), width_(width) {
    check_positive("Positions", "places", places);
    check_positive("Positions", "width", width);
    register_parameter("weight", normal_parameter(context, Shape{places, width}, "weight"));
  }
  Tensor forward(const Tensor& input) override { return add_positions(input, parameter(0)); }
  std::string describe() const override {
    return fmt::format("Positions({}, {})", places_, width_);
  }

 private:
  std::int64_t places_, width_;
};

/// Query, key and value come from one projection, as in GPT-2, whose names these are.
class SelfAttention final : public LayerBase<SelfAttention> {
 public:
  SelfAttention(const ModuleContext& context, std::int64_t width, std::int64_t heads, bool causal)
      : width_(width), heads_(heads), causal_(causal) {
    check_positive("SelfAttention", "width", width);
    check_positive("SelfAttention", "heads", heads);
    if (width % heads != 0) {
      throw Error(
          ErrorKind::kInvalidArgument,
          fmt::format("SelfAttention: width {} is not divisible by {} heads", width, heads));
    }
    register_child("c_attn", make_linear(context, width, 3 * width));
    register_child("c_proj", make_linear(context, width, width));
  }
  Tensor forward(const Tensor& input) override {
    const std::vector<Tensor> parts = split_heads(child(0).forward(input), 3, heads_);
    const Tensor seen = scaled_dot_product_attention(parts[0], parts[1], parts[2], causal_);
    return child(1).forward(merge_heads(seen));
  }
  std::string describe() const override {
    return fmt::format("SelfAttention({}, {} heads{})", width_, heads_, causal_ ? ", causal" : "");
  }

 private:
  std::int64_t width_, heads_;
  bool causal_;
};

}  // namespace

std::shared_ptr<Module> make_embedding(const ModuleContext& context, std::int64_t rows,
                                       std::int64_t width) {
  return std::make_shared<Embedding>(context, rows, width);
}

std::shared_ptr<Module> make_positions(const ModuleContext& context, std::int64_t places,
                                       std::int64_t width) {
  return std::make_shared<Positions>(context, places, width);
}

std::shared_ptr<Module> make_self_attention(const ModuleContext& context, std::int64_t width,
                                            std::int64_t heads, bool causal) {
  return std::make_shared<SelfAttention>(context, width, heads, causal);
}

}  // namespace ringside
