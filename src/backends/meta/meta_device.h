// A device that executes nothing: it accounts memory and lets the listener hear of every op.
//
// Storage has no data, launches are dropped unseen, every event is done. Threads: none of its own.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "core/memory_ledger.h"
#include "ringside/device.h"
#include "ringside/kernels.h"

namespace ringside {

class MetaStream : public Stream {
 public:
  MetaStream(Device& device, StreamKind kind) : device_(device), kind_(kind) {}
  Device& device() override { return device_; }
  StreamKind kind() const override { return kind_; }
  void enqueue(Launch&& /*launch*/) override {}
  std::shared_ptr<Event> record() override;
  void synchronize() override {}

 protected:
  void enqueue_op(const OpInfo& /*info*/, Launch&& /*launch*/) override {}
  void enqueue_wait(const std::shared_ptr<Event>& event) override;

 private:
  Device& device_;
  StreamKind kind_;
};

/// Every kernel says that it is not there: no launch ever asks for one.
class MetaKernels : public Kernels {
 public:
  std::string_view name() const override { return "meta"; }
};

class MetaDevice : public Device {
 public:
  /// `capacity` in bytes, 0 = unlimited.
  MetaDevice(int rank, std::size_t capacity);
  int rank() const override { return rank_; }
  std::string name() const override { return name_; }
  bool executes() const override { return false; }
  Buffer allocate(std::size_t bytes, MemoryKind kind) override;
  MemoryAccount memory() const override { return ledger_->account(); }
  Stream& stream(StreamKind kind) override { return streams_[static_cast<std::size_t>(kind)]; }
  void synchronize() override {}
  Kernels& kernels() override { return kernels_; }

 private:
  int rank_;
  std::string name_;
  std::shared_ptr<MemoryLedger> ledger_;
  MetaKernels kernels_;
  std::array<MetaStream, 3> streams_;
};

}  // namespace ringside
