#include "trace/random_trace.h"

#include <array>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/enumerations.h"

namespace ringside::test {
namespace {

class Maker {
 public:
  explicit Maker(std::uint32_t seed) : random_(seed) {}

  Trace trace() {
    Trace result;
    run(result.run);
    const std::int64_t length = below(12);
    for (OpId id = 0; id < length; ++id) result.ops.push_back(op(id));
    for (std::int64_t i = below(3); i > 0; --i) result.memory.push_back(memory());
    return result;
  }

 private:
  std::int64_t below(std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(random_);
  }
  bool coin() { return below(2) == 0; }
  template <typename Enum, std::size_t N>
  Enum pick(const std::array<Enum, N>& all) {
    return all[static_cast<std::size_t>(below(N))];
  }
  std::size_t any_size() {
    return coin() ? static_cast<std::size_t>(below(1000))
                  : std::uniform_int_distribution<std::size_t>()(random_);
  }
  std::string text() {
    static const std::vector<std::string> parts = {
        "weight", "\"", "\\", "\n", "\x01", "/", "é", "梯度", " ", "0", "\xf0\x9f\x98\x80", "\x7f"};
    std::string result;
    for (std::int64_t i = below(4); i > 0; --i) {
      result += parts[static_cast<std::size_t>(below(static_cast<std::int64_t>(parts.size())))];
    }
    return result;
  }
  double number() {
    static const std::array<double, 10> special = {0.0,
                                                   -0.0,
                                                   0.1,
                                                   1e300,
                                                   -1e-300,
                                                   std::numeric_limits<double>::denorm_min(),
                                                   1e16,
                                                   9007199254740993.0,
                                                   std::numeric_limits<double>::infinity(),
                                                   -std::numeric_limits<double>::infinity()};
    if (coin()) return special[static_cast<std::size_t>(below(10))];
    return std::uniform_real_distribution<double>(-1e6, 1e6)(random_);
  }
  double positive() { return std::uniform_real_distribution<double>(0, 1e12)(random_); }

  void run(TraceRun& run) {
    run.strategy = text();
    run.backend = text();
    run.model = text();
    run.data = text();
    run.devices = devices_ = static_cast<int>(1 + below(5));
    for (int id = 0; id < devices_; ++id) run.device_ids.push_back(id);
    run.output_device = static_cast<int>(below(devices_));
    run.loss_in_forward = below(2) == 1;
    run.batch_size = below(std::numeric_limits<std::int64_t>::max());
    run.dtype = pick(kAllDTypes);
    run.parameters = any_size();
    run.parameter_bytes = any_size();
    if (below(2) == 0) {
      run.failure = "failed: " + text();
      run.failed_step = static_cast<int>(below(5)) - 1;
    }
    for (std::int64_t i = below(3); i > 0; --i)
      run.buckets.push_back({any_size(), {text(), text()}});
  }

  TraceTensor tensor() {
    TraceTensor result;
    result.name = text();
    result.dtype = pick(kAllDTypes);
    std::vector<std::int64_t> sizes;
    for (std::int64_t i = below(4); i > 0; --i) sizes.push_back(below(5));
    result.shape = Shape(sizes);
    if (coin()) {
      for (std::int64_t i = 0; i < result.shape.numel(); ++i) result.values.push_back(number());
    } else {
      result.norm = number();
      result.checksum = any_size();
    }
    return result;
  }

  Operation any_collective() {
    for (;;) {
      const auto index = below(static_cast<std::int64_t>(kAllOperations.size()));
      const Operation operation = kAllOperations[static_cast<std::size_t>(index)];
      if (!is_pair(operation)) return operation;
    }
  }

  TraceCollective collective(OpKind kind, int rank) {
    TraceCollective result;
    ScheduleRequest& request = result.request;
    request.ranks = devices_;
    for (int r = 0; r < devices_; ++r) result.world_ranks.push_back(devices_ - 1 - r);
    result.rank = devices_ - 1 - rank;
    if (kind == OpKind::kCollective) {
      request.operation = any_collective();
      const auto algorithms = algorithms_for(request.operation);
      request.algorithm =
          algorithms[static_cast<std::size_t>(below(static_cast<std::int64_t>(algorithms.size())))];
      request.root = static_cast<int>(below(devices_));
    } else {
      request.operation = kind == OpKind::kSend ? Operation::kSend : Operation::kRecv;
      request.root = 0;
      request.peer = devices_ - 1;
    }
    request.count = static_cast<std::size_t>(below(1000));
    const bool counted =
        request.operation == Operation::kScatter || request.operation == Operation::kGather;
    if (counted && coin()) {
      for (int r = 0; r < devices_; ++r) request.counts.push_back(static_cast<std::size_t>(r));
    }
    request.dtype = pick(kAllDTypes);
    request.direction = pick(kAllDirections);
    request.border = pick(kAllBorders);
    request.pieces = static_cast<int>(1 + below(3));
    result.op = pick(kAllReduceOps);
    result.communicator = below(3);
    result.sequence = sequence_++;  // each op a collective of its own: ranks need not agree
    return result;
  }

  TraceOp op(OpId id) {
    TraceOp result;
    result.id = id;
    result.kind = pick(kAllOpKinds);
    result.name = text();
    result.label = text();
    result.step = static_cast<int>(below(4)) - 1;
    result.phase = pick(kAllPhases);
    result.rank = static_cast<int>(below(devices_));
    const bool on_host = result.kind == OpKind::kHost || (result.kind == OpKind::kWait && coin());
    if (!on_host) result.stream = pick(kAllStreamKinds);
    result.host_thread = text();
    result.bucket = static_cast<int>(below(3)) - 1;
    result.peer = static_cast<int>(below(devices_ + 1)) - 1;
    result.flops = coin() ? 0 : positive();
    result.bytes = coin() ? 0 : any_size();
    std::set<OpId> dependencies;
    for (std::int64_t i = id == 0 ? 0 : below(3); i > 0; --i) dependencies.insert(below(id));
    result.dependencies.assign(dependencies.begin(), dependencies.end());
    for (std::int64_t i = below(3); i > 0; --i) result.reads.push_back(tensor());
    for (std::int64_t i = below(3); i > 0; --i) result.writes.push_back(tensor());
    if (result.kind == OpKind::kCollective || result.kind == OpKind::kSend ||
        result.kind == OpKind::kRecv) {
      result.collective = collective(result.kind, result.rank);
    }
    if (coin()) {
      result.measured_start = positive();
      result.measured_end = *result.measured_start + positive();
    }
    return result;
  }

  TraceMemory memory() {
    TraceMemory result;
    result.step = static_cast<int>(below(3)) - 1;
    result.phase = pick(kAllPhases);
    result.rank = static_cast<int>(below(devices_));
    result.account.capacity = any_size();
    result.account.used = any_size();
    result.account.peak = any_size();
    for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
      if (coin()) continue;
      result.account.used_by_kind[kind] = any_size();
      result.account.peak_by_kind[kind] = any_size();
      result.account.at_peak[kind] = any_size();
    }
    return result;
  }

  std::mt19937 random_;
  int devices_ = 1;
  std::int64_t sequence_ = 0;
};

}  // namespace

Trace random_trace(std::uint32_t seed) { return Maker(seed).trace(); }

}  // namespace ringside::test
