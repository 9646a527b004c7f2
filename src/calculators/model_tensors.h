// The tensors of a model as a file lists them: which of them are parameters, and in which order the
// model has them, neither of which a state_dict says.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/state_keys.h"
#include "ringside/dtype.h"

namespace ringside {

struct ModelTensor {
  NamedShape named;
  DType dtype = DType::kFloat32;

  std::size_t bytes() const;
};

/// The same, each of `dtype`.
std::vector<ModelTensor> model_tensors(std::vector<NamedShape> list, DType dtype = DType::kFloat32);

/// Elements and bytes of all.
std::size_t elements_of(std::span<const ModelTensor> tensors);
std::size_t bytes_of(std::span<const ModelTensor> tensors);

/// By its name (BatchNorm's running_mean, running_var, num_batches_tracked), or since nothing of
/// its dtype has a gradient.
bool is_buffer(const ModelTensor& tensor);

/// Whether they lie as the safetensors library writes them: by dtype, the wider ones first, and
/// then by name [safetensors/src/tensor.rs, prepare]; it keeps nothing of the order they were given
/// in.
bool is_sorted_by_name(std::span<const ModelTensor> tensors);

/// By their names part by part, numbers by value ("2" before "10"), a weight before its bias: the
/// order of registration of a Sequential, and a guess for others.
void sort_by_layers(std::vector<ModelTensor>& tensors);

}  // namespace ringside
