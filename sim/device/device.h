// Device, Stream and Event over the scheduler.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "core/memory_ledger.h"
#include "ringside/device.h"
#include "sim/device/memory.h"
#include "sim/device/scheduler.h"

namespace ringside::sim {

/// Something that a stream can wait for: what all events of an engine have in common.
class Markable {
 public:
  virtual ~Markable() = default;
  virtual const Mark& mark() const = 0;
  virtual const Scheduler* owner() const = 0;
};

class SimStream : public Stream {
 public:
  SimStream(Device& device, DeviceState& state, StreamKind kind)
      : device_(device), state_(state), kind_(kind) {}
  Device& device() override { return device_; }
  StreamKind kind() const override { return kind_; }
  void enqueue(Launch&& launch) override;
  std::shared_ptr<Event> record() override;
  void synchronize() override;

  StreamQueue& queue() { return state_.stream(kind_); }
  Scheduler& scheduler() const { return *state_.scheduler; }

 protected:
  void enqueue_op(const OpInfo& info, Launch&& launch) override;
  void enqueue_wait(const std::shared_ptr<Event>& event) override;

 private:
  void enqueue_task(LaunchTask&& task);

  Device& device_;
  DeviceState& state_;
  StreamKind kind_;
};

class SimDevice : public Device {
 public:
  SimDevice(std::shared_ptr<DeviceState> state, std::size_t capacity);
  int rank() const override { return state_->rank; }
  std::string name() const override { return state_->name; }
  bool executes() const override { return true; }
  Buffer allocate(std::size_t bytes, MemoryKind kind) override;
  MemoryAccount memory() const override { return ledger_->account(); }
  Stream& stream(StreamKind kind) override { return streams_[static_cast<std::size_t>(kind)]; }
  void synchronize() override { state_->scheduler->synchronize(*state_); }
  Kernels& kernels() override { return *state_->kernels; }

 private:
  std::shared_ptr<DeviceState> state_;
  std::shared_ptr<MemoryLedger> ledger_;
  std::shared_ptr<BlockCache> blocks_;
  std::array<SimStream, 3> streams_;
};

}  // namespace ringside::sim
