#include "calculators/model_tensors.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "calculators/known_models.h"
#include "core/whole_number.h"

namespace ringside {
namespace {

/// One part of a name, between its dots. Numbers come before words, and a weight before both.
std::tuple<int, std::uint64_t, std::string_view> rank_of(std::string_view part) {
  if (part == "weight") return {0, 0, part};
  if (const auto number = whole_number<std::uint64_t>(part)) return {1, *number, part};
  return {2, 0, part};
}

bool is_in_front(std::string_view left, std::string_view right) {
  while (!left.empty() && !right.empty()) {
    const std::size_t left_end = std::min(left.find('.'), left.size());
    const std::size_t right_end = std::min(right.find('.'), right.size());
    const auto order = rank_of(left.substr(0, left_end)) <=> rank_of(right.substr(0, right_end));
    if (std::is_neq(order)) return std::is_lt(order);
    left.remove_prefix(std::min(left_end + 1, left.size()));
    right.remove_prefix(std::min(right_end + 1, right.size()));
  }
  return left.size() < right.size();
}

}  // namespace

std::size_t ModelTensor::bytes() const { return elements_of(named) * size_of(dtype); }

std::vector<ModelTensor> model_tensors(std::vector<NamedShape> list, DType dtype) {
  std::vector<ModelTensor> tensors;
  tensors.reserve(list.size());
  for (NamedShape& named : list) tensors.push_back({std::move(named), dtype});
  return tensors;
}

std::size_t elements_of(std::span<const ModelTensor> tensors) {
  std::size_t elements = 0;
  for (const ModelTensor& tensor : tensors) elements += elements_of(tensor.named);
  return elements;
}

std::size_t bytes_of(std::span<const ModelTensor> tensors) {
  std::size_t bytes = 0;
  for (const ModelTensor& tensor : tensors) bytes += tensor.bytes();
  return bytes;
}

bool is_buffer(const ModelTensor& tensor) {
  constexpr std::array<std::string_view, 3> kBuffers{"running_mean", "running_var",
                                                     "num_batches_tracked"};
  const std::string_view name = tensor.named.name;
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return !is_floating(tensor.dtype) ||
         std::find(kBuffers.begin(), kBuffers.end(), last) != kBuffers.end();
}

bool is_sorted_by_name(std::span<const ModelTensor> tensors) {
  std::set<DType> earlier;  // dtypes whose run has ended
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    const ModelTensor& before = tensors[i - 1];
    const ModelTensor& tensor = tensors[i];
    if (before.dtype == tensor.dtype) {
      if (before.named.name > tensor.named.name) return false;
      continue;
    }
    earlier.insert(before.dtype);
    if (size_of(tensor.dtype) > size_of(before.dtype) || earlier.contains(tensor.dtype)) {
      return false;
    }
  }
  return true;
}

void sort_by_layers(std::vector<ModelTensor>& tensors) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto& left, const auto& right) {
    return is_in_front(left.named.name, right.named.name);
  });
}

}  // namespace ringside
