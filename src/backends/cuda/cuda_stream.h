// Streams and events of a GPU.
//
// A launch runs at once on the submitting host thread and enqueues on the native stream. The stream
// keeps it, and with it the arrays it has captured, until the GPU has done its work; what is done
// is let go of at the next call. Threads: one at a time per device, as device.h says.
#pragma once

#include <cuda_runtime.h>

#include <deque>
#include <memory>
#include <vector>

#include "ringside/device.h"

namespace ringside::cuda {

class CudaDevice;

/// Owns a cudaEvent_t without time stamps.
class NativeEvent {
 public:
  NativeEvent();
  ~NativeEvent();
  NativeEvent(NativeEvent&& other) noexcept;
  NativeEvent& operator=(NativeEvent&& other) noexcept;
  NativeEvent(const NativeEvent&) = delete;
  NativeEvent& operator=(const NativeEvent&) = delete;
  cudaEvent_t get() const { return event_; }
  /// True also when the device has failed: the error surfaces at a synchronisation.
  bool done() const;

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaStream : public Stream {
 public:
  CudaStream(CudaDevice& device, StreamKind kind);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  Device& device() override;
  StreamKind kind() const override { return kind_; }
  void enqueue(Launch&& launch) override;
  std::shared_ptr<Event> record() override;
  void synchronize() override;

  cudaStream_t native() const { return native_; }
  /// Keeps `used` until all work that is enqueued now is done.
  void keep_alive(std::shared_ptr<const void> used);

 protected:
  void enqueue_op(const OpInfo& info, Launch&& launch) override;
  void enqueue_wait(const std::shared_ptr<Event>& event) override;

 private:
  struct InFlight {
    NativeEvent end;
    std::shared_ptr<const void> used;
  };
  void let_go_of_done();

  CudaDevice& device_;
  StreamKind kind_;
  cudaStream_t native_ = nullptr;
  std::deque<InFlight> in_flight_;  // in stream order
  std::vector<NativeEvent> spare_;  // making an event costs more than recording it
};

}  // namespace ringside::cuda
