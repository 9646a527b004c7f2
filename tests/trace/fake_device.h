// A device for tests of listeners: streams keep their launches until they are synchronised, then
// run them on the calling thread. Memory is host memory. Waiting for an event orders nothing.
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ringside/kernels.h"

namespace ringside::test {

class FakeKernels : public Kernels {
 public:
  std::string_view name() const override { return "fake"; }
  void copy_to_host(LaunchContext& /*context*/, void* destination,
                    const DeviceArray& source) override {
    std::memcpy(destination, source.raw(), source.bytes());
  }
};

class FakeEvent : public Event {
 public:
  FakeEvent(OpId op, const Stream* stream) : Event(op, stream) {}
  bool done() const override { return true; }
  void synchronize() override {}
};

class FakeStream : public Stream {
 public:
  FakeStream(Device& device, StreamKind kind, Kernels& kernels)
      : device_(device), kind_(kind), kernels_(kernels) {}
  Device& device() override { return device_; }
  StreamKind kind() const override { return kind_; }
  void enqueue(Launch&& launch) override { launches_.push_back(std::move(launch)); }
  std::shared_ptr<Event> record() override { return std::make_shared<FakeEvent>(last_op(), this); }
  void synchronize() override {
    LaunchContext context{kernels_, native_};
    for (const Launch& launch : std::exchange(launches_, {})) {
      if (launch) launch(context);
    }
  }
  /// As after an asynchronous error: what is enqueued never runs.
  void drop() { launches_.clear(); }
  void set_native(void* native) { native_ = native; }
  std::size_t waiting() const { return launches_.size(); }

 protected:
  void enqueue_wait(const std::shared_ptr<Event>& /*event*/) override {}

 private:
  Device& device_;
  StreamKind kind_;
  Kernels& kernels_;
  void* native_ = nullptr;
  std::vector<Launch> launches_;
};

class FakeDevice : public Device {
 public:
  explicit FakeDevice(int rank, OpListener* listener, bool executes = true)
      : rank_(rank),
        executes_(executes),
        streams_{FakeStream(*this, StreamKind::kCompute, kernels_),
                 FakeStream(*this, StreamKind::kCopy, kernels_),
                 FakeStream(*this, StreamKind::kCommunication, kernels_)} {
    set_listener(listener);
  }
  int rank() const override { return rank_; }
  std::string name() const override { return "fake:" + std::to_string(rank_); }
  bool executes() const override { return executes_; }
  Buffer allocate(std::size_t bytes, MemoryKind /*kind*/) override {
    void* data = executes_ ? std::malloc(bytes) : nullptr;
    return {std::make_shared<Storage>(data, bytes, [](void* memory) { std::free(memory); }), {}};
  }
  MemoryAccount memory() const override { return account; }
  FakeStream& stream(StreamKind kind) override { return streams_[static_cast<std::size_t>(kind)]; }
  void synchronize() override {
    for (FakeStream& stream : streams_) stream.synchronize();
  }
  Kernels& kernels() override { return kernels_; }

  MemoryAccount account;

 private:
  int rank_;
  bool executes_;
  FakeKernels kernels_;
  std::array<FakeStream, 3> streams_;
};

}  // namespace ringside::test
