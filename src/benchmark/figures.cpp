#include "benchmark/figures.h"

#include <fmt/format.h>

#include <limits>

#include "ringside/error.h"

namespace ringside::benchmark {
namespace {

constexpr std::size_t kBlockAlignment = 16;  // bytes

void check(const SizeRange& range) {
  const auto refuse = [](const std::string& message, std::string hint = {}) {
    throw Error(ErrorKind::kInvalidArgument, message, std::move(hint));
  };
  if (range.begin == 0) refuse("begin 0: must be at least 1");
  if (range.end > kMaxBytes) {
    refuse(fmt::format("end {}: must be at most {}", range.end, kMaxBytes));
  }
  if (range.end < range.begin) {
    refuse(fmt::format("begin {}: must be at most the end, {}", range.begin, range.end),
           "lower --begin or raise --end");
  }
  if (range.step == 0 && range.factor < 2) {
    refuse(fmt::format("factor {}: must be at least 2", range.factor),
           "sizes that grow by the same number of bytes are --step");
  }
  if (range.step > 0 && (range.end - range.begin) / range.step >= kMaxSizes) {
    refuse(
        fmt::format("step {}: {} to {} bytes would be {} sizes, more than {}", range.step,
                    range.begin, range.end, (range.end - range.begin) / range.step + 1, kMaxSizes),
        "take larger steps, or --factor");
  }
}

}  // namespace

std::vector<std::size_t> sizes_of(const SizeRange& range) {
  check(range);
  std::vector<std::size_t> sizes;
  std::size_t size = range.begin;
  for (;;) {
    sizes.push_back(size);
    if (range.step > 0) {
      if (range.end - size < range.step) return sizes;
      size += range.step;
    } else {
      if (size > range.end / range.factor) return sizes;
      size *= range.factor;
    }
  }
}

Extent extent_of(Operation operation, DType dtype, int ranks, std::size_t bytes) {
  const std::size_t size = size_of(dtype);
  const std::size_t elements = bytes / size;
  if (!has_blocks(operation)) return {elements, elements * size};
  const auto blocks = static_cast<std::size_t>(ranks);
  const std::size_t alignment = kBlockAlignment / size;
  const std::size_t count = elements / blocks / alignment * alignment;
  return {count, count * blocks * size};
}

double bus_factor(Operation operation, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (operation) {
    case Operation::kAllReduce:
      return 2 * others;
    case Operation::kAllGather:
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
    case Operation::kGather:
    case Operation::kScatter:
      return others;
    case Operation::kBroadcast:
    case Operation::kReduce:
    case Operation::kSend:
    case Operation::kRecv:
      return 1;
    case Operation::kBarrier:
      break;
  }
  return 0;
}

}  // namespace ringside::benchmark
