// Reads and validates the JSON form of a trace (docs/trace.md). Whatever the bytes are, the result
// is a trace that every other function can take as it is, or an Error with the place of the fault.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/files.h"
#include "ringside/trace.h"
#include "trace/collective_check.h"
#include "trace/collective_key.h"
#include "trace/enumerations.h"
#include "trace/json_reader.h"

namespace ringside {
namespace {

constexpr std::int64_t kMostInteger = std::numeric_limits<std::int64_t>::max();

template <typename Function>
void for_each(const JsonValue& array, const Function& function) {
  const std::size_t length = array.length();
  for (std::size_t i = 0; i < length; ++i) function(array[i]);
}

bool is_first_of_two(const JsonValue& json, std::string_view first, std::string_view second) {
  const std::string text = json.text();
  if (text != first && text != second) {
    json.fault(fmt::format("'{}' must be one of {}, {}", text, first, second));
  }
  return text == first;
}

TraceRun::ParameterServer read_parameter_server(const JsonValue& json, int devices) {
  json.allow_only(
      {"workers", "servers", "worker_devices", "server_devices", "variant", "server_op", "mode"});
  const auto count = [&](std::string_view name) { return json.at(name).small_integer(1, devices); };
  TraceRun::ParameterServer ps;
  ps.workers = count("workers");
  ps.servers = count("servers");
  ps.worker_devices = count("worker_devices");
  ps.server_devices = count("server_devices");
  ps.server_updates = is_first_of_two(json.at("variant"), "b", "a");
  ps.mean = is_first_of_two(json.at("server_op"), "mean", "sum");
  ps.asynchronous = is_first_of_two(json.at("mode"), "asynchronous", "synchronous");
  const std::int64_t ranks =
      std::int64_t{ps.workers} * ps.worker_devices + std::int64_t{ps.servers} * ps.server_devices;
  if (ranks != devices) {
    json.fault(fmt::format("these are {} devices, the run has {}", ranks, devices));
  }
  return ps;
}

TraceRun read_run(const JsonValue& json) {
  json.allow_only({"strategy", "backend", "model", "data", "devices", "device_ids", "output_device",
                   "loss_in", "batch_size", "dtype", "parameters", "parameter_bytes", "buckets",
                   "parameter_server", "failure", "failed_step"});
  TraceRun run;
  run.strategy = json.at("strategy").text();
  run.backend = json.at("backend").text();
  run.model = json.at("model").text();
  run.data = json.at("data").text();
  run.devices = json.at("devices").small_integer(1, kMostDevices);
  for_each(json.at("device_ids"), [&](const JsonValue& id) {
    run.device_ids.push_back(id.small_integer(0, run.devices - 1));
  });
  run.output_device = json.at("output_device").small_integer(0, run.devices - 1);
  if (const auto place = json.find("loss_in")) {
    run.loss_in_forward = place->text() == "forward";
    if (!run.loss_in_forward && place->text() != "output") {
      place->fault(fmt::format("'{}' must be output or forward", place->text()));
    }
  }
  run.batch_size = json.at("batch_size").integer(0, kMostInteger);
  run.dtype = json.at("dtype").one_of(kAllDTypes);
  run.parameters = json.at("parameters").size();
  run.parameter_bytes = json.at("parameter_bytes").size();
  for_each(json.at("buckets"), [&](const JsonValue& value) {
    value.allow_only({"bytes", "parameters"});
    TraceRun::Bucket bucket;
    bucket.bytes = value.at("bytes").size();
    for_each(value.at("parameters"),
             [&](const JsonValue& parameter) { bucket.parameters.push_back(parameter.text()); });
    run.buckets.push_back(std::move(bucket));
  });
  if (const auto ps = json.find("parameter_server")) {
    run.parameter_server = read_parameter_server(*ps, run.devices);
  }
  if (const auto failure = json.find("failure")) {
    run.failure = failure->text();
    if (run.failure.empty()) failure->fault("a run that has not failed has none");
  }
  if (const auto step = json.find("failed_step")) {
    if (run.failure.empty()) step->fault("only a run with a failure has one");
    run.failed_step = step->small_integer(0);
  }
  return run;
}

Shape read_shape(const JsonValue& json) {
  if (json.length() > Shape::kMaxRank) {
    json.fault(
        fmt::format("{} dimensions, at most {} are possible", json.length(), Shape::kMaxRank));
  }
  std::vector<std::int64_t> sizes;
  std::int64_t most = std::int64_t{1} << 40;  // elements: their number must be exact
  for_each(json, [&](const JsonValue& size) {
    sizes.push_back(size.integer(0, most));
    most /= std::max<std::int64_t>(1, sizes.back());
  });
  return Shape(sizes);
}

TraceTensor read_tensor(const JsonValue& json) {
  json.allow_only({"name", "dtype", "shape", "values", "norm", "checksum"});
  TraceTensor tensor;
  tensor.name = json.at("name").text();
  tensor.dtype = json.at("dtype").one_of(kAllDTypes);
  tensor.shape = read_shape(json.at("shape"));
  if (const auto values = json.find("values")) {
    const auto count = static_cast<std::size_t>(tensor.shape.numel());
    if (values->length() != count || count == 0) {
      values->fault(fmt::format("{} values for shape {} of {} elements", values->length(),
                                to_string(tensor.shape), count));
    }
    for_each(*values, [&](const JsonValue& value) { tensor.values.push_back(value.number()); });
  }
  if (const auto norm = json.find("norm")) tensor.norm = norm->number();
  if (const auto checksum = json.find("checksum")) tensor.checksum = checksum->hexadecimal();
  return tensor;
}

std::vector<TraceTensor> read_tensors(const std::optional<JsonValue>& json) {
  std::vector<TraceTensor> tensors;
  if (!json) return tensors;
  for_each(*json, [&](const JsonValue& value) { tensors.push_back(read_tensor(value)); });
  return tensors;
}

ScheduleRequest read_request(const JsonValue& json) {
  ScheduleRequest request;
  request.operation = json.at("operation").one_of(kAllOperations);
  request.algorithm = json.at("algorithm").one_of(kAllAlgorithms);
  request.ranks = json.at("ranks").small_integer(1, kMostDevices);
  request.count = json.at("count").size();
  request.root = json.at("root").small_integer(-1, kMostDevices);
  request.peer = json.at("peer").small_integer(-1, kMostDevices);
  request.dtype = json.at("dtype").one_of(kAllDTypes);
  if (const auto counts = json.find("counts")) {
    for_each(*counts, [&](const JsonValue& count) { request.counts.push_back(count.size()); });
  }
  request.direction = json.at("direction").one_of(kAllDirections);
  request.border = json.at("border").one_of(kAllBorders);
  request.pieces = json.at("pieces").small_integer(1);
  if (const auto size = json.find("node_size")) {
    request.node_size = size->small_integer(0, kMostDevices);
  }
  if (const std::string fault = fault_of(request); !fault.empty()) json.fault(fault);
  return request;
}

TraceCollective read_collective(const JsonValue& json, int devices, int world_rank) {
  json.allow_only({"operation", "algorithm", "ranks", "count", "root", "peer", "dtype", "counts",
                   "direction", "border", "pieces", "node_size", "op", "communicator", "sequence",
                   "rank", "world_ranks"});
  TraceCollective collective;
  collective.request = read_request(json);
  collective.op = json.at("op").one_of(kAllReduceOps);
  collective.communicator = json.at("communicator").integer(0, kMostInteger);
  collective.sequence = json.at("sequence").integer(0, kMostInteger);
  collective.rank = json.at("rank").small_integer(0, collective.request.ranks - 1);
  const JsonValue world_ranks = json.at("world_ranks");
  const auto ranks = static_cast<std::size_t>(collective.request.ranks);
  if (world_ranks.length() != ranks) {
    world_ranks.fault(fmt::format("{} entries for {} ranks", world_ranks.length(), ranks));
  }
  std::set<int> seen;
  for_each(world_ranks, [&](const JsonValue& rank) {
    collective.world_ranks.push_back(rank.small_integer(0, devices - 1));
    if (!seen.insert(collective.world_ranks.back()).second) {
      rank.fault(fmt::format("{} takes part twice", collective.world_ranks.back()));
    }
  });
  const int own = collective.world_ranks[static_cast<std::size_t>(collective.rank)];
  if (own != world_rank) {
    json.at("rank").fault(fmt::format("{} is world rank {}, but the op is of rank {}",
                                      collective.rank, own, world_rank));
  }
  return collective;
}

// What depends on the kind of op: `field` must be there, may be, or must not.
enum class Presence : std::uint8_t { kNever, kMaybe, kAlways };

std::optional<JsonValue> find_if(Presence presence, const JsonValue& json, std::string_view field,
                                 OpKind kind) {
  auto found = json.find(field);
  if (found && presence == Presence::kNever) {
    found->fault(fmt::format("not for an op of kind {}", to_string(kind)));
  }
  if (!found && presence == Presence::kAlways) {
    json.fault(fmt::format("field '{}' is missing, of kind {}", field, to_string(kind)));
  }
  return found;
}

// A host op has no stream; a wait may be the host's or a stream's.
Presence stream_of(OpKind kind) {
  if (kind == OpKind::kHost) return Presence::kNever;
  return kind == OpKind::kWait ? Presence::kMaybe : Presence::kAlways;
}

Presence collective_of(OpKind kind) {
  const bool communicates =
      kind == OpKind::kCollective || kind == OpKind::kSend || kind == OpKind::kRecv;
  return communicates ? Presence::kAlways : Presence::kNever;
}

void read_measured(const JsonValue& json, TraceOp& op) {
  const auto start = json.find("measured_start");
  const auto end = json.find("measured_end");
  if (start.has_value() != end.has_value()) {
    json.fault("measured_start and measured_end must be there both or neither");
  }
  if (!start) return;
  op.measured_start = start->finite_number();
  op.measured_end = end->finite_number();
  if (*op.measured_end < *op.measured_start) {
    end->fault(
        fmt::format("{} is before measured_start, {}", *op.measured_end, *op.measured_start));
  }
}

std::vector<OpId> read_dependencies(const JsonValue& json, OpId id) {
  std::vector<OpId> dependencies;
  for_each(json, [&](const JsonValue& value) {
    const OpId dependency = value.integer(std::numeric_limits<OpId>::min(), kMostInteger);
    if (dependency < 0 || dependency >= id) {
      value.fault(fmt::format("{} is not an earlier op", dependency));
    }
    if (!dependencies.empty() && dependency <= dependencies.back()) {
      value.fault(fmt::format("{} after {}: must be ascending", dependency, dependencies.back()));
    }
    dependencies.push_back(dependency);
  });
  return dependencies;
}

TraceOp read_op(const JsonValue& json, OpId id, const TraceRun& run) {
  json.allow_only({"id", "kind", "name", "label", "step", "phase", "rank", "stream", "host_thread",
                   "bucket", "peer", "flops", "bytes", "dependencies", "reads", "writes",
                   "collective", "measured_start", "measured_end"});
  TraceOp op;
  op.id = json.at("id").integer(std::numeric_limits<OpId>::min(), kMostInteger);
  if (op.id != id) json.at("id").fault(fmt::format("{} must be the op's index, {}", op.id, id));
  op.kind = json.at("kind").one_of(kAllOpKinds);
  op.name = json.at("name").text();
  if (const auto label = json.find("label")) op.label = label->text();
  op.step = json.at("step").small_integer(-1);
  op.phase = json.at("phase").one_of(kAllPhases);
  op.rank = json.at("rank").small_integer(0, run.devices - 1);
  if (const auto stream = find_if(stream_of(op.kind), json, "stream", op.kind)) {
    op.stream = stream->one_of(kAllStreamKinds);
  }
  op.host_thread = json.at("host_thread").text();
  if (const auto bucket = json.find("bucket")) op.bucket = bucket->small_integer(-1);
  if (const auto peer = json.find("peer")) op.peer = peer->small_integer(-1, run.devices - 1);
  if (const auto flops = json.find("flops")) op.flops = flops->finite_number();
  if (op.flops < 0) json.at("flops").fault(fmt::format("{} is negative", op.flops));
  if (const auto bytes = json.find("bytes")) op.bytes = bytes->size();
  if (const auto ids = json.find("dependencies")) op.dependencies = read_dependencies(*ids, id);
  op.reads = read_tensors(json.find("reads"));
  op.writes = read_tensors(json.find("writes"));
  if (const auto value = find_if(collective_of(op.kind), json, "collective", op.kind)) {
    op.collective = read_collective(*value, run.devices, op.rank);
    if (kind_of(op.collective->request.operation) != op.kind) {
      value->at("operation").fault(fmt::format("not for an op of kind {}", to_string(op.kind)));
    }
  }
  read_measured(json, op);
  return op;
}

TraceMemory read_memory(const JsonValue& json, const TraceRun& run) {
  json.allow_only({"step", "phase", "rank", "capacity", "used", "peak", "kinds"});
  TraceMemory memory;
  memory.step = json.at("step").small_integer(-1);
  memory.phase = json.at("phase").one_of(kAllPhases);
  memory.rank = json.at("rank").small_integer(0, run.devices - 1);
  memory.account.capacity = json.at("capacity").size();
  memory.account.used = json.at("used").size();
  memory.account.peak = json.at("peak").size();
  const JsonValue kinds = json.at("kinds");
  kinds.allow_only({"parameters", "gradients", "optimizer-state", "activations", "replicas",
                    "buckets", "inputs", "outputs", "workspace"});
  for (const MemoryKind kind : kAllMemoryKinds) {
    const auto value = kinds.find(to_string(kind));
    if (!value) continue;
    value->allow_only({"used", "peak", "at_peak"});
    const auto index = static_cast<std::size_t>(kind);
    memory.account.used_by_kind[index] = value->at("used").size();
    memory.account.peak_by_kind[index] = value->at("peak").size();
    memory.account.at_peak[index] = value->at("at_peak").size();
  }
  return memory;
}

// The ops of one collective must tell the same of it, each rank once.
class CollectiveAgreement {
 public:
  void check(const TraceOp& op, const JsonValue& json) {
    const TraceCollective& collective = *op.collective;
    const CollectiveKey key = key_of(collective);
    const auto [first, is_first] = first_.try_emplace(key, &op);
    const JsonValue place = json.at("collective");
    if (!ranks_.insert({key, collective.rank}).second) {
      place.fault(fmt::format("rank {} takes part in {} {} of communicator {} twice",
                              collective.rank, to_string(collective.request.operation),
                              collective.sequence, collective.communicator));
    }
    if (is_first) return;
    ScheduleRequest expected = first->second->collective->request;
    expected.operation =
        op.kind == OpKind::kCollective ? expected.operation : collective.request.operation;
    if (collective.request != expected || collective.op != first->second->collective->op ||
        collective.world_ranks != first->second->collective->world_ranks) {
      place.fault(fmt::format("differs from the same collective in ops[{}]", first->second->id));
    }
  }

 private:
  std::map<CollectiveKey, const TraceOp*> first_;
  std::set<std::pair<CollectiveKey, int>> ranks_;
};

}  // namespace

Trace trace_from_json(std::string_view json, std::string_view source_name) {
  const JsonDocument document(json, source_name);
  document.check_header("trace", kTraceVersion);
  const JsonValue root = document.root();
  root.allow_only({"ringside", "version", "run", "ops", "memory"});
  Trace trace;
  trace.run = read_run(root.at("run"));
  const JsonValue ops = root.at("ops");
  trace.ops.reserve(ops.length());
  CollectiveAgreement agreement;
  for_each(ops, [&](const JsonValue& value) {
    trace.ops.push_back(read_op(value, static_cast<OpId>(trace.ops.size()), trace.run));
    if (trace.ops.back().collective) agreement.check(trace.ops.back(), value);
  });
  for_each(root.at("memory"),
           [&](const JsonValue& value) { trace.memory.push_back(read_memory(value, trace.run)); });
  return trace;
}

Trace read_trace(const std::string& path) { return trace_from_json(read_whole_file(path), path); }

}  // namespace ringside
