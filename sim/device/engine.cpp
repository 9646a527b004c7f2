#include "sim/device/engine.h"

#include <fmt/format.h>

#include <utility>

#include "ringside/error.h"
#include "sim/device/device.h"

namespace ringside::sim {
namespace {

class SimLatch : public Latch, public Markable {
 public:
  explicit SimLatch(Scheduler& scheduler)
      : scheduler_(scheduler), counter_(std::make_shared<LatchCounter>()), mark_{counter_, 1} {}
  bool done() const override { return mark_.reached(); }
  void synchronize() override {
    const Failure deadlock = scheduler_.wait(mark_);
    if (done() && counter_->failure) raise(counter_->failure);
    if (deadlock) raise(deadlock);
  }
  void complete(Failure failure) override { scheduler_.complete_latch(*counter_, failure); }
  const Mark& mark() const override { return mark_; }
  const Scheduler* owner() const override { return &scheduler_; }

 private:
  Scheduler& scheduler_;
  std::shared_ptr<LatchCounter> counter_;
  Mark mark_;
};

}  // namespace

void Gate::complete(const Failure& failure) const {
  if (!device_ || !stream_->open_gate.leave(number_)) return;
  device_->scheduler->complete_gate(*stream_, failure);
}

Failure Gate::poison() const { return stream_->open_gate.poison(); }

struct Engine::Impl {
  explicit Impl(const EngineOptions& options) : scheduler(options) {}
  Scheduler scheduler;
};

Engine::Engine(const EngineOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Engine::~Engine() = default;

std::unique_ptr<Device> Engine::make_device(int rank, std::string name, std::size_t capacity,
                                            Kernels& kernels) {
  return std::make_unique<SimDevice>(impl_->scheduler.add_device(rank, std::move(name), kernels),
                                     capacity);
}

void Engine::set_call_directory(CallDirectory* directory) {
  impl_->scheduler.set_call_directory(directory);
}

void Engine::enqueue_gate(Stream& stream, std::shared_ptr<GateKeeper> keeper) {
  auto* ours = dynamic_cast<SimStream*>(&stream);
  if (ours == nullptr || &ours->scheduler() != &impl_->scheduler) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("the {} stream of device {} belongs to another world",
                            to_string(stream.kind()), stream.device().name()),
                "use one world for everything that works together");
  }
  impl_->scheduler.enqueue(ours->queue(), std::move(keeper));
}

void Engine::post(PoolTask& task, int part, std::size_t core) {
  impl_->scheduler.post(task, part, core);
}

std::size_t Engine::own_core() { return impl_->scheduler.own_core(); }

std::shared_ptr<Latch> Engine::make_latch() { return std::make_shared<SimLatch>(impl_->scheduler); }

std::shared_ptr<void> Engine::hold() {
  Scheduler* scheduler = &impl_->scheduler;
  scheduler->begin_hold();
  return {scheduler, [](Scheduler* held) { held->end_hold(); }};
}

void Engine::run(const std::vector<int>& ranks, const std::function<void(int rank)>& function) {
  impl_->scheduler.run(ranks, function);
}

void Engine::drive(const std::function<void()>& function) { impl_->scheduler.drive(function); }

}  // namespace ringside::sim
