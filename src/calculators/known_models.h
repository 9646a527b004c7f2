// The parameters of well-known models, in the order in which their usual PyTorch implementations
// (torchvision, Hugging Face) register them, and of the models that runs train: names and shapes,
// nothing else.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/state_keys.h"

namespace ringside {

/// "resnet18", "resnet50", "vgg16", "bert-base", "gpt2-small", "gpt2-xl".
std::span<const std::string_view> known_models();

/// Whether it is one of them, or the name of a model that runs train: "mlp:64,32,10", "lenet", ...
bool is_model_name(std::string_view name);

/// The parameters of such a model. Those that runs train are make_model's (nn.h): "mlp:64,32,10"
/// and its variants, and of 8x8 images and 10 classes, which are the digits', "lenet", "cnn:...",
/// "resnet:...". Throws Error(kInvalidArgument) that lists the names, with the nearest as hint, or
/// names the size that cannot be, with the limit; and for "gpt", which depends on its text.
std::vector<NamedShape> known_model(std::string_view name);

/// Elements of a tensor, and of all.
std::size_t elements_of(const NamedShape& parameter);
std::size_t elements_of(std::span<const NamedShape> parameters);

}  // namespace ringside
