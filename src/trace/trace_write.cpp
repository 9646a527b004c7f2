// The JSON form of a trace, as docs/trace.md gives it: fields of an op that say nothing (their
// default) are left out, one op stands on one line.
#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "core/files.h"
#include "ringside/trace.h"
#include "trace/enumerations.h"
#include "trace/json_writer.h"

namespace ringside {
namespace {

void write_run(JsonWriter& json, const TraceRun& run) {
  json.begin_object();
  json.field("strategy", run.strategy);
  json.field("backend", run.backend);
  json.field("model", run.model);
  json.field("data", run.data);
  json.field("devices", run.devices);
  json.integers("device_ids", run.device_ids);
  json.field("output_device", run.output_device);
  if (run.loss_in_forward) json.field("loss_in", "forward");
  json.field("batch_size", run.batch_size);
  json.field("dtype", to_string(run.dtype));
  json.field("parameters", run.parameters);
  json.field("parameter_bytes", run.parameter_bytes);
  json.key("buckets");
  json.begin_array();
  for (const TraceRun::Bucket& bucket : run.buckets) {
    json.begin_object();
    json.field("bytes", bucket.bytes);
    json.key("parameters");
    json.begin_array();
    for (const std::string& parameter : bucket.parameters) json.text(parameter);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  if (run.parameter_server) {
    const TraceRun::ParameterServer& ps = *run.parameter_server;
    json.key("parameter_server");
    json.begin_object();
    json.field("workers", ps.workers);
    json.field("servers", ps.servers);
    json.field("worker_devices", ps.worker_devices);
    json.field("server_devices", ps.server_devices);
    json.field("variant", ps.server_updates ? "b" : "a");
    json.field("server_op", ps.mean ? "mean" : "sum");
    json.field("mode", ps.asynchronous ? "asynchronous" : "synchronous");
    json.end_object();
  }
  if (!run.failure.empty()) {
    json.field("failure", run.failure);
    if (run.failed_step >= 0) json.field("failed_step", run.failed_step);
  }
  json.end_object();
}

void write_tensor(JsonWriter& json, const TraceTensor& tensor) {
  json.begin_object();
  json.field("name", tensor.name);
  json.field("dtype", to_string(tensor.dtype));
  json.integers("shape", tensor.shape.sizes());
  if (!tensor.values.empty()) {
    json.key("values");
    json.begin_array();
    for (const double value : tensor.values) json.number(value);
    json.end_array();
  }
  if (tensor.norm) json.field("norm", *tensor.norm);
  if (tensor.checksum) {
    json.key("checksum");
    json.hexadecimal(*tensor.checksum);
  }
  json.end_object();
}

void write_tensors(JsonWriter& json, std::string_view name,
                   const std::vector<TraceTensor>& tensors) {
  if (tensors.empty()) return;
  json.key(name);
  json.begin_array();
  for (const TraceTensor& tensor : tensors) write_tensor(json, tensor);
  json.end_array();
}

void write_collective(JsonWriter& json, const TraceCollective& collective) {
  const ScheduleRequest& request = collective.request;
  json.begin_object();
  json.field("operation", to_string(request.operation));
  json.field("algorithm", to_string(request.algorithm));
  json.field("ranks", request.ranks);
  json.field("count", request.count);
  json.field("root", request.root);
  json.field("peer", request.peer);
  json.field("dtype", to_string(request.dtype));
  if (!request.counts.empty()) json.integers("counts", request.counts);
  json.field("direction", to_string(request.direction));
  json.field("border", to_string(request.border));
  json.field("pieces", request.pieces);
  if (request.node_size > 0) json.field("node_size", request.node_size);
  json.field("op", to_string(collective.op));
  json.field("communicator", collective.communicator);
  json.field("sequence", collective.sequence);
  json.field("rank", collective.rank);
  json.integers("world_ranks", collective.world_ranks);
  json.end_object();
}

void write_op(JsonWriter& json, const TraceOp& op) {
  json.begin_object();
  json.field("id", op.id);
  json.field("kind", to_string(op.kind));
  json.field("name", op.name);
  if (!op.label.empty()) json.field("label", op.label);
  json.field("step", op.step);
  json.field("phase", to_string(op.phase));
  json.field("rank", op.rank);
  if (op.stream) json.field("stream", to_string(*op.stream));
  json.field("host_thread", op.host_thread);
  if (op.bucket != -1) json.field("bucket", op.bucket);
  if (op.peer != -1) json.field("peer", op.peer);
  if (op.flops != 0) json.field("flops", op.flops);
  if (op.bytes != 0) json.field("bytes", op.bytes);
  if (!op.dependencies.empty()) json.integers("dependencies", op.dependencies);
  write_tensors(json, "reads", op.reads);
  write_tensors(json, "writes", op.writes);
  if (op.collective) {
    json.key("collective");
    write_collective(json, *op.collective);
  }
  if (op.measured_start) json.field("measured_start", *op.measured_start);
  if (op.measured_end) json.field("measured_end", *op.measured_end);
  json.end_object();
}

void write_memory(JsonWriter& json, const TraceMemory& memory) {
  const MemoryAccount& account = memory.account;
  json.begin_object();
  json.field("step", memory.step);
  json.field("phase", to_string(memory.phase));
  json.field("rank", memory.rank);
  json.field("capacity", account.capacity);
  json.field("used", account.used);
  json.field("peak", account.peak);
  json.key("kinds");
  json.begin_object();
  for (const MemoryKind kind : kAllMemoryKinds) {
    const auto index = static_cast<std::size_t>(kind);
    const std::size_t used = account.used_by_kind[index];
    const std::size_t peak = account.peak_by_kind[index];
    const std::size_t at_peak = account.at_peak[index];
    if (used == 0 && peak == 0 && at_peak == 0) continue;
    json.key(to_string(kind));
    json.begin_object();
    json.field("used", used);
    json.field("peak", peak);
    json.field("at_peak", at_peak);
    json.end_object();
  }
  json.end_object();
  json.end_object();
}

}  // namespace

std::string trace_to_json(const Trace& trace) {
  JsonWriter json;
  json.begin_object();
  json.new_line();
  json.field("ringside", "trace");
  json.new_line();
  json.field("version", kTraceVersion);
  json.new_line();
  json.key("run");
  write_run(json, trace.run);
  json.new_line();
  json.key("ops");
  json.begin_array();
  for (const TraceOp& op : trace.ops) {
    json.new_line();
    write_op(json, op);
  }
  json.new_line();
  json.end_array();
  json.new_line();
  json.key("memory");
  json.begin_array();
  for (const TraceMemory& memory : trace.memory) {
    json.new_line();
    write_memory(json, memory);
  }
  json.new_line();
  json.end_array();
  json.new_line();
  json.end_object();
  return json.take() + "\n";
}

void write_trace(const Trace& trace, const std::string& path) {
  write_whole_file(path, trace_to_json(trace));
}

}  // namespace ringside
