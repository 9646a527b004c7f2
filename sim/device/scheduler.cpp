// Running tasks: the ready queues, and what each kind of task does.
#include "sim/device/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace ringside::sim {
namespace {

/// A thread turns to another stream after this many tasks, so that none has to wait for a long
/// queue.
constexpr int kTasksPerTurn = 8;

std::size_t worker_count(int asked) {
  if (asked > 0) return static_cast<std::size_t>(asked);
  return std::max(1U, std::thread::hardware_concurrency());
}

/// A launch's exception as the user will read it.
Failure describe_failure(const DeviceState& device, const LaunchTask& task, bool blocking,
                         const std::exception_ptr& thrown) {
  const Failure cause = to_failure(thrown);
  const std::string_view name = task.name.view();
  const std::string_view label = task.label.view();
  std::string what = name.empty() ? "a launch" : fmt::format("'{}'", name);
  if (!label.empty()) what += fmt::format(" of '{}'", label);
  std::string message = fmt::format("device {}: {} failed: {}", device.name, what, cause->what());
  std::string hint = cause->hint();
  if (!blocking) {
    message += " (asynchronous: it happened earlier than the call that reports it)";
    if (hint.empty()) hint = "set RINGSIDE_LAUNCH_BLOCKING=1 to see which call it was";
  }
  return std::make_shared<const Error>(cause->kind(), message, hint);
}

Failure closed_world() {
  return std::make_shared<const Error>(ErrorKind::kRankFailed,
                                       "the world was closed before this call was complete");
}

/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (OOPSLA 2014).
std::uint64_t split_mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

Scheduler::Scheduler(const EngineOptions& options)
    : options_(options),
      cores_(worker_count(options.workers)),
      spare_workers_(static_cast<int>(cores_)),
      seen_taken_(cores_) {
  for (std::size_t core = 0; core < cores_; ++core) {
    ready_.push_back(std::make_unique<ReadyQueue<Ready>>());
  }
}

// What waits for a call that will never come is let go, again and again until all has run dry.
Scheduler::~Scheduler() {
  stopping_ = true;
  const auto dry = [&] {
    return std::all_of(devices_.begin(), devices_.end(), [](const auto& device) {
      return std::all_of(device->streams.begin(), device->streams.end(), [](const auto& stream) {
        return stream.value.load() == stream.tasks.pushed();
      });
    });
  };
  for (;;) {
    if (run_ready(0, nullptr)) continue;
    Lock lock(parking_);
    if (active_ != 0 || !nothing_ready()) {
      lock.unlock();
      std::this_thread::yield();
      continue;
    }
    if (dry()) break;
    const Blockers blockers = find_blockers();
    lock.unlock();
    unblock(blockers, closed_world());
  }
  {
    const Lock lock(parking_);
    work_.notify_all();
  }
  for (std::thread& worker : workers_) worker.join();
}

std::shared_ptr<DeviceState> Scheduler::add_device(int rank, std::string name, Kernels& kernels) {
  auto device = std::make_shared<DeviceState>();
  device->scheduler = this;
  device->rank = rank;
  device->name = std::move(name);
  device->kernels = &kernels;
  for (std::size_t i = 0; i < device->streams.size(); ++i) {
    device->streams[i].device = device.get();
    device->streams[i].kind = static_cast<StreamKind>(i);
  }
  const Lock lock(parking_);
  devices_.push_back(device);
  return device;
}

void Scheduler::post(PoolTask& task, int part, std::size_t core) {
  push({nullptr, &task, part}, core % cores_);
}

std::size_t Scheduler::home_of(const StreamQueue& stream) const {
  return static_cast<std::size_t>(stream.device->rank) % cores_;
}

void Scheduler::make_ready(StreamQueue& stream) { push({&stream}, home_of(stream)); }

void Scheduler::push(Ready item, std::size_t core) {
  ready_[core]->push(item);
  need_worker();
}

bool Scheduler::nothing_ready() const {
  return std::all_of(ready_.begin(), ready_.end(),
                     [](const auto& queue) { return queue->empty(); });
}

bool Scheduler::run_ready(std::size_t core, const Mark* until) {
  for (std::size_t i = 0; i < cores_; ++i) {
    const auto item = ready_[(core + i) % cores_]->pop();
    if (!item) continue;
    if (item->stream != nullptr) {
      run_stream(*item->stream, until);
    } else {
      run_posted(*item->posted, item->part);
    }
    return true;
  }
  return false;
}

void Scheduler::run_stream(StreamQueue& stream, const Mark* until) {
  for (int tasks = 0;; ++tasks) {
    if (stream.tasks.empty()) {
      if (release(stream)) return;
      continue;
    }
    if (tasks == kTasksPerTurn || (tasks > 0 && until != nullptr && until->reached())) {
      make_ready(stream);
      return;
    }
    const auto& body = stream.tasks.front().body;
    if (std::holds_alternative<LaunchTask>(body)) {
      run_launch(stream);
    } else if (std::holds_alternative<Mark>(body)) {
      if (!pass_mark(stream)) return;
      finish_first(stream);
    } else {
      reach_gate(stream);
      return;
    }
  }
}

void Scheduler::run_launch(StreamQueue& stream) {
  DeviceState& device = *stream.device;
  const std::int64_t generation = stream.tasks.front().generation;
  auto& task = std::get<LaunchTask>(stream.tasks.front().body);
  delay(stream);
  if (generation > device.failed_generation.load(std::memory_order_acquire)) {
    try {
      LaunchContext context{*device.kernels};
      task.launch(context);
    } catch (...) {
      device.fail(generation, describe_failure(device, task, options_.launch_blocking,
                                               std::current_exception()));
    }
  }
  finish_first(stream);
}

void Scheduler::run_posted(PoolTask& posted, int part) {
  try {
    posted.run(part);
  } catch (...) {
    const Failure failure = to_failure(std::current_exception());
    for (const auto& device : devices_) device->fail(device->generation, failure);
  }
}

bool Scheduler::pass_mark(StreamQueue& stream) {
  const Task& task = stream.tasks.front();
  const Mark& mark = std::get<Mark>(task.body);
  if (!mark.reached()) {
    Counter& counter = *mark.counter;
    const std::lock_guard lock(counter.mutex);
    counter.awaited_by_streams.store(true, std::memory_order_seq_cst);
    if (!mark.reached()) {
      counter.streams.push_back({mark.target, &stream});
      return false;
    }
  }
  if (const Failure failure = mark.failure()) stream.device->fail(task.generation, failure);
  return true;
}

void Scheduler::reach_gate(StreamQueue& stream) {
  DeviceState& device = *stream.device;
  Task& task = stream.tasks.front();
  // The gate opens during the call, if not before it returns: the stream is then another thread's.
  const auto keeper = std::move(std::get<std::shared_ptr<GateKeeper>>(task.body));
  delay(stream);
  const std::uint64_t number = stream.value.load(std::memory_order_relaxed);
  const Gate gate(device.shared_from_this(), stream, number);
  stream.open_gate.enter(number, device.failure_of(task.generation));
  if (stopping_) {
    gate.complete(closed_world());
    keeper->dropped();
    return;
  }
  try {
    keeper->reached(gate);
  } catch (...) {
    gate.complete(to_failure(std::current_exception()));
  }
}

void Scheduler::complete_gate(StreamQueue& stream, const Failure& failure) {
  if (failure) stream.device->fail(stream.tasks.front().generation, failure);
  finish_first(stream);
  if (stream.tasks.empty() && release(stream)) return;
  make_ready(stream);
}

void Scheduler::complete_latch(LatchCounter& latch, const Failure& failure) {
  if (latch.completed.exchange(true)) return;
  latch.failure = failure;
  grow(latch);
}

bool Scheduler::release(StreamQueue& stream) {
  const std::uint64_t done = stream.tasks.popped();
  stream.claimed.store(false, std::memory_order_seq_cst);
  // Was something pushed meanwhile, by a thread that still saw the stream claimed?
  return stream.tasks.pushed() == done || stream.claimed.exchange(true);
}

void Scheduler::finish_first(StreamQueue& stream) {
  stream.tasks.pop();  // what it kept alive is released before anyone learns that it is done
  grow(stream);
}

void Scheduler::grow(Counter& counter) {
  const std::uint64_t value = counter.value.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (counter.awaited_by_streams.load(std::memory_order_seq_cst)) {
    const std::lock_guard lock(counter.mutex);
    std::erase_if(counter.streams, [&](const Counter::WaitingStream& waiting) {
      if (waiting.target > value) return false;
      make_ready(*waiting.stream);
      return true;
    });
    counter.awaited_by_streams.store(!counter.streams.empty(), std::memory_order_seq_cst);
  }
  if (counter.awaited_by_hosts.load(std::memory_order_seq_cst)) wake_hosts(counter);
}

void Scheduler::delay(const StreamQueue& stream) const {
  if (options_.random_delay_us <= 0) return;
  const std::uint64_t index = stream.value.load(std::memory_order_relaxed);
  const auto place =
      static_cast<std::uint64_t>(stream.device->rank) * 3 + static_cast<std::uint64_t>(stream.kind);
  const std::uint64_t number = split_mix(options_.delay_seed ^ split_mix(place) ^ (index << 20U));
  const auto limit = static_cast<std::uint64_t>(options_.random_delay_us) + 1;
  std::this_thread::sleep_for(std::chrono::microseconds(number % limit));
}

}  // namespace ringside::sim
