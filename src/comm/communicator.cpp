// The part of comm.h that is the same on every backend: each operation as data, checked.
#include <utility>

#include "comm/validate.h"
#include "ringside/comm.h"

namespace ringside {
namespace {

// The dtype of a call is that of the buffer the rank must have; validated() compares the others.
CollectiveCall make_call(Operation operation, const DeviceArray& send, const DeviceArray& recv,
                         std::size_t count) {
  CollectiveCall call;
  call.operation = operation;
  call.count = count;
  call.dtype = recv.empty() ? send.dtype : recv.dtype;
  call.send = send;
  call.recv = recv;
  return call;
}

}  // namespace

Work Communicator::call(CollectiveCall call, Stream& stream) {
  return submit(validated(std::move(call), *this, device(), stream), stream);
}

Work Communicator::broadcast(const DeviceArray& send, const DeviceArray& recv, std::size_t count,
                             int root, Stream& stream) {
  CollectiveCall call = make_call(Operation::kBroadcast, send, recv, count);
  call.root = root;
  return this->call(std::move(call), stream);
}

Work Communicator::reduce(const DeviceArray& send, const DeviceArray& recv, std::size_t count,
                          ReduceOp op, int root, Stream& stream) {
  CollectiveCall call = make_call(Operation::kReduce, send, recv, count);
  call.dtype = send.dtype;
  call.op = op;
  call.root = root;
  return this->call(std::move(call), stream);
}

Work Communicator::all_reduce(const DeviceArray& send, const DeviceArray& recv, std::size_t count,
                              ReduceOp op, Stream& stream) {
  CollectiveCall call = make_call(Operation::kAllReduce, send, recv, count);
  call.op = op;
  return this->call(std::move(call), stream);
}

Work Communicator::all_gather(const DeviceArray& send, const DeviceArray& recv, std::size_t count,
                              Stream& stream) {
  return call(make_call(Operation::kAllGather, send, recv, count), stream);
}

Work Communicator::all_gather(const DeviceArray& send, const DeviceArray& recv,
                              std::span<const std::size_t> counts, Stream& stream) {
  CollectiveCall call = make_call(Operation::kAllGather, send, recv, 0);
  call.counts.assign(counts.begin(), counts.end());
  return this->call(std::move(call), stream);
}

Work Communicator::all_to_all(const DeviceArray& send, const DeviceArray& recv, std::size_t count,
                              Stream& stream) {
  return call(make_call(Operation::kAllToAll, send, recv, count), stream);
}

Work Communicator::reduce_scatter(const DeviceArray& send, const DeviceArray& recv,
                                  std::size_t count, ReduceOp op, Stream& stream) {
  CollectiveCall call = make_call(Operation::kReduceScatter, send, recv, count);
  call.op = op;
  return this->call(std::move(call), stream);
}

Work Communicator::scatter(const DeviceArray& send, const DeviceArray& recv, std::size_t count,
                           int root, Stream& stream) {
  CollectiveCall call = make_call(Operation::kScatter, send, recv, count);
  call.root = root;
  return this->call(std::move(call), stream);
}

Work Communicator::gather(const DeviceArray& send, const DeviceArray& recv, std::size_t count,
                          int root, Stream& stream) {
  CollectiveCall call = make_call(Operation::kGather, send, recv, count);
  call.root = root;
  return this->call(std::move(call), stream);
}

Work Communicator::scatter(const DeviceArray& send, const DeviceArray& recv,
                           std::span<const std::size_t> counts, int root, Stream& stream) {
  CollectiveCall call = make_call(Operation::kScatter, send, recv, 0);
  call.counts.assign(counts.begin(), counts.end());
  call.root = root;
  return this->call(std::move(call), stream);
}

Work Communicator::gather(const DeviceArray& send, const DeviceArray& recv,
                          std::span<const std::size_t> counts, int root, Stream& stream) {
  CollectiveCall call = make_call(Operation::kGather, send, recv, 0);
  call.counts.assign(counts.begin(), counts.end());
  call.root = root;
  return this->call(std::move(call), stream);
}

Work Communicator::send(const DeviceArray& data, std::size_t count, int peer, Stream& stream) {
  CollectiveCall call = make_call(Operation::kSend, data, {}, count);
  call.peer = peer;
  return this->call(std::move(call), stream);
}

Work Communicator::recv(const DeviceArray& data, std::size_t count, int peer, Stream& stream) {
  CollectiveCall call = make_call(Operation::kRecv, {}, data, count);
  call.dtype = data.dtype;
  call.peer = peer;
  return this->call(std::move(call), stream);
}

Work Communicator::barrier(Stream& stream) {
  return call(make_call(Operation::kBarrier, {}, {}, 0), stream);
}

}  // namespace ringside
