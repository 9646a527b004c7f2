#include "backends/cuda/cuda_stream.h"

#include <fmt/format.h>

#include <utility>

#include "backends/cuda/check.h"
#include "backends/cuda/cuda_device.h"
#include "ringside/error.h"

namespace ringside::cuda {
namespace {

class CudaEvent : public Event {
 public:
  CudaEvent(OpId op, const CudaStream* stream, CudaDevice& device)
      : Event(op, stream), device_(device) {
    RINGSIDE_CUDA_CHECK(cudaEventRecord(native_.get(), stream->native()));
  }
  bool done() const override { return native_.done(); }
  void synchronize() override {
    device_.make_current();
    RINGSIDE_CUDA_CHECK(cudaEventSynchronize(native_.get()));
    device_.throw_if_value_reported();
  }
  cudaEvent_t native() const { return native_.get(); }

 private:
  CudaDevice& device_;
  NativeEvent native_;
};

}  // namespace

NativeEvent::NativeEvent() {
  RINGSIDE_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
}

NativeEvent::~NativeEvent() {
  if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
}

NativeEvent::NativeEvent(NativeEvent&& other) noexcept
    : event_(std::exchange(other.event_, nullptr)) {}

NativeEvent& NativeEvent::operator=(NativeEvent&& other) noexcept {
  std::swap(event_, other.event_);
  return *this;
}

bool NativeEvent::done() const {
  if (cudaEventQuery(event_) != cudaErrorNotReady) return true;
  clear_cuda_error();
  return false;
}

CudaStream::CudaStream(CudaDevice& device, StreamKind kind) : device_(device), kind_(kind) {
  device_.make_current();
  RINGSIDE_CUDA_CHECK(cudaStreamCreateWithFlags(&native_, cudaStreamNonBlocking));
}

// The arrays in flight may go only after the work that uses them.
CudaStream::~CudaStream() {
  static_cast<void>(cudaStreamSynchronize(native_));
  in_flight_.clear();
  static_cast<void>(cudaStreamDestroy(native_));
}

Device& CudaStream::device() { return device_; }

void CudaStream::enqueue(Launch&& launch) {
  device_.make_current();
  let_go_of_done();
  const auto kept = std::make_shared<Launch>(std::move(launch));
  LaunchContext context{device_.kernels(), native_};
  try {
    (*kept)(context);
  } catch (...) {
    keep_alive(kept);  // a part of it may be enqueued
    throw;
  }
  keep_alive(kept);
}

void CudaStream::enqueue_op(const OpInfo& info, Launch&& launch) {
  try {
    enqueue(std::move(launch));
    if (device_.launch_blocking()) synchronize();
  } catch (const Error& error) {
    throw error.with_prefix(fmt::format("op '{}': ", info.name));
  }
}

// An event can be recorded only on the GPU that was current when it was made; a thread that drives
// many ranks comes here with any of them current.
void CudaStream::keep_alive(std::shared_ptr<const void> used) {
  device_.make_current();
  if (spare_.empty()) spare_.emplace_back();
  in_flight_.push_back({std::move(spare_.back()), std::move(used)});
  spare_.pop_back();
  RINGSIDE_CUDA_CHECK(cudaEventRecord(in_flight_.back().end.get(), native_));
}

void CudaStream::let_go_of_done() {
  while (!in_flight_.empty() && in_flight_.front().end.done()) {
    spare_.push_back(std::move(in_flight_.front().end));
    in_flight_.pop_front();
  }
}

std::shared_ptr<Event> CudaStream::record() {
  device_.make_current();
  return std::make_shared<CudaEvent>(last_op(), this, device_);
}

void CudaStream::enqueue_wait(const std::shared_ptr<Event>& event) {
  const auto* recorded = dynamic_cast<const CudaEvent*>(event.get());
  if (recorded == nullptr) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("the {} stream of device {} cannot wait for an event of another world",
                            to_string(kind_), device_.name()),
                "use one world for everything that works together");
  }
  device_.make_current();
  RINGSIDE_CUDA_CHECK(cudaStreamWaitEvent(native_, recorded->native(), 0));
}

void CudaStream::synchronize() {
  device_.make_current();
  RINGSIDE_CUDA_CHECK(cudaStreamSynchronize(native_));
  let_go_of_done();
  device_.throw_if_value_reported();
}

}  // namespace ringside::cuda
