#include "parallel/exchange.h"

#include <utility>

#include "parallel/coalesce.h"
#include "parallel/in_place_call.h"

namespace ringside {
namespace {

Tensor list_on_device(Rank& rank, const std::vector<double>& values, DType dtype) {
  return Tensor::from_host(rank.device, Shape{static_cast<std::int64_t>(values.size())}, dtype,
                           values, MemoryKind::kWorkspace, "list");
}

std::vector<std::int64_t> as_integers(const std::vector<double>& values) {
  std::vector<std::int64_t> integers;
  integers.reserve(values.size());
  for (const double value : values) integers.push_back(static_cast<std::int64_t>(value));
  return integers;
}

}  // namespace

Work enqueue_collective(const Rank& rank, CollectiveCall call) {
  Stream& stream = rank.device.stream(StreamKind::kCommunication);
  stream.wait(rank.device.compute().record());
  return rank.communicator.call(std::move(call), stream);
}

void broadcast_from(int root, Rank& rank, const std::vector<Tensor>& tensors, std::size_t limit) {
  for (const std::vector<std::size_t>& piece : coalesce(tensors, limit)) {
    std::vector<Tensor> selected;
    for (const std::size_t index : piece) selected.push_back(tensors[index]);
    FlatBuffer flat(rank.device, selected, MemoryKind::kWorkspace, "broadcast");
    flat.copy_in(selected);
    CollectiveCall call = in_place_call(Operation::kBroadcast, flat.flat);
    call.root = root;
    enqueue_collective(rank, std::move(call)).wait(rank.device.compute());
    if (rank.rank != root) flat.copy_out(selected);
  }
}

std::shared_ptr<const RankExchange> exchange_between_ranks(const Rank& rank) {
  RankExchange exchange;
  exchange.ranks = rank.communicator.size();
  exchange.gather = [rank](const Tensor& own) {
    Tensor all = Tensor::empty(rank.device, Shape{rank.communicator.size(), own.numel()},
                               own.dtype(), MemoryKind::kActivations, own.name());
    CollectiveCall call = in_place_call(Operation::kAllGather, own);
    call.recv = all.array();
    enqueue_collective(rank, std::move(call)).wait(rank.device.compute());
    return all;
  };
  exchange.sum = [rank](const Tensor& values) {
    enqueue_collective(rank, in_place_call(Operation::kAllReduce, values))
        .wait(rank.device.compute());
  };
  return std::make_shared<const RankExchange>(std::move(exchange));
}

std::vector<std::int64_t> list_of_root(Rank& rank, const std::vector<std::int64_t>& own) {
  const Tensor list = list_on_device(rank, {own.begin(), own.end()}, DType::kInt64);
  enqueue_collective(rank, in_place_call(Operation::kBroadcast, list)).wait(rank.device.compute());
  const std::vector<std::int64_t> of_root = as_integers(host_values(list));
  return rank.device.executes() ? of_root : own;
}

std::vector<std::int64_t> value_of_all(Rank& rank, std::int64_t value) {
  const auto ranks = rank.communicator.size();
  const Tensor own = list_on_device(rank, {static_cast<double>(value)}, DType::kInt64);
  const Tensor all =
      Tensor::empty(rank.device, Shape{ranks}, DType::kInt64, MemoryKind::kWorkspace, "list");
  CollectiveCall call;
  call.operation = Operation::kAllGather;
  call.count = 1;
  call.dtype = DType::kInt64;
  call.send = own.array();
  call.recv = all.array();
  enqueue_collective(rank, std::move(call)).wait(rank.device.compute());
  return as_integers(host_values(all, static_cast<double>(value)));
}

std::int64_t largest_of_all(Rank& rank, std::int64_t value) {
  const Tensor largest = list_on_device(rank, {static_cast<double>(value)}, DType::kInt64);
  CollectiveCall call = in_place_call(Operation::kAllReduce, largest);
  call.op = ReduceOp::kMax;
  enqueue_collective(rank, std::move(call)).wait(rank.device.compute());
  return static_cast<std::int64_t>(host_value(largest, static_cast<double>(value)));
}

std::vector<double> sum_of_all(Rank& rank, const std::vector<double>& own) {
  const Tensor sums = list_on_device(rank, own, DType::kFloat64);
  enqueue_collective(rank, in_place_call(Operation::kAllReduce, sums)).wait(rank.device.compute());
  return host_values(sums);
}

}  // namespace ringside
