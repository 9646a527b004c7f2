// Device, Stream, Event: memory and in-order asynchronous queues, as on CUDA.
//
// All work enters a device through one door, Stream::submit(OpInfo, Launch): the simulator runs the
// launch later on a worker thread, CUDA at once with the native stream, MPI as the simulator, meta
// never. At that door an OpListener (the trace recorder) hears of every op. docs/architecture.md
// tabulates every function on every backend.
//
// Threads: a Device and its Streams are used by one host thread at a time (its rank's thread, or
// the one driving thread). DeviceArrays and Launches may be released on any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>

#include "ringside/dtype.h"
#include "ringside/inline_function.h"

namespace ringside {

class Device;
class Kernels;
class Stream;
struct CollectiveInfo;  // schedule.h

// ---------------------------------------------------------------- memory

/// What a piece of device memory is for; the account is kept per kind.
enum class MemoryKind : std::uint8_t {
  kParameters,      ///< the module's parameters and buffers
  kGradients,       ///< .grad of parameters
  kOptimizerState,  ///< momentum and the like
  kActivations,     ///< what forward keeps for backward, and gradients of activations
  kReplicas,        ///< DataParallel's copies of parameters and buffers
  kBuckets,         ///< DDP's flat communication buckets
  kInputs,          ///< batches
  kOutputs,         ///< gathered outputs and losses
  kWorkspace        ///< scratch that one kernel needs
};
inline constexpr std::size_t kMemoryKinds = 9;
/// "parameters", "gradients", "optimizer-state", ...
std::string_view to_string(MemoryKind kind);

/// Bytes in use by kind, kept on the host in program order: it does not depend on timing (as
/// PyTorch's allocator).
struct MemoryAccount {
  std::size_t capacity = 0;  ///< bytes; 0 = unlimited
  std::size_t used = 0;
  std::size_t peak = 0;
  std::array<std::size_t, kMemoryKinds> used_by_kind{};
  std::array<std::size_t, kMemoryKinds> peak_by_kind{};  ///< each kind's own peak
  std::array<std::size_t, kMemoryKinds> at_peak{};       ///< by kind, at the moment of `peak`
};

/// Raw device memory; freed when its last holder (handle or launch) lets go. Made by devices only.
class Storage {
 public:
  using Release = InlineFunction<void(void*), 32>;
  Storage(void* data, std::size_t bytes, Release release)
      : data_(data), bytes_(bytes), release_(std::move(release)) {}
  ~Storage() {
    if (release_) release_(data_);
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// Null on a meta device. Host-addressable on sim and mpi only.
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_;
  std::size_t bytes_;
  Release release_;
};

/// A contiguous array in device memory: what launches, kernels and communicators work on. Keeps the
/// storage alive but is not accounted, so that the account does not depend on when a launch ends.
struct DeviceArray {
  std::shared_ptr<Storage> storage;
  std::size_t offset = 0;  ///< bytes from the start of the storage
  DType dtype = DType::kFloat32;
  Shape shape;

  std::size_t count() const { return static_cast<std::size_t>(shape.numel()); }
  std::size_t bytes() const { return count() * size_of(dtype); }
  bool empty() const { return storage == nullptr; }
  /// The address of the first element; null for an empty array or on meta.
  std::byte* raw() const {
    return storage && storage->data() ? static_cast<std::byte*>(storage->data()) + offset : nullptr;
  }
  template <typename T>
  T* data() const {
    return reinterpret_cast<T*>(raw());
  }
  template <typename T>
  std::span<T> elements() const {
    return {data<T>(), count()};
  }
  /// `count` elements from element `first` on, one-dimensional. No bounds check beyond the caller's
  /// own.
  DeviceArray slice(std::size_t first, std::size_t slice_count) const {
    return {storage, offset + first * size_of(dtype), dtype,
            Shape{static_cast<std::int64_t>(slice_count)}};
  }
  /// NCCL compares pointers to find out whether a call is in place; so does Ringside.
  bool same_place(const DeviceArray& other) const {
    return storage == other.storage && offset == other.offset;
  }
};

/// An accounted allocation. The host holds Buffers (through tensors); the bytes leave the account
/// when the last copy of the Buffer goes, and the memory itself when the last launch that uses it
/// has run.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<Storage> storage, std::shared_ptr<void> accounted)
      : storage_(std::move(storage)), accounted_(std::move(accounted)) {}
  explicit operator bool() const { return storage_ != nullptr; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  /// True while another handle on the host holds the same allocation. Launches do not count, so the
  /// answer does not depend on timing.
  bool shared() const { return accounted_.use_count() > 1; }
  DeviceArray array(DType dtype, const Shape& shape, std::size_t offset = 0) const {
    return {storage_, offset, dtype, shape};
  }

 private:
  std::shared_ptr<Storage> storage_;
  std::shared_ptr<void> accounted_;  // its deleter takes the bytes off the device's account
};

// ---------------------------------------------------------------- ops

/// A phase of a training step; one name everywhere (trace, diagram, lesson, table).
enum class Phase : std::uint8_t {
  kSetup,
  kLoad,
  kScatterInput,
  kReplicate,
  kForward,
  kGatherOutput,
  kLoss,
  kScatterGrad,
  kBackward,
  kReduceGrad,  // DataParallel
  kSyncBuffers,
  kAllReduce,
  kFinalize,  // DDP
  kPull,
  kPush,
  kAggregate,  // parameter server
  kUpdate,
  kEvaluate
};
/// "setup", "load", "scatter-input", ..., "update", "evaluate".
std::string_view to_string(Phase phase);
/// The inverse of to_string. Throws Error(kInvalidArgument) that lists the valid names.
Phase parse_phase(std::string_view name);

enum class OpKind : std::uint8_t { kCompute, kCopy, kCollective, kSend, kRecv, kHost, kWait };
/// "compute", "copy", "collective", "send", "recv", "host", "wait".
std::string_view to_string(OpKind kind);

using OpId = std::int64_t;  ///< index of an op in its trace; kNoOp when not recorded
inline constexpr OpId kNoOp = -1;

/// A tensor that an op reads or writes. Borrowed: valid during submit only.
struct TensorRef {
  std::string_view name;  ///< "0.weight", "0.weight.grad", "bucket 1", "input"
  const DeviceArray* array = nullptr;
};

/// What the trace learns of an op. Everything is borrowed and valid during the call only, so that
/// building one costs nothing when nobody listens.
struct OpInfo {
  OpKind kind = OpKind::kCompute;
  /// what it does: "linear", "relu-backward", "sgd", "all-reduce", "copy-host-to-device"
  std::string_view name;
  /// what it belongs to: a module path ("0", "conv1"), a parameter; may be empty
  std::string_view label;
  double flops = 0;  ///< floating-point operations, a multiply-add counting two
  /// bytes moved by a copy, send or recv; of a collective the full buffer (docs/trace.md)
  std::size_t bytes = 0;
  std::span<const TensorRef> reads;
  std::span<const TensorRef> writes;
  const CollectiveInfo* collective = nullptr;  ///< of a collective, send or recv
  int peer = -1;  ///< the other device (copy) or rank (send, recv); -1 = none, the host for copies
  /// of a wait op the awaited event's op (Stream::wait sets it); also of host ops that wait for
  /// one, and of a copy from the host the host op that made its bytes
  OpId awaited = kNoOp;
};

/// Hears of every op at the door of the streams; implemented by the trace recorder.
class OpListener {
 public:
  virtual ~OpListener() = default;
  /// Called on the submitting host thread, before the op is enqueued on `stream`. Thread-safe.
  virtual OpId on_submit(Stream& stream, const OpInfo& info) = 0;
  /// Called on the same thread after the op was enqueued: the place to enqueue a launch that reads
  /// what the op has written (Stream::enqueue). Called only if on_submit returned an id.
  virtual void on_enqueued(Stream& stream, OpId id, const OpInfo& info) = 0;
  /// A host-side op (reading a batch, waiting for a stream) that no stream carries. Returns its id.
  virtual OpId on_host(Device& device, const OpInfo& info) = 0;
};

/// What a launch may use while it runs.
struct LaunchContext {
  Kernels& kernels;
  void* native_stream = nullptr;  ///< cudaStream_t on CUDA; null elsewhere
};

/// The body of an op. It touches only device memory, through its context; its captures keep the
/// arrays alive, and five arrays with their options take no memory of their own. An exception it
/// throws becomes the stream's asynchronous error (CUDA semantics: it surfaces, once, at the next
/// synchronisation; later launches on the device are skipped until then).
using Launch = InlineFunction<void(LaunchContext&), 512>;

enum class StreamKind : std::uint8_t { kCompute, kCopy, kCommunication };
/// "compute", "copy", "communication".
std::string_view to_string(StreamKind kind);

/// A point in a stream's work (cudaEvent). Handed around by shared_ptr.
class Event {
 public:
  virtual ~Event() = default;
  /// True once everything before it in its stream has run. Never blocks. On meta always true.
  virtual bool done() const = 0;
  /// Blocks the host thread until done; throws the stream's asynchronous error, a Deadlock, or
  /// RankFailed.
  virtual void synchronize() = 0;
  /// The last recorded op before the event; kNoOp if none.
  OpId op() const { return op_; }
  /// The stream that it was recorded on; null for an event that is completed by hand (Latch).
  const Stream* stream() const { return stream_; }

 protected:
  explicit Event(OpId op, const Stream* stream = nullptr) : op_(op), stream_(stream) {}

 private:
  OpId op_;
  const Stream* stream_;
};

/// An in-order asynchronous queue of a device.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual Device& device() = 0;
  virtual StreamKind kind() const = 0;

  /// The one door: tells the listener, then enqueues. Returns at once (with
  /// RINGSIDE_LAUNCH_BLOCKING=1: after the launch has run, throwing its error). Never throws
  /// otherwise on sim; CUDA throws Error(kDevice) for a failed launch.
  OpId submit(const OpInfo& info, Launch&& launch);

  /// For communicators, which enqueue their ops themselves: tells the listener before ...
  OpId announce(const OpInfo& info);
  /// ... and after.
  void announced(OpId id, const OpInfo& info);

  /// Enqueues without telling the listener (snapshots, time stamps). Use submit for everything that
  /// is work.
  virtual void enqueue(Launch&& launch) = 0;

  /// An event at the present end of the queue.
  virtual std::shared_ptr<Event> record() = 0;
  /// Everything submitted later waits for `event` (of any stream of the same world). Recorded as a
  /// wait op when the event belongs to another stream. Never blocks the host.
  void wait(const std::shared_ptr<Event>& event);
  /// Blocks the host until all work is done; throws the asynchronous error if there is one, which
  /// clears it.
  virtual void synchronize() = 0;

  OpId last_op() const { return last_op_; }

 protected:
  virtual void enqueue_wait(const std::shared_ptr<Event>& event) = 0;
  /// What submit calls: a stream that reports asynchronous errors keeps the op's name for the
  /// message. Unless overridden the same as enqueue.
  virtual void enqueue_op(const OpInfo& info, Launch&& launch);

 private:
  OpId last_op_ = kNoOp;
};

/// What is stamped on the ops submitted to a device; set by strategies through ContextScope.
struct OpContext {
  int step = -1;  ///< training step, counted from 0; -1 outside of steps
  Phase phase = Phase::kSetup;
  int bucket = -1;  ///< DDP bucket; -1 = none
  /// logical host thread: "main", "replica 1", "loader"; a literal or longer-lived
  std::string_view host_thread = "main";
  bool grad_enabled = true;  ///< false under no_grad: forward records no graph
};

/// Where a random op's numbers begin. Numbers are a function of this key and the element's index
/// alone (counter-based), so they depend neither on threads nor on what ran before.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t rank = 0;  ///< of the device: devices draw different numbers from one seed
  std::uint32_t step = 0;  ///< training step + 1; 0 outside of steps
  std::uint32_t draw = 0;  ///< counted within the step
};

class Device {
 public:
  Device();
  virtual ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// The world rank that this device serves.
  virtual int rank() const = 0;
  /// "sim:2", "cuda:0 (NVIDIA H200)".
  virtual std::string name() const = 0;
  /// False where launches never run (meta).
  virtual bool executes() const = 0;

  /// `bytes` of uninitialised memory, 64-byte aligned, accounted at once under `kind`. Zero bytes
  /// are allowed. Throws Error(kOutOfMemory) that says tried, used, capacity and what would have
  /// fitted.
  virtual Buffer allocate(std::size_t bytes, MemoryKind kind) = 0;
  virtual MemoryAccount memory() const = 0;

  virtual Stream& stream(StreamKind kind) = 0;
  Stream& compute() { return stream(StreamKind::kCompute); }

  /// Blocks until all streams are done; throws the first asynchronous error, which clears it.
  virtual void synchronize() = 0;

  /// The kernels behind LaunchContext; for asking what is supported, never for calling outside a
  /// launch.
  virtual Kernels& kernels() = 0;

  /// For the handles and nodes that every step makes anew: what comes back is kept for the next
  /// ones. Outlives the device for as long as something lies in it. Any thread.
  std::pmr::memory_resource& host_memory() const { return *host_memory_; }

  OpContext& context() { return context_; }
  const OpContext& context() const { return context_; }
  /// As torch.manual_seed for this device; draws begin anew.
  void set_random_seed(std::uint64_t seed) { random_ = {seed, 0, 0, 0}; }
  /// The key of the next random op: (seed, rank, step of the context, number of draws in that
  /// step).
  RandomKey next_random_key() {
    const auto step = static_cast<std::uint32_t>(context_.step + 1);
    if (step != random_.step) random_.draw = 0;
    random_.step = step;
    RandomKey key = random_;
    key.rank = static_cast<std::uint32_t>(rank());
    ++random_.draw;
    return key;
  }
  OpListener* listener() const { return listener_; }
  void set_listener(OpListener* listener) { listener_ = listener; }

 private:
  OpContext context_;
  RandomKey random_;
  OpListener* listener_ = nullptr;
  struct LetGo {
    void operator()(std::pmr::memory_resource* memory) const;
  };
  std::unique_ptr<std::pmr::memory_resource, LetGo> host_memory_;
};

/// Sets the OpContext of one or more devices for a scope and restores it at the end.
class ContextScope {
 public:
  ContextScope(Device& device, const OpContext& context)
      : device_(device), before_(device.context()) {
    device_.context() = context;
  }
  /// Only the phase changes.
  ContextScope(Device& device, Phase phase) : device_(device), before_(device.context()) {
    device_.context().phase = phase;
  }
  ~ContextScope() { device_.context() = before_; }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Device& device_;
  OpContext before_;
};

/// Makes a device record no autograd graph for a scope (torch.no_grad).
class NoGradScope {
 public:
  explicit NoGradScope(Device& device) : device_(device), before_(device.context().grad_enabled) {
    device_.context().grad_enabled = false;
  }
  ~NoGradScope() { device_.context().grad_enabled = before_; }
  NoGradScope(const NoGradScope&) = delete;
  NoGradScope& operator=(const NoGradScope&) = delete;

 private:
  Device& device_;
  bool before_;
};

}  // namespace ringside
