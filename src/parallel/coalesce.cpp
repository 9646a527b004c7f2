#include "parallel/coalesce.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "ringside/error.h"

namespace ringside {
namespace {

/// Of all of them: views into one buffer have its dtype.
DType dtype_of(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) return DType::kFloat32;
  const Tensor& first = tensors.front();
  for (const Tensor& tensor : tensors) {
    if (tensor.dtype() == first.dtype()) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("'{}' is {} and '{}' is {}: a flat buffer has one dtype", first.name(),
                            to_string(first.dtype()), tensor.name(), to_string(tensor.dtype())),
                "one buffer for the tensors of each dtype");
  }
  return first.dtype();
}

}  // namespace

std::vector<std::vector<std::size_t>> coalesce(const std::vector<Tensor>& tensors,
                                               std::size_t limit) {
  struct Open {
    std::vector<std::size_t> indices;
    std::size_t bytes = 0;
  };
  std::vector<std::vector<std::size_t>> pieces;
  std::map<DType, Open> open;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Open& piece = open[tensors[i].dtype()];
    if (!piece.indices.empty() && piece.bytes + tensors[i].bytes() > limit) {
      pieces.push_back(std::move(piece.indices));
      piece = {};
    }
    piece.indices.push_back(i);
    piece.bytes += tensors[i].bytes();
  }
  for (auto& [dtype, piece] : open) {
    if (!piece.indices.empty()) pieces.push_back(std::move(piece.indices));
  }
  return pieces;
}

FlatBuffer::FlatBuffer(Device& device, const std::vector<Tensor>& models, MemoryKind kind,
                       std::string_view name) {
  std::int64_t elements = 0;
  for (const Tensor& model : models) elements += model.numel();
  const DType dtype = dtype_of(models);
  flat = Tensor::empty(device, Shape{elements}, dtype, kind, name);
  std::size_t offset = 0;
  for (const Tensor& model : models) {
    views.push_back(
        Tensor::view(device, flat.buffer(), offset, model.shape(), dtype, model.name()));
    offset += model.bytes();
  }
}

void FlatBuffer::copy_in(const std::vector<Tensor>& tensors) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (tensors[i].defined()) {
      copy_in_place(views[i], tensors[i]);
    } else {
      fill_in_place(views[i], 0);
    }
  }
}

void FlatBuffer::copy_out(std::vector<Tensor>& tensors) const {
  for (std::size_t i = 0; i < views.size(); ++i) copy_in_place(tensors[i], views[i]);
}

}  // namespace ringside
