#include "parallel/driven_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "parallel/chunks.h"
#include "ringside/error.h"

namespace ringside {
namespace {

std::string sizes_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.sizes(), ", "));
}

/// "dimension 1 differs: 1 on device 1, 2 on device 0".
std::string first_difference(const Tensor& part, const Tensor& first, int dim) {
  const std::span<const std::int64_t> own = part.shape().sizes();
  const std::span<const std::int64_t> expected = first.shape().sizes();
  for (std::size_t i = 0; i < std::min(own.size(), expected.size()); ++i) {
    if (static_cast<int>(i) == dim || own[i] == expected[i]) continue;
    return fmt::format("dimension {} differs: {} on device {}, {} on device {}", i, own[i],
                       part.device().rank(), expected[i], first.device().rank());
  }
  return fmt::format("{} dimensions on device {}, {} on device {}", own.size(),
                     part.device().rank(), expected.size(), first.device().rank());
}

/// [torch/csrc/cuda/comm.cpp, gather]
Shape joined_shape(const std::vector<Tensor>& parts, int dim, std::int64_t size) {
  const Tensor& first = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Shape& shape = parts[i].shape();
    const bool fits = shape.rank() == first.shape().rank() &&
                      shape.with(dim, size) == first.shape().with(dim, size);
    if (fits) continue;
    throw Error(
        ErrorKind::kTrainingFailed,
        fmt::format("gather: Input tensor at index {} has invalid shape {}, but expected {}: "
                    "{}",
                    i, sizes_text(shape), sizes_text(first.shape()),
                    first_difference(parts[i], first, dim)),
        fmt::format("outputs are joined along dimension {}: put the batch there, or drop "
                    "the last short batch",
                    dim));
  }
  return first.shape().with(dim, size);
}

/// What a member passes that has no part; the dtype is the call's all the same.
DeviceArray nothing(DType dtype) { return {nullptr, 0, dtype, Shape{0}}; }

}  // namespace

DrivenGroup::DrivenGroup(World& world, std::vector<int> world_ranks)
    : world_ranks_(std::move(world_ranks)) {
  std::vector<int> colors(static_cast<std::size_t>(world.size()), -1);
  std::vector<int> keys(colors.size(), 0);
  for (std::size_t member = 0; member < world_ranks_.size(); ++member) {
    const auto rank = static_cast<std::size_t>(world_ranks_[member]);
    colors[rank] = 0;
    keys[rank] = static_cast<int>(member);
  }
  std::vector<std::unique_ptr<Communicator>> by_rank = split_all(world, colors, keys);
  for (const int rank : world_ranks_) {
    devices_.push_back(&world.device(rank));
    communicators_.push_back(std::move(by_rank[static_cast<std::size_t>(rank)]));
    borrowed_.push_back(communicators_.back().get());
  }
}

int DrivenGroup::member_of(int rank) const {
  const auto found = std::find(world_ranks_.begin(), world_ranks_.end(), rank);
  return found == world_ranks_.end() ? -1 : static_cast<int>(found - world_ranks_.begin());
}

void DrivenGroup::collective(const MemberCall& call) {
  std::vector<Work> works;
  GroupScope group(borrowed_);
  for (int member = 0; member < size(); ++member) {
    Device& member_device = device(member);
    Stream& stream = member_device.stream(StreamKind::kCommunication);
    stream.wait(member_device.compute().record());
    works.push_back(call(member, *borrowed_[static_cast<std::size_t>(member)], stream));
  }
  group.end();
  for (int member = 0; member < size(); ++member) {
    works[static_cast<std::size_t>(member)].wait(device(member).compute());
  }
}

std::vector<std::size_t> DrivenGroup::counts_for_all(std::vector<std::size_t> counts) const {
  counts.resize(static_cast<std::size_t>(size()), 0);
  return counts;
}

std::vector<Tensor> DrivenGroup::scatter(const Tensor& whole, int dim,
                                         const std::vector<std::int64_t>& sizes, int root,
                                         MemoryKind kind, const std::string& name) {
  const Tensor packed = pack_chunks(whole, dim, sizes, kind);
  const std::vector<std::size_t> part_counts = chunk_counts(whole.shape(), dim, sizes);
  const std::vector<std::size_t> counts = counts_for_all(part_counts);
  std::vector<Tensor> parts;
  std::size_t offset = packed.array().offset;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Shape shape = whole.shape().with(dim, sizes[i]);
    const bool own = static_cast<int>(i) == root;
    parts.push_back(
        own ? Tensor::view(packed.device(), packed.buffer(), offset, shape, whole.dtype(), name)
            : Tensor::empty(device(static_cast<int>(i)), shape, whole.dtype(), kind, name));
    offset += part_counts[i] * size_of(whole.dtype());
  }
  collective([&](int member, Communicator& communicator, Stream& stream) {
    const auto index = static_cast<std::size_t>(member);
    const DeviceArray send = member == root ? packed.array() : nothing(whole.dtype());
    const DeviceArray recv = index < parts.size() ? parts[index].array() : nothing(whole.dtype());
    return communicator.scatter(send, recv, counts, root, stream);
  });
  return parts;
}

Tensor DrivenGroup::gather(const std::vector<Tensor>& parts, int dim, int root, MemoryKind kind,
                           const std::string& name) {
  std::vector<std::int64_t> sizes;
  std::int64_t total = 0;
  for (const Tensor& part : parts) {
    const bool has_dimension = dim < static_cast<int>(part.shape().rank());
    sizes.push_back(has_dimension ? part.shape()[dim] : 1);
    total += sizes.back();
  }
  const Shape shape = joined_shape(parts, dim, total);
  const std::vector<std::size_t> counts = counts_for_all(chunk_counts(shape, dim, sizes));
  const Tensor packed =
      Tensor::empty(device(root), Shape{shape.numel()}, parts.front().dtype(), kind, name);
  collective([&](int member, Communicator& communicator, Stream& stream) {
    const auto index = static_cast<std::size_t>(member);
    const DeviceArray send = index < parts.size() ? parts[index].array() : nothing(packed.dtype());
    const DeviceArray recv = member == root ? packed.array() : nothing(packed.dtype());
    return communicator.gather(send, recv, counts, root, stream);
  });
  return unpack_chunks(packed, shape, dim, sizes, kind, name);
}

}  // namespace ringside
