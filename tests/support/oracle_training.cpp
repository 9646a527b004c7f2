#include "support/oracle_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "nn/layer_base.h"

namespace ringside::test {
namespace {

/// A model with a part that a forward may leave out.
class Branchy final : public LayerBase<Branchy> {
 public:
  Branchy(const ModuleContext& context, std::int64_t in, std::int64_t hidden, std::int64_t out) {
    register_child("a", make_linear(context, in, hidden));
    register_child("b", make_linear(context, hidden, hidden));
    register_child("head", make_linear(context, hidden, out));
  }
  Tensor forward(const Tensor& input) override {
    Tensor hidden = tanh(child(0).forward(input));
    if (use_b_) hidden = tanh(child(1).forward(hidden));
    return child(2).forward(hidden);
  }
  std::string describe() const override { return "Branchy()"; }
  void use_second_head(bool use) override { use_b_ = use; }

 private:
  bool use_b_ = true;
};

std::shared_ptr<Module> make_layer(const Json& layer, const ModuleContext& context) {
  const auto kind = exactly<std::string>(layer.at(0));
  const auto size = [&](std::size_t i) { return exactly<std::int64_t>(layer.at(i)); };
  const auto check_arguments = [&](std::size_t least, std::size_t most) {
    if (layer.size() > least && layer.size() <= most + 1) return;
    throw std::runtime_error("layer " + layer.dump() + ": another number of arguments");
  };
  if (kind == "linear") {
    check_arguments(2, 3);
    return make_linear(context, size(1), size(2), layer.size() < 4 || exactly<bool>(layer.at(3)));
  }
  if (kind == "conv2d") {
    check_arguments(3, 3);
    return make_conv2d(context, size(1), size(2), size(3));
  }
  if (kind == "batchnorm1d" || kind == "layernorm") {
    check_arguments(1, 1);
    return kind == "layernorm" ? make_layer_norm(context, size(1))
                               : make_batch_norm1d(context, size(1));
  }
  check_arguments(0, 0);
  if (kind == "tanh") return make_tanh();
  if (kind == "relu") return make_relu();
  if (kind == "flatten") return make_flatten();
  throw std::runtime_error("layer '" + kind + "' is unknown");
}

}  // namespace

OracleModel make_oracle_model(Record& spec, Device& device, DType dtype, CpuCapability capability) {
  OracleModel model{nullptr, Generator(spec.seed("init_seed"), capability)};
  const ModuleContext context{device, dtype, model.generator};
  if (spec.has("branchy")) {
    const auto sizes = exactly<std::vector<std::int64_t>>(spec.list("branchy", 3));
    model.module = std::make_shared<Branchy>(context, sizes.at(0), sizes.at(1), sizes.at(2));
    return model;
  }
  std::vector<std::shared_ptr<Module>> layers;
  for (const Json& layer : spec["layers"]) layers.push_back(make_layer(layer, context));
  model.module = make_sequential(std::move(layers));
  return model;
}

OracleData::OracleData(Record& spec, Recorded recorded)
    : features_(spec.get<std::size_t>("features")) {
  Generator generator(spec.seed("seed"));
  const auto rows = spec.get<std::size_t>("rows");
  const auto classes = spec.get<std::int64_t>("classes");
  for (std::size_t i = 0; i < rows * features_; ++i) {
    x_.push_back(generator.uniform(0, 1, DType::kFloat32) * 2 - 1);  // exact
  }
  for (std::size_t i = 0; i < rows; ++i) {
    y_.push_back(static_cast<double>(generator.randint(0, classes)));
  }
  if (recorded == Recorded::kNothing) return;
  constexpr std::size_t kListed = 600, kFirst = 8;
  const bool all = recorded == Recorded::kAll || x_.size() <= kListed;
  const auto compare = [&](const std::string& name, std::span<const double> values, DType dtype) {
    const std::string field = all ? name : name + "_first";
    const std::size_t count = all ? values.size() : std::min(kFirst, values.size());
    expect_values(values.first(count), spec[field], dtype, {}, field);
  };
  compare("x", x_, DType::kFloat32);
  compare("y", y_, DType::kInt64);
}

Batch OracleData::batch(Device& device, DType dtype, std::int64_t begin, std::int64_t count) const {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), begin);
  return batch(device, dtype, rows);
}

Batch OracleData::batch(Device& device, DType dtype, std::span<const std::int64_t> rows) const {
  std::vector<double> inputs, targets;
  for (const std::int64_t index : rows) {
    const auto row = static_cast<std::size_t>(index);
    targets.push_back(y_.at(row));
    for (std::size_t i = 0; i < features_; ++i) inputs.push_back(x_.at(row * features_ + i));
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  const Shape shape{count, static_cast<std::int64_t>(features_)};
  return {Tensor::from_host(device, shape, dtype, inputs, MemoryKind::kInputs, "input"),
          Tensor::from_host(device, Shape{count}, DType::kInt64, targets, MemoryKind::kInputs,
                            "targets")};
}

OracleOptimizer::OracleOptimizer(Record& spec) : name(spec.get<std::string>("name")) {
  if (name == "sgd") {
    SgdOptions& sgd = options.sgd;
    sgd.lr = spec.get<double>("lr");  // has no default
    sgd.momentum = spec.get_or("momentum", 0.0);
    sgd.dampening = spec.get_or("dampening", 0.0);
    sgd.weight_decay = spec.get_or("weight_decay", 0.0);
    sgd.nesterov = spec.get_or("nesterov", false);
    sgd.maximize = spec.get_or("maximize", false);
    return;
  }
  AdamOptions& adam = options.adam;
  adam.lr = spec.get_or("lr", 1e-3);
  if (spec.has("betas")) {
    const auto betas = exactly<std::vector<double>>(spec.list("betas", 2));
    adam.beta1 = betas[0];
    adam.beta2 = betas[1];
  }
  adam.epsilon = spec.get_or("eps", 1e-8);
  adam.weight_decay = spec.get_or("weight_decay", name == "adamw" ? 1e-2 : 0.0);
  adam.amsgrad = spec.get_or("amsgrad", false);
  adam.maximize = spec.get_or("maximize", false);
}

std::unique_ptr<Optimizer> OracleOptimizer::operator()(std::vector<NamedTensor> parameters) const {
  return make_optimizer(name, std::move(parameters), options);
}

std::vector<NamedTensor> gradients_of(const Module& module) {
  std::vector<NamedTensor> gradients;
  for (const NamedTensor& entry : module.named_parameters()) {
    gradients.push_back({entry.name, entry.tensor.grad()});
  }
  return gradients;
}

}  // namespace ringside::test
