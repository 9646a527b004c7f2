#include "data/staging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "ringside/error.h"

namespace ringside {

std::shared_ptr<Staging> StagingPool::take() {
  std::unique_ptr<Staging> buffer;
  {
    const std::lock_guard lock(free_->mutex);
    if (!free_->buffers.empty()) {
      buffer = std::move(free_->buffers.back());
      free_->buffers.pop_back();
    } else {
      ++free_->made;
      free_->buffers.reserve(free_->made);  // giving back then never allocates
    }
  }
  if (!buffer) buffer = std::make_unique<Staging>();
  return {buffer.release(), [free = free_](Staging* used) {
            std::unique_ptr<Staging> back(used);
            const std::lock_guard lock(free->mutex);
            free->buffers.push_back(std::move(back));
          }};
}

std::size_t StagingPool::made() const {
  const std::lock_guard lock(free_->mutex);
  return free_->made;
}

namespace {

void check_index(const Dataset& dataset, std::int64_t index) {
  if (index >= 0 && index < dataset.size()) return;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("loader: sample {} of {}, which has {}",
                                                       index, dataset.name, dataset.size()));
}

void read_samples(const Dataset& dataset, std::span<const std::int64_t> indices, DType dtype,
                  Staging& out) {
  const auto row = static_cast<std::size_t>(dataset.sample_shape.numel());
  out.inputs.resize(indices.size() * row * size_of(dtype));
  out.targets.resize(indices.size());
  const float* samples = dataset.samples.data();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    check_index(dataset, indices[i]);
    const auto index = static_cast<std::size_t>(indices[i]);
    out.targets[i] = dataset.targets[index];
    std::byte* place = out.inputs.data() + i * row * size_of(dtype);
    const float* sample = samples + index * row;
    if (dtype == DType::kFloat32) {
      if (row > 0) std::memcpy(place, sample, row * sizeof(float));
    } else {
      std::copy_n(sample, row, reinterpret_cast<double*>(place));
    }
  }
}

void read_text(const Dataset& dataset, std::span<const std::int64_t> indices, Staging& out) {
  const auto tokens = static_cast<std::size_t>(dataset.sample_shape[0]);
  out.inputs.resize(indices.size() * tokens * sizeof(std::int64_t));
  out.targets.resize(indices.size() * tokens);
  auto* input = reinterpret_cast<std::int64_t*>(out.inputs.data());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    check_index(dataset, indices[i]);
    const unsigned char* text = &dataset.text[static_cast<std::size_t>(indices[i]) * tokens];
    std::copy_n(text, tokens, input + i * tokens);
    std::copy_n(text + 1, tokens, &out.targets[i * tokens]);
  }
}

}  // namespace

void read_batch(const Dataset& dataset, std::span<const std::int64_t> indices, DType dtype,
                Staging& out) {
  out.rows = static_cast<std::int64_t>(indices.size());
  if (dataset.is_text()) {
    read_text(dataset, indices, out);
  } else {
    read_samples(dataset, indices, dtype, out);
  }
}

}  // namespace ringside
