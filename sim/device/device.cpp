#include "sim/device/device.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "ringside/error.h"

namespace ringside::sim {
namespace {

class StreamEvent : public Event, public Markable {
 public:
  StreamEvent(OpId op, const Stream* stream, std::shared_ptr<DeviceState> device, Mark mark)
      : Event(op, stream), device_(std::move(device)), mark_(std::move(mark)) {}
  bool done() const override { return mark_.reached(); }
  void synchronize() override { device_->scheduler->synchronize(*device_, mark_); }
  const Mark& mark() const override { return mark_; }
  const Scheduler* owner() const override { return device_->scheduler; }

 private:
  std::shared_ptr<DeviceState> device_;
  Mark mark_;
};

}  // namespace

void SimStream::enqueue(Launch&& launch) { enqueue_task({std::move(launch), {}, {}}); }

void SimStream::enqueue_op(const OpInfo& info, Launch&& launch) {
  enqueue_task({std::move(launch), ShortText(info.name), ShortText(info.label)});
}

void SimStream::enqueue_task(LaunchTask&& task) {
  scheduler().enqueue(queue(), std::move(task));
  if (scheduler().options().launch_blocking) synchronize();
}

std::shared_ptr<Event> SimStream::record() {
  const std::pmr::polymorphic_allocator<> handles(&device_.host_memory());
  return std::allocate_shared<StreamEvent>(handles, last_op(), this, state_.shared_from_this(),
                                           state_.end_of(kind_));
}

void SimStream::enqueue_wait(const std::shared_ptr<Event>& event) {
  const auto* markable = dynamic_cast<const Markable*>(event.get());
  if (markable == nullptr || markable->owner() != state_.scheduler) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("the {} stream of device {} cannot wait for an event of another world",
                            to_string(kind_), device_.name()),
                "use one world for everything that works together");
  }
  scheduler().enqueue(queue(), markable->mark());
}

void SimStream::synchronize() { scheduler().synchronize(state_, state_.end_of(kind_)); }

SimDevice::SimDevice(std::shared_ptr<DeviceState> state, std::size_t capacity)
    : state_(std::move(state)),
      ledger_(std::make_shared<MemoryLedger>(state_->name, capacity)),
      blocks_(std::make_shared<BlockCache>()),
      streams_{SimStream{*this, *state_, StreamKind::kCompute},
               SimStream{*this, *state_, StreamKind::kCopy},
               SimStream{*this, *state_, StreamKind::kCommunication}} {}

Buffer SimDevice::allocate(std::size_t bytes, MemoryKind kind) {
  std::shared_ptr<void> charge = ledger_->charge(bytes, kind);
  void* block = nullptr;
  try {
    block = blocks_->take(bytes);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kOutOfMemory,
                fmt::format("device {}: the machine has no memory left for {} bytes of {}", name(),
                            bytes, to_string(kind)),
                "take a smaller batch or model, or simulate fewer devices");
  }
  const std::pmr::polymorphic_allocator<> handles(&host_memory());
  return {std::allocate_shared<Storage>(
              handles, block, bytes,
              [blocks = blocks_, bytes](void* data) { blocks->give_back(data, bytes); }),
          std::move(charge)};
}

}  // namespace ringside::sim
