// Bodies of stream_queue.h.
#include "sim/device/stream_queue.h"

#include <fmt/format.h>

namespace ringside::sim {

std::string StreamQueue::describe() const {
  return fmt::format("the {} stream of device {}", to_string(kind), device->name);
}

Failure StreamQueue::failure_at(std::uint64_t target, std::int64_t generation) const {
  if (device->failed_generation.load(std::memory_order_acquire) != generation) return nullptr;
  const std::lock_guard lock(device->mutex);
  return device->failed_generation == generation && target > failed_from ? device->failure
                                                                         : nullptr;
}

Mark DeviceState::end_of(StreamKind kind) {
  StreamQueue& queue = stream(kind);
  return {std::shared_ptr<Counter>(shared_from_this(), &queue), queue.tasks.pushed(),
          generation.load(std::memory_order_relaxed)};
}

Failure DeviceState::failure_of(std::int64_t task_generation) const {
  if (task_generation > failed_generation.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(mutex);
  return failure;
}

void DeviceState::fail(std::int64_t task_generation, const Failure& cause) {
  const std::lock_guard lock(mutex);
  if (task_generation <= failed_generation.load(std::memory_order_relaxed)) return;
  failure = cause;
  for (StreamQueue& stream : streams) {
    stream.failed_from = stream.value.load(std::memory_order_relaxed);
  }
  failed_generation.store(task_generation, std::memory_order_release);
  pending.store(true, std::memory_order_release);
}

Failure DeviceState::take_failure() {
  if (!pending.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(mutex);
  if (!pending.exchange(false, std::memory_order_relaxed)) return nullptr;
  generation.store(failed_generation.load(std::memory_order_relaxed) + 1,
                   std::memory_order_relaxed);
  return failure;
}

}  // namespace ringside::sim
