#include "comm/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>

#include "comm/call_signature.h"
#include "ringside/error.h"

namespace ringside {
namespace {

[[noreturn]] void refuse(const CollectiveCall& call, const std::string& why,
                         std::string hint = {}) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: {}", to_string(call), why),
              std::move(hint));
}

// Counts whose bytes over all ranks cannot be counted never become a wrong size.
void check_counts(const CollectiveCall& call, int ranks) {
  const std::size_t limit = std::numeric_limits<std::size_t>::max() / 32;
  const auto check = [&](std::size_t count) {
    if (count > limit / static_cast<std::size_t>(ranks)) {
      refuse(call, "more elements than can be counted");
    }
  };
  check(call.count);
  if (call.counts.empty()) return;
  if (call.operation != Operation::kGather && call.operation != Operation::kScatter) {
    refuse(call, "counts per rank: only gather and scatter take them");
  }
  if (call.counts.size() != static_cast<std::size_t>(ranks)) {
    refuse(call, fmt::format("{} counts for {} ranks: one per rank is needed", call.counts.size(),
                             ranks));
  }
  std::for_each(call.counts.begin(), call.counts.end(), check);
}

void check_partners(const CollectiveCall& call, int ranks) {
  const auto check = [&](std::string_view what, int rank) {
    if (rank < 0 || rank >= ranks) {
      refuse(call, fmt::format("{} {}: must be in [0, {}]", what, rank, ranks - 1));
    }
  };
  if (has_root(call.operation)) check("root", call.root);
  if (is_pair(call.operation)) check("peer", call.peer);
}

void check_algorithm(const CollectiveCall& call) {
  if (call.algorithm == Algorithm::kAutomatic) return;
  const std::span<const Algorithm> known = algorithms_for(call.operation);
  if (std::find(known.begin(), known.end(), call.algorithm) != known.end()) return;
  std::vector<std::string_view> names;
  names.reserve(known.size());
  for (const Algorithm algorithm : known) names.push_back(to_string(algorithm));
  refuse(call, fmt::format("algorithm {}: must be one of {}", to_string(call.algorithm),
                           fmt::join(names, ", ")));
}

void check_array(const CollectiveCall& call, std::string_view what, const DeviceArray& array,
                 std::size_t needed) {
  if (needed == 0) return;
  if (array.empty()) {
    refuse(call, fmt::format("{} is empty: this rank needs {} elements", what, needed));
  }
  if (array.dtype != call.dtype) {
    refuse(call, fmt::format("{} is {}, the call is {}", what, to_string(array.dtype),
                             to_string(call.dtype)));
  }
  if (array.count() < needed) {
    refuse(call, fmt::format("{} has {} elements: this rank needs {}", what, array.count(), needed),
           "all-gather, reduce-scatter, gather and scatter count the elements per rank");
  }
}

std::size_t block_begin(const CollectiveCall& call, int rank) {
  const auto index = static_cast<std::size_t>(rank);
  if (call.counts.empty()) return index * call.count;
  return std::accumulate(call.counts.begin(), call.counts.begin() + rank, std::size_t{0});
}

// NCCL's places: the buffers begin at the same address, or the smaller one is the rank's own block
// of the larger one. [usage/inplace.rst]
bool in_place(const CollectiveCall& call, int rank) {
  const std::size_t own_block = block_begin(call, rank) * size_of(call.dtype);
  std::size_t send = call.send.offset;
  std::size_t recv = call.recv.offset;
  if (call.operation == Operation::kAllGather || call.operation == Operation::kGather) {
    recv += own_block;
  }
  if (call.operation == Operation::kReduceScatter || call.operation == Operation::kScatter) {
    send += own_block;
  }
  return send == recv;
}

void check_overlap(const CollectiveCall& call, int rank, const BufferSizes& sizes) {
  if (sizes.send == 0 || sizes.recv == 0 || call.send.storage != call.recv.storage) return;
  const std::size_t send_end = call.send.offset + sizes.send * size_of(call.dtype);
  const std::size_t recv_end = call.recv.offset + sizes.recv * size_of(call.dtype);
  const bool overlap = call.send.offset < recv_end && call.recv.offset < send_end;
  if (!overlap || in_place(call, rank)) return;
  refuse(
      call,
      fmt::format("send (bytes {} to {}) and recv (bytes {} to {}) overlap without being in place",
                  call.send.offset, send_end, call.recv.offset, recv_end),
      "docs/communication.md says for each operation where in-place buffers lie");
}

}  // namespace

BufferSizes buffer_sizes(const CollectiveCall& call, int rank, int ranks) {
  const bool is_root = rank == call.root;
  const std::size_t own =
      call.counts.empty() ? call.count : call.counts[static_cast<std::size_t>(rank)];
  const std::size_t all = block_begin(call, ranks);
  switch (call.operation) {
    case Operation::kBroadcast:
      return {is_root ? call.count : 0, call.count};
    case Operation::kReduce:
      return {call.count, is_root ? call.count : 0};
    case Operation::kAllReduce:
      return {call.count, call.count};
    case Operation::kAllGather:
      return {call.count, all};
    case Operation::kReduceScatter:
      return {all, call.count};
    case Operation::kGather:
      return {own, is_root ? all : 0};
    case Operation::kScatter:
      return {is_root ? all : 0, own};
    case Operation::kSend:
      return {call.count, 0};
    case Operation::kRecv:
      return {0, call.count};
    case Operation::kBarrier:
      break;
  }
  return {};
}

CollectiveCall validated(CollectiveCall call, const Communicator& communicator,
                         const Device& device, Stream& stream) {
  const int rank = communicator.rank();
  const int ranks = communicator.size();
  check_counts(call, ranks);
  check_partners(call, ranks);
  check_algorithm(call);
  if (&stream.device() != &device) {
    refuse(call, fmt::format("the stream belongs to device {}, the communicator to {}",
                             stream.device().name(), device.name()));
  }
  const BufferSizes sizes = buffer_sizes(call, rank, ranks);
  check_array(call, "send", call.send, sizes.send);
  check_array(call, "recv", call.recv, sizes.recv);
  check_overlap(call, rank, sizes);
  if (sizes.send == 0) call.send = {};
  if (sizes.recv == 0) call.recv = {};
  return call;
}

}  // namespace ringside
