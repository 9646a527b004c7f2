// Builds traces by hand, in program order, as a recorder would: streams in order, waits as ops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ringside/trace.h"
#include "trace/order.h"

namespace ringside::test {

class TraceBuilder {
 public:
  explicit TraceBuilder(TraceRun run) { trace_.run = std::move(run); }
  explicit TraceBuilder(int devices) { trace_.run.devices = devices; }

  /// What is stamped on the ops that follow.
  TraceBuilder& at(int step, Phase phase, std::string host_thread = "main", int bucket = -1) {
    step_ = step;
    phase_ = phase;
    host_thread_ = std::move(host_thread);
    bucket_ = bucket;
    return *this;
  }

  /// A tensor without values; read, or written by a rank that keeps none.
  static TraceTensor tensor(std::string name, const Shape& shape, DType dtype = DType::kFloat32) {
    TraceTensor result;
    result.name = std::move(name);
    result.dtype = dtype;
    result.shape = shape;
    return result;
  }

  /// A tensor with values up to 16 elements, else with norm and checksum; made-up, but always the
  /// same for the same name.
  static TraceTensor written(std::string name, const Shape& shape, DType dtype = DType::kFloat32) {
    TraceTensor result = tensor(std::move(name), shape, dtype);
    std::uint64_t hash = 14695981039346656037u;
    for (const char c : result.name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    if (shape.numel() <= 16) {
      for (std::int64_t i = 0; i < shape.numel(); ++i) {
        const auto step = static_cast<std::int64_t>((hash >> (i % 8 * 8)) & 0xff) - 128;
        result.values.push_back(is_floating(dtype) ? static_cast<double>(step) / 64
                                                   : static_cast<double>(step & 7));
      }
    } else {
      result.norm = std::sqrt(static_cast<double>(shape.numel())) / 3;
      result.checksum = hash;
    }
    return result;
  }

  OpId compute(int rank, std::string name, std::string label, double flops,
               std::vector<TraceTensor> reads, std::vector<TraceTensor> writes) {
    TraceOp op = begin(OpKind::kCompute, rank, std::move(name));
    op.stream = StreamKind::kCompute;
    op.label = std::move(label);
    op.flops = flops;
    op.reads = std::move(reads);
    op.writes = std::move(writes);
    return add(std::move(op));
  }

  OpId copy_from_host(int rank, const TraceTensor& target) {
    TraceOp op = begin(OpKind::kCopy, rank, "copy-host-to-device");
    op.stream = StreamKind::kCopy;
    op.bytes = static_cast<std::size_t>(target.shape.numel()) * size_of(target.dtype);
    op.writes = {target};
    return add(std::move(op));
  }

  OpId host(int rank, std::string name) { return add(begin(OpKind::kHost, rank, std::move(name))); }

  /// `stream` of `rank` waits for `awaited`.
  OpId wait(int rank, StreamKind stream, OpId awaited) {
    TraceOp op = begin(OpKind::kWait, rank, "wait-event");
    op.stream = stream;
    op.dependencies = {awaited};
    return add(std::move(op));
  }

  /// The last op of a stream; waits for it are what events are for.
  OpId last(int rank, StreamKind stream) const { return last_of_stream_.at({rank, stream}); }

  /// One rank's part of a collective on its communication stream. `participants`: the world ranks
  /// of the communicator, all of the request's unless told.
  OpId collective(int rank, const ScheduleRequest& request, ReduceOp reduce_op,
                  std::int64_t sequence, std::vector<TraceTensor> reads,
                  std::vector<TraceTensor> writes, std::string label = {},
                  std::vector<int> participants = {}) {
    TraceOp op = begin(OpKind::kCollective, rank, std::string(to_string(request.operation)));
    op.stream = StreamKind::kCommunication;
    op.label = std::move(label);
    const std::size_t blocks =
        has_blocks(request.operation) ? static_cast<std::size_t>(request.ranks) : 1;
    op.bytes = request.count * blocks * size_of(request.dtype);
    op.reads = std::move(reads);
    op.writes = std::move(writes);
    TraceCollective collective;
    collective.request = request;
    collective.op = reduce_op;
    collective.sequence = sequence;
    collective.world_ranks = std::move(participants);
    if (collective.world_ranks.empty()) {
      for (int r = 0; r < request.ranks; ++r) collective.world_ranks.push_back(r);
    }
    const auto& group = collective.world_ranks;
    collective.rank = static_cast<int>(std::find(group.begin(), group.end(), rank) - group.begin());
    op.collective = std::move(collective);
    return add(std::move(op));
  }

  void memory(int rank, MemoryKind kind, std::size_t used, std::size_t peak) {
    TraceMemory entry;
    entry.step = step_;
    entry.phase = phase_;
    entry.rank = rank;
    const auto index = static_cast<std::size_t>(kind);
    entry.account.used = used;
    entry.account.peak = peak;
    entry.account.used_by_kind[index] = used;
    entry.account.peak_by_kind[index] = peak;
    entry.account.at_peak[index] = peak;
    trace_.memory.push_back(entry);
  }

  Trace finish() {
    trace_.ops = in_trace_order(std::move(trace_.ops));
    return std::move(trace_);
  }

 private:
  TraceOp begin(OpKind kind, int rank, std::string name) const {
    TraceOp op;
    op.kind = kind;
    op.name = std::move(name);
    op.rank = rank;
    op.step = step_;
    op.phase = phase_;
    op.host_thread = host_thread_;
    op.bucket = bucket_;
    return op;
  }

  OpId add(TraceOp op) {
    op.id = static_cast<OpId>(trace_.ops.size());
    if (op.stream) {
      const auto [previous, first] = last_of_stream_.try_emplace({op.rank, *op.stream}, op.id);
      if (!first) op.dependencies.push_back(std::exchange(previous->second, op.id));
    } else {
      const auto [previous, first] = last_of_host_.try_emplace({op.rank, op.host_thread}, op.id);
      if (!first) op.dependencies.push_back(std::exchange(previous->second, op.id));
    }
    trace_.ops.push_back(std::move(op));
    return trace_.ops.back().id;
  }

  Trace trace_;
  int step_ = 0;
  Phase phase_ = Phase::kSetup;
  std::string host_thread_ = "main";
  int bucket_ = -1;
  std::map<std::pair<int, StreamKind>, OpId> last_of_stream_;
  std::map<std::pair<int, std::string>, OpId> last_of_host_;
};

}  // namespace ringside::test
