#include "comm/validate.h"

#include <fmt/format.h>

#include <numeric>
#include <string_view>

#include "comm/call_signature.h"
#include "ringside/error.h"
#include "schedule/request.h"

namespace ringside {
namespace {

[[noreturn]] void refuse(const CollectiveCall& call, const std::string& why,
                         std::string hint = {}) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: {}", to_string(call), why),
              std::move(hint));
}

// The rules that a schedule has, too. A pair is told by the caller's peer.
void check_request(const CollectiveCall& call, int ranks) {
  ScheduleRequest request;
  request.operation = call.operation;
  request.algorithm = call.algorithm;
  request.ranks = ranks;
  request.count = call.count;
  request.counts = call.counts;
  request.dtype = call.dtype;
  request.root = is_pair(call.operation) ? 0 : call.root;
  request.peer = call.peer;
  const std::string fault = schedule::fault_in(request);
  if (!fault.empty()) refuse(call, fault);
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
  if (call.operation == Operation::kAllToAll) return false;
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
      return {own, all};
    case Operation::kReduceScatter:
      return {all, call.count};
    case Operation::kAllToAll:
      return {all, all};
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
  check_request(call, ranks);
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
