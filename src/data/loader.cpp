// The loader: from rows in host memory to batches on a device.
//
// Host read, then (with pin_memory) a copy into pinned memory, both by a worker if there are any;
// then a copy to the device on its copy stream, which the compute stream waits for. Ops are traced
// by the thread that calls next(), since only that thread uses the device, in the order of batches.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "data/prefetcher.h"
#include "data/staging.h"
#include "ringside/data.h"
#include "ringside/error.h"

namespace ringside {
namespace {

constexpr int kMostWorkers = 256;
constexpr int kMostPrefetch = 4096;
constexpr std::string_view kLoaderThread = "loader";

void check(const LoaderOptions& options) {
  const auto fail = [](std::string_view what, std::int64_t value, const std::string& must) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{} {}: must be {}", what, value, must));
  };
  if (options.batch_size < 1) fail("batch size", options.batch_size, "at least 1");
  if (options.workers < 0 || options.workers > kMostWorkers) {
    fail("loader workers", options.workers, fmt::format("from 0 to {}", kMostWorkers));
  }
  if (options.workers > 0 && (options.prefetch < 1 || options.prefetch > kMostPrefetch)) {
    fail("loader prefetch", options.prefetch, fmt::format("from 1 to {}", kMostPrefetch));
  }
  if (!is_trainable(options.dtype)) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("loader dtype {}: must be float32 or float64", to_string(options.dtype)));
  }
}

class HostLoader final : public Loader {
 public:
  HostLoader(const Dataset& dataset, std::vector<std::int64_t> indices, Device& device,
             const LoaderOptions& options)
      : dataset_(dataset), indices_(std::move(indices)), device_(device), options_(options) {
    check(options);
    const auto count = static_cast<std::int64_t>(indices_.size());
    const bool partial = count % options.batch_size != 0 && !options.drop_last;
    batches_ = count / options.batch_size + (partial ? 1 : 0);
    if (options.workers > 0 && batches_ > 0) {
      prefetcher_.emplace(options.workers, std::int64_t{options.workers} * options.prefetch,
                          batches_, [this](std::int64_t batch) { return prepare(batch); });
    }
  }

  std::int64_t batches() const override { return batches_; }

  bool next(Batch& batch) override {
    if (next_ == batches_) return false;
    const std::shared_ptr<Staging> staging = prefetcher_ ? prefetcher_->take() : prepare(next_);
    ++next_;
    const OpId prepared = trace_host_work(*staging);
    const ContextScope load(device_, Phase::kLoad);
    batch = to_device(staging, prepared);
    return true;
  }

 private:
  // On a worker, or on the calling thread without workers.
  std::shared_ptr<Staging> prepare(std::int64_t batch) {
    const std::int64_t first = batch * options_.batch_size;
    const std::int64_t left = static_cast<std::int64_t>(indices_.size()) - first;
    const std::span<const std::int64_t> indices = std::span<const std::int64_t>(indices_).subspan(
        static_cast<std::size_t>(first),
        static_cast<std::size_t>(std::min(left, options_.batch_size)));
    std::shared_ptr<Staging> staging = pageable_.take();
    read_batch(dataset_, indices, options_.dtype, *staging);
    if (!options_.pin_memory) return staging;
    std::shared_ptr<Staging> pinned = pinned_.take();
    *pinned = *staging;
    return pinned;
  }

  // Returns the op after which the staging buffer is ready.
  OpId trace_host_work(const Staging& staging) {
    OpListener* listener = device_.listener();
    if (listener == nullptr) return kNoOp;
    OpContext context = device_.context();
    context.phase = Phase::kLoad;
    context.host_thread = kLoaderThread;
    const ContextScope scope(device_, context);
    OpInfo info;
    info.kind = OpKind::kHost;
    info.label = dataset_.name;
    info.bytes = staging.bytes();
    info.name = "host-read";
    const OpId read = listener->on_host(device_, info);
    if (!options_.pin_memory) return read;
    info.name = "pin-copy";
    return listener->on_host(device_, info);
  }

  Batch to_device(const std::shared_ptr<Staging>& staging, OpId prepared) {
    std::vector<std::int64_t> sizes = {staging->rows};
    const auto sample = dataset_.sample_shape.sizes();
    sizes.insert(sizes.end(), sample.begin(), sample.end());
    const Shape inputs(sizes);
    const bool text = dataset_.is_text();
    const DType dtype = text ? DType::kInt64 : options_.dtype;
    Batch batch{Tensor::empty(device_, inputs, dtype, MemoryKind::kInputs, "input"),
                Tensor::empty(device_, text ? inputs : Shape{staging->rows}, DType::kInt64,
                              MemoryKind::kInputs, "targets")};
    copy_to(batch.inputs, staging, staging->inputs.data(), prepared);
    copy_to(batch.targets, staging, staging->targets.data(), kNoOp);  // after the inputs

    const std::shared_ptr<Event> copied = device_.stream(StreamKind::kCopy).record();
    device_.compute().wait(copied);
    const bool asynchronous = options_.pin_memory && options_.non_blocking;
    if (!asynchronous) wait_on_host(*copied);
    return batch;
  }

  // `source` lies in `staging`, which the launch keeps.
  void copy_to(const Tensor& destination, const std::shared_ptr<Staging>& staging,
               const void* source, OpId after) {
    const TensorRef written{destination.name(), &destination.array()};
    OpInfo info;
    info.kind = OpKind::kCopy;
    info.name = "copy-host-to-device";
    info.label = destination.name();
    info.bytes = destination.bytes();
    info.writes = {&written, 1};
    info.awaited = after;
    device_.stream(StreamKind::kCopy)
        .submit(info, [staging, source, to = destination.array()](LaunchContext& context) {
          context.kernels.copy_from_host(context, to, source);
        });
  }

  void wait_on_host(Event& copied) {
    copied.synchronize();
    OpListener* listener = device_.listener();
    if (listener == nullptr) return;
    OpInfo info;
    info.kind = OpKind::kWait;
    info.name = "wait-copy";
    info.awaited = copied.op();
    listener->on_host(device_, info);
  }

  const Dataset& dataset_;
  const std::vector<std::int64_t> indices_;
  Device& device_;
  const LoaderOptions options_;
  std::int64_t batches_ = 0;
  std::int64_t next_ = 0;
  StagingPool pageable_;
  StagingPool pinned_;
  std::optional<Prefetcher> prefetcher_;  // last: its workers use all the others
};

}  // namespace

std::unique_ptr<Loader> make_loader(const Dataset& dataset, std::vector<std::int64_t> indices,
                                    Device& device, const LoaderOptions& options) {
  return std::make_unique<HostLoader>(dataset, std::move(indices), device, options);
}

}  // namespace ringside
