// A device that runs every launch at once on the calling thread: what unit tests of tensors and
// layers need, without threads. With `executes` false it runs nothing, as meta.
//
// An error thrown by a launch is kept and surfaces at the next synchronisation, as on real devices;
// launches in between are skipped. Every op's name is kept in `ops` for tests of order.
#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "ringside/device.h"
#include "ringside/error.h"
#include "ringside/kernels.h"
#include "tensor/cpu_kernels.h"

namespace ringside::test {

class InlineDevice final : public Device {
 public:
  explicit InlineDevice(bool executes = true, std::string name = "inline:0")
      : executes_(executes),
        name_(std::move(name)),
        kernels_(make_cpu_kernels()),
        stream_(*this),
        account_(std::make_shared<MemoryAccount>()) {
    set_listener(&recorder_);
  }

  int rank() const override { return 0; }
  std::string name() const override { return name_; }
  bool executes() const override { return executes_; }
  MemoryAccount memory() const override { return *account_; }
  Stream& stream(StreamKind) override { return stream_; }
  void synchronize() override { stream_.synchronize(); }
  Kernels& kernels() override { return *kernels_; }

  Buffer allocate(std::size_t bytes, MemoryKind kind) override {
    const auto change = [account = account_, kind](std::size_t added, std::size_t removed) {
      auto& of_kind = account->used_by_kind[static_cast<std::size_t>(kind)];
      of_kind += added - removed;
      account->used += added - removed;
      account->peak = std::max(account->peak, account->used);
    };
    change(bytes, 0);
    void* data = executes_ ? ::operator new(bytes, kAlignment) : nullptr;
    auto storage = std::make_shared<Storage>(
        data, bytes, [](void* memory) { ::operator delete(memory, kAlignment); });
    const std::shared_ptr<void> accounted(nullptr, [change, bytes](void*) { change(0, bytes); });
    return {std::move(storage), accounted};
  }

  /// The names of the ops submitted so far, in order.
  const std::vector<std::string>& ops() const { return recorder_.names; }
  void clear_ops() { recorder_.names.clear(); }

 private:
  static constexpr std::align_val_t kAlignment{64};

  class InlineEvent final : public Event {
   public:
    InlineEvent() : Event(kNoOp) {}
    bool done() const override { return true; }
    void synchronize() override {}
  };

  class InlineStream final : public Stream {
   public:
    explicit InlineStream(InlineDevice& device) : device_(device) {}
    Device& device() override { return device_; }
    StreamKind kind() const override { return StreamKind::kCompute; }
    void enqueue(Launch&& launch) override {
      if (!device_.executes_ || error_) return;
      LaunchContext context{*device_.kernels_};
      try {
        launch(context);
      } catch (...) {
        error_ = std::current_exception();
      }
    }
    std::shared_ptr<Event> record() override { return std::make_shared<InlineEvent>(); }
    void synchronize() override {
      if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }

   protected:
    void enqueue_wait(const std::shared_ptr<Event>&) override {}

   private:
    InlineDevice& device_;
    std::exception_ptr error_;
  };

  struct Recorder final : OpListener {
    OpId on_submit(Stream&, const OpInfo& info) override {
      names.emplace_back(info.name);
      return kNoOp;
    }
    void on_enqueued(Stream&, OpId, const OpInfo&) override {}
    OpId on_host(Device&, const OpInfo&) override { return kNoOp; }
    std::vector<std::string> names;
  };

  bool executes_;
  std::string name_;
  std::unique_ptr<Kernels> kernels_;
  InlineStream stream_;
  Recorder recorder_;
  std::shared_ptr<MemoryAccount> account_;
};

}  // namespace ringside::test
