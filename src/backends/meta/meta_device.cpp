#include "backends/meta/meta_device.h"

#include <fmt/format.h>

#include <utility>

#include "ringside/error.h"

namespace ringside {
namespace {

class MetaEvent : public Event {
 public:
  MetaEvent(OpId op, const Stream* stream) : Event(op, stream) {}
  bool done() const override { return true; }
  void synchronize() override {}
};

}  // namespace

std::shared_ptr<Event> MetaStream::record() { return std::make_shared<MetaEvent>(last_op(), this); }

void MetaStream::enqueue_wait(const std::shared_ptr<Event>& event) {
  if (dynamic_cast<const MetaEvent*>(event.get()) != nullptr) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("the {} stream of device {} cannot wait for an event of another world",
                          to_string(kind_), device_.name()),
              "use one world for everything that works together");
}

MetaDevice::MetaDevice(int rank, std::size_t capacity)
    : rank_(rank),
      name_(fmt::format("meta:{}", rank)),
      ledger_(std::make_shared<MemoryLedger>(name_, capacity)),
      streams_{MetaStream{*this, StreamKind::kCompute}, MetaStream{*this, StreamKind::kCopy},
               MetaStream{*this, StreamKind::kCommunication}} {}

Buffer MetaDevice::allocate(std::size_t bytes, MemoryKind kind) {
  std::shared_ptr<void> charge = ledger_->charge(bytes, kind);
  return {std::make_shared<Storage>(nullptr, bytes, Storage::Release()), std::move(charge)};
}

}  // namespace ringside
