#include "parallel/ddp_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "parallel/exchange.h"
#include "ringside/error.h"

namespace ringside {
namespace {

/// Each shape as its rank and sizes, padded: what rank 0 tells the others.
std::vector<std::int64_t> describe_shapes(const std::vector<NamedTensor>& parameters) {
  std::vector<std::int64_t> described;
  for (const NamedTensor& entry : parameters) {
    const std::span<const std::int64_t> sizes = entry.tensor.shape().sizes();
    described.push_back(static_cast<std::int64_t>(sizes.size()));
    described.insert(described.end(), sizes.begin(), sizes.end());
    described.resize(described.size() + Shape::kMaxRank - sizes.size(), 0);
  }
  return described;
}

}  // namespace

std::vector<NamedTensor> parameters_to_reduce(const Module& module) {
  std::vector<NamedTensor> parameters = module.named_parameters();
  std::vector<std::string_view> frozen;
  for (const NamedTensor& entry : parameters) {
    if (!entry.tensor.requires_grad()) frozen.push_back(entry.name);
  }
  if (frozen.size() == parameters.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("DistributedDataParallel is not needed when a module doesn't have any "
                            "parameter that requires a gradient: {}",
                            frozen.empty() ? std::string("it has no parameters")
                                           : fmt::format("{} are frozen", fmt::join(frozen, ", "))),
                "leave a parameter to train (--frozen names those that are not), or do not wrap "
                "the module");
  }
  std::erase_if(parameters, [](const NamedTensor& entry) { return !entry.tensor.requires_grad(); });
  return parameters;
}

void check_device_ids(const std::vector<int>& device_ids, const Rank& rank) {
  if (device_ids.size() > 1) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("device_ids can only be None or contain a single element, but got "
                    "[{}] on rank {}",
                    fmt::join(device_ids, ", "), rank.rank),
        "a process of DistributedDataParallel drives one device; DataParallel takes several");
  }
  if (device_ids.empty() || device_ids.front() == rank.device.rank()) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("device_ids [{}] on rank {}: its module is on device {}. Every rank needs "
                  "a device of its own: a fixed number is right on one of them",
                  device_ids.front(), rank.rank, rank.device.rank()),
      "leave device_ids out, or give each rank its local rank");
}

void verify_parameters(Rank& rank, const std::vector<NamedTensor>& parameters) {
  const auto own_count = static_cast<std::int64_t>(parameters.size());
  const std::vector<std::int64_t> counts = value_of_all(rank, own_count);
  for (std::size_t other = 0; other < counts.size(); ++other) {
    if (counts[other] == own_count) continue;
    throw Error(ErrorKind::kCommMismatch,
                fmt::format("DDP expects same model across all ranks, but Rank {} has {} params, "
                            "while rank {} has inconsistent {} params",
                            rank.rank, own_count, other, counts[other]),
                "build the same model on every rank");
  }
  const std::vector<std::int64_t> own = describe_shapes(parameters);
  const std::vector<std::int64_t> root = list_of_root(rank, own);
  constexpr std::size_t kStride = Shape::kMaxRank + 1;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto begin = root.begin() + static_cast<std::ptrdiff_t>(i * kStride);
    if (std::equal(begin, begin + kStride,
                   own.begin() + static_cast<std::ptrdiff_t>(i * kStride))) {
      continue;
    }
    const Shape theirs(
        std::span<const std::int64_t>(&*begin + 1, static_cast<std::size_t>(*begin)));
    throw Error(ErrorKind::kCommMismatch,
                fmt::format("[{}]: params[{}] ({}) in this process with sizes [{}] appears not to "
                            "match sizes of the same param in process 0: [{}]",
                            rank.rank, i, parameters[i].name,
                            fmt::join(parameters[i].tensor.shape().sizes(), ", "),
                            fmt::join(theirs.sizes(), ", ")),
                "build the same model on every rank");
  }
}

}  // namespace ringside
