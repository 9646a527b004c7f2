// Trace: what a run did, as plain data. A graph of ops that can be saved, sent, reopened and
// compared; nothing downstream of it touches a device. The JSON form is documented in
// docs/trace.md.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/device.h"
#include "ringside/schedule.h"

namespace ringside {

/// The version of the JSON form this program writes. Reading refuses others and says so.
inline constexpr int kTraceVersion = 1;

/// A tensor as an op saw it. Values are whole up to TraceOptions::whole_values elements, else norm
/// and checksum.
struct TraceTensor {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<double> values;  ///< after the op; empty for reads, for large tensors, and on meta
  std::optional<double> norm;  ///< 2-norm
  std::optional<std::uint64_t> checksum;  ///< FNV-1a of the bytes
  bool operator==(const TraceTensor&) const = default;
};

/// A collective, send or recv as one rank's op; messages follow by make_schedule(request).
struct TraceCollective {
  ScheduleRequest request;
  ReduceOp op = ReduceOp::kSum;
  std::int64_t communicator = 0;
  std::int64_t sequence = 0;
  int rank = 0;                  ///< in the communicator
  std::vector<int> world_ranks;  ///< the participants
  bool operator==(const TraceCollective&) const = default;
};

struct TraceOp {
  OpId id = 0;  ///< its index in Trace::ops
  OpKind kind = OpKind::kCompute;
  std::string name;
  std::string label;
  int step = -1;
  Phase phase = Phase::kSetup;
  int rank = 0;
  std::optional<StreamKind> stream;  ///< none for host ops and waits of the host
  /// logical host thread that submitted it: "main", "replica 1", "loader"
  std::string host_thread;
  int bucket = -1;
  int peer = -1;
  double flops = 0;
  std::size_t bytes = 0;
  /// ops that must end first: the stream's previous op, then awaited events; ascending
  std::vector<OpId> dependencies;
  std::vector<TraceTensor> reads;
  std::vector<TraceTensor> writes;
  std::optional<TraceCollective> collective;
  std::optional<double> measured_start;  ///< seconds since the trace began
  std::optional<double> measured_end;
  bool operator==(const TraceOp&) const = default;
};

/// The memory account of a device at the end of a recorded step's phase.
struct TraceMemory {
  int step = -1;
  Phase phase = Phase::kSetup;
  int rank = 0;
  MemoryAccount account;
  bool operator==(const TraceMemory& other) const;
};

/// Facts of the run that views need.
struct TraceRun {
  std::string strategy;  ///< "single", "dp", "ddp", "ps", "collective"
  std::string backend;
  std::string model;
  std::string data;
  int devices = 1;
  std::vector<int> device_ids;  ///< DataParallel: in order; the first is home
  int output_device = 0;
  /// DataParallel: each replica returned the loss of its own rows, and these were gathered
  bool loss_in_forward = false;
  std::int64_t batch_size = 0;  ///< global for single and dp, per rank for ddp and ps
  DType dtype = DType::kFloat32;
  std::size_t parameters = 0;  ///< elements
  std::size_t parameter_bytes = 0;
  struct Bucket {
    std::size_t bytes = 0;
    std::vector<std::string> parameters;
    bool operator==(const Bucket&) const = default;
  };
  std::vector<Bucket> buckets;  ///< DDP's, as used in the last recorded step
  /// Who is who: the workers' ranks first, worker by worker, then the servers' (strategy.h).
  struct ParameterServer {
    int workers = 1;
    int servers = 1;
    int worker_devices = 1;  ///< of each worker
    int server_devices = 1;  ///< of each server
    bool server_updates = true;
    bool mean = true;
    bool asynchronous = false;
    bool operator==(const ParameterServer&) const = default;
  };
  std::optional<ParameterServer> parameter_server;  ///< of ps
  /// the error that the run ended with; its ops are those that were carried out. Empty: it ended
  /// well
  std::string failure;
  /// the first step that a rank has not finished, if the run failed; -1: in none, its last
  /// evaluation failed
  int failed_step = -1;
  bool operator==(const TraceRun&) const = default;
};

struct Trace {
  TraceRun run;
  std::vector<TraceOp> ops;
  std::vector<TraceMemory> memory;
  bool operator==(const Trace&) const = default;

  /// Recorded steps, ascending.
  std::vector<int> steps() const;
};

/// Writes the JSON form. Numbers round-trip exactly. Throws Error(kIo) naming the path ("disk
/// full").
void write_trace(const Trace& trace, const std::string& path);
std::string trace_to_json(const Trace& trace);
/// Reads and validates. Throws Error(kInvalidInput) for a missing file, or with the place of the
/// fault ("trace.json: ops[12].dependencies[0]: 40 is not an earlier op").
Trace read_trace(const std::string& path);
Trace trace_from_json(std::string_view json, std::string_view source_name);

// ---------------------------------------------------------------- recording

struct TraceOptions {
  int first_step = 0;  ///< --trace-steps FIRST-LAST
  int last_step = 2;
  bool setup = true;  ///< also ops outside of steps before the first one (construction)
  std::int64_t whole_values = 16;  ///< tensors up to this many elements keep their values
  bool values = true;              ///< record values, norms and checksums at all
  bool times = false;  ///< measured_start and measured_end from the host clock of the workers
};

/// Listens at the streams' door. Thread-safe; per-rank buffers are merged by take(), in an order
/// that does not depend on timing: (step, rank, submission), with dependencies renumbered.
class Recorder : public OpListener {
 public:
  explicit Recorder(const TraceOptions& options);
  ~Recorder() override;
  OpId on_submit(Stream& stream, const OpInfo& info) override;
  void on_enqueued(Stream& stream, OpId id, const OpInfo& info) override;
  OpId on_host(Device& device, const OpInfo& info) override;
  /// Notes the device's memory account under its present step and phase.
  void note_memory(const Device& device);
  /// The trace so far; call when all devices are synchronised, or, of a run that failed, when its
  /// world is gone: what was not carried out is then left out. Empties the recorder.
  Trace take(TraceRun run);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// ---------------------------------------------------------------- queries

/// One line of the table of a step: what moved, where.
struct TransferRow {
  Phase phase = Phase::kSetup;
  std::string primitive;  ///< "scatter", "broadcast", "all-reduce (bucket 1)", "copy", "send"
  std::string from;       ///< "0", "host", "all"
  std::string to;
  std::size_t messages = 0;
  std::size_t bytes = 0;  ///< bytes of all messages
};
/// The communication of `step` in program order, collectives expanded by their schedules and
/// counted once for all ranks.
std::vector<TransferRow> transfers(const Trace& trace, int step);

/// The messages of a collective op in world ranks, expanded from its schedule.
Schedule expand(const TraceCollective& collective);

}  // namespace ringside
