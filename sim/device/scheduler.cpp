// Running tasks: the ready queue, the workers, and what each kind of task does.
#include "sim/device/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace ringside::sim {
namespace {

/// A worker turns to another stream after this many tasks, so that none has to wait for a long
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
  std::string what = task.name.empty() ? "a launch" : fmt::format("'{}'", task.name);
  if (!task.label.empty()) what += fmt::format(" of '{}'", task.label);
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

std::string StreamQueue::describe() const {
  return fmt::format("the {} stream of device {}", to_string(kind), device->name);
}

Failure StreamQueue::failure_at(std::uint64_t target, std::int64_t generation) const {
  return device->failed_generation == generation && target > failed_from ? device->failure
                                                                         : nullptr;
}

Mark DeviceState::end_of(StreamKind kind) {
  StreamQueue& queue = stream(kind);
  return {std::shared_ptr<Counter>(shared_from_this(), &queue), queue.enqueued, generation};
}

Scheduler::Scheduler(const EngineOptions& options)
    : options_(options), most_workers_(worker_count(options.workers)) {}

Scheduler::~Scheduler() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    unblock(find_blockers(), closed_world());
  }
  for (const auto& device : devices_) {
    for (const StreamQueue& stream : device->streams) wait(mark(*device, stream.kind));
  }
  {
    Lock lock(mutex_);
    while (run_ready(lock, kTasksPerTurn)) {
    }
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
  const Lock lock(mutex_);
  devices_.push_back(device);
  return device;
}

void Scheduler::enqueue(StreamQueue& stream, std::variant<LaunchTask, Mark, ReachedCallback> body) {
  const Lock lock(mutex_);
  stream.tasks.push_back({stream.device->generation, std::move(body)});
  ++stream.enqueued;
  if (stream.state == StreamQueue::State::kIdle) make_ready(stream);
}

Mark Scheduler::mark(DeviceState& device, StreamKind kind) {
  const Lock lock(mutex_);
  return device.end_of(kind);
}

void Scheduler::post(std::function<void()> task) {
  const Lock lock(mutex_);
  ready_.push_back({nullptr, std::move(task)});
  need_worker();
}

void Scheduler::complete_gate(Gate::State& gate, const Failure& failure) {
  const Lock lock(mutex_);
  open_gate(gate, failure);
}

void Scheduler::complete_latch(LatchCounter& latch, const Failure& failure) {
  const Lock lock(mutex_);
  open_latch(latch, failure);
}

void Scheduler::make_ready(StreamQueue& stream) {
  stream.state = StreamQueue::State::kReady;
  ready_.push_back({&stream, {}});
  need_worker();
}

void Scheduler::need_worker() {
  if (idle_workers_ > 0) {
    work_.notify_one();
  } else if (workers_.size() < most_workers_ && !stopping_) {
    try {
      workers_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      if (!workers_.empty()) return;  // slower, but it goes on
      throw Error(ErrorKind::kUnavailable,
                  fmt::format("cannot start a worker thread: {}", error.what()),
                  "raise the limit on threads (ulimit -u)");
    }
  }
}

void Scheduler::work() {
  Lock lock(mutex_);
  for (;;) {
    if (run_ready(lock, kTasksPerTurn)) continue;
    if (declare_deadlock(lock)) continue;
    if (stopping_) return;
    ++idle_workers_;
    work_.wait(lock);
    --idle_workers_;
  }
}

bool Scheduler::run_ready(Lock& lock, int tasks) {
  if (ready_.empty()) return false;
  Ready first = std::move(ready_.front());
  ready_.pop_front();
  ++running_;
  if (first.stream != nullptr) {
    run_stream(lock, *first.stream, tasks);
  } else {
    run_posted(lock, std::move(first.posted));
  }
  --running_;
  return true;
}

void Scheduler::run_stream(Lock& lock, StreamQueue& stream, int tasks) {
  stream.state = StreamQueue::State::kRunning;
  for (; !stream.tasks.empty(); --tasks) {
    if (tasks == 0) {
      make_ready(stream);
      return;
    }
    auto& body = stream.tasks.front().body;
    if (std::holds_alternative<LaunchTask>(body)) {
      run_launch(lock, stream);
    } else if (std::holds_alternative<Mark>(body)) {
      if (!pass_mark(stream)) return;
      finish_first(stream);
    } else {
      reach_gate(lock, stream);
      return;
    }
  }
  stream.state = StreamQueue::State::kIdle;
}

void Scheduler::run_launch(Lock& lock, StreamQueue& stream) {
  DeviceState& device = *stream.device;
  const std::int64_t generation = stream.tasks.front().generation;
  const bool skip = generation <= device.failed_generation;
  const std::uint64_t index = stream.value.load(std::memory_order_relaxed);
  LaunchTask task = std::move(std::get<LaunchTask>(stream.tasks.front().body));
  Failure failure;

  lock.unlock();
  delay(stream, index);
  if (!skip) {
    try {
      LaunchContext context{*device.kernels};
      task.launch(context);
    } catch (...) {
      failure = describe_failure(device, task, options_.launch_blocking, std::current_exception());
    }
  }
  task.launch = nullptr;  // what it kept alive is released before anyone learns that it is done
  lock.lock();

  if (failure) fail(stream, generation, failure);
  finish_first(stream);
}

void Scheduler::run_posted(Lock& lock, std::function<void()> posted) {
  Failure failure;
  lock.unlock();
  try {
    posted();
  } catch (...) {
    failure = to_failure(std::current_exception());
  }
  posted = nullptr;
  lock.lock();
  if (!failure) return;
  for (const auto& device : devices_) fail(device->streams[0], device->generation, failure);
}

bool Scheduler::pass_mark(StreamQueue& stream) {
  const Task& task = stream.tasks.front();
  const Mark& mark = std::get<Mark>(task.body);
  if (!mark.reached() && stopping_ && mark.counter->completed_by_hand()) {
    fail(stream, task.generation, closed_world());
    return true;
  }
  if (!mark.reached()) {
    stream.state = StreamQueue::State::kBlocked;
    mark.counter->streams.push_back({mark.target, &stream});
    return false;
  }
  if (const Failure failure = mark.failure()) fail(stream, task.generation, failure);
  return true;
}

void Scheduler::reach_gate(Lock& lock, StreamQueue& stream) {
  const DeviceState& device = *stream.device;
  auto gate = std::make_shared<Gate::State>();
  gate->scheduler = this;
  gate->stream = &stream;
  if (stream.tasks.front().generation <= device.failed_generation) gate->poison = device.failure;
  ReachedCallback reached = std::move(std::get<ReachedCallback>(stream.tasks.front().body));
  stream.gate = gate;
  stream.state = StreamQueue::State::kBlocked;
  if (stopping_) {
    open_gate(*gate, closed_world());
    return;
  }

  const std::uint64_t index = stream.value.load(std::memory_order_relaxed);
  lock.unlock();
  delay(stream, index);
  try {
    reached(Gate(gate));
  } catch (...) {
    Gate(gate).complete(std::current_exception());
  }
  reached = nullptr;
  lock.lock();
}

void Scheduler::open_gate(Gate::State& gate, const Failure& failure) {
  if (gate.completed.exchange(true)) return;
  StreamQueue& stream = *gate.stream;
  stream.gate.reset();
  if (failure) fail(stream, stream.tasks.front().generation, failure);
  finish_first(stream);
  resume(stream);
}

void Scheduler::open_latch(LatchCounter& latch, const Failure& failure) {
  if (latch.value.load(std::memory_order_relaxed) != 0) return;
  latch.failure = failure;
  grow(latch);
}

void Scheduler::finish_first(StreamQueue& stream) {
  stream.tasks.pop_front();
  grow(stream);
}

void Scheduler::resume(StreamQueue& stream) {
  if (stream.tasks.empty()) {
    stream.state = StreamQueue::State::kIdle;
  } else {
    make_ready(stream);
  }
}

void Scheduler::grow(Counter& counter) {
  const std::uint64_t value = counter.value.load(std::memory_order_relaxed) + 1;
  counter.value.store(value, std::memory_order_release);
  std::erase_if(counter.streams, [&](const Counter::WaitingStream& waiting) {
    if (waiting.target > value) return false;
    make_ready(*waiting.stream);
    return true;
  });
  std::erase_if(counter.hosts, [&](Host* host) {
    if (!host->target->reached()) return false;
    host->wake.notify_one();
    return true;
  });
}

void Scheduler::fail(StreamQueue& stream, std::int64_t generation, const Failure& failure) {
  DeviceState& device = *stream.device;
  if (generation <= device.failed_generation) return;
  device.failed_generation = generation;
  device.failure = failure;
  device.pending.store(true, std::memory_order_release);
  for (StreamQueue& other : device.streams) {
    other.failed_from = other.value.load(std::memory_order_relaxed);
  }
}

void Scheduler::delay(const StreamQueue& stream, std::uint64_t index) const {
  if (options_.random_delay_us <= 0) return;
  const auto place =
      static_cast<std::uint64_t>(stream.device->rank) * 3 + static_cast<std::uint64_t>(stream.kind);
  const std::uint64_t number = split_mix(options_.delay_seed ^ split_mix(place) ^ (index << 20U));
  const auto limit = static_cast<std::uint64_t>(options_.random_delay_us) + 1;
  std::this_thread::sleep_for(std::chrono::microseconds(number % limit));
}

}  // namespace ringside::sim
