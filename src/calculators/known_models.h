// The parameters of well-known models, in the order in which their usual PyTorch implementations
// (torchvision, Hugging Face) register them: names and shapes, nothing else.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/state_keys.h"

namespace ringside {

/// "resnet18", "resnet50", "vgg16", "bert-base", "gpt2-small", "gpt2-xl".
std::span<const std::string_view> known_models();

/// Whether it is one of them, or begins as the name of a perceptron does: "mlp:".
bool is_model_name(std::string_view name);

/// The parameters of such a model; also of "mlp:64,32,10" (linear layers with a bias, ReLU between
/// them). Throws Error(kInvalidArgument) that lists the names, with the nearest as hint, or names
/// the size that cannot be, with the limit.
std::vector<NamedShape> known_model(std::string_view name);

/// Elements of a tensor, and of all.
std::size_t elements_of(const NamedShape& parameter);
std::size_t elements_of(std::span<const NamedShape> parameters);

}  // namespace ringside
