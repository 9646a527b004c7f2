#include "data/prefetcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "ringside/error.h"

namespace ringside {

Prefetcher::Prefetcher(int workers, std::int64_t window, std::int64_t batches, Prepare prepare)
    : batches_(batches),
      prepare_(std::move(prepare)),
      slots_(static_cast<std::size_t>(std::max<std::int64_t>(1, std::min(window, batches)))) {
  try {
    workers_.reserve(static_cast<std::size_t>(workers));
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    const std::size_t started = workers_.size();
    stop();
    throw Error(ErrorKind::kUnavailable,
                fmt::format("loader: only {} of {} worker threads could be started: {}", started,
                            workers, error.what()),
                "use fewer loader workers");
  }
}

Prefetcher::~Prefetcher() { stop(); }

void Prefetcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void Prefetcher::work() {
  std::unique_lock lock(mutex_);
  const auto window = static_cast<std::int64_t>(slots_.size());
  while (true) {
    room_.wait(lock, [&] { return stopping_ || begun_ == batches_ || begun_ < taken_ + window; });
    if (stopping_ || begun_ == batches_) return;
    const std::int64_t batch = begun_++;
    lock.unlock();
    Slot prepared;
    try {
      prepared.batch = prepare_(batch);
    } catch (...) {
      prepared.error = std::current_exception();
    }
    lock.lock();
    slot(batch) = std::move(prepared);
    ready_.notify_one();
  }
}

std::shared_ptr<Staging> Prefetcher::take() {
  std::unique_lock lock(mutex_);
  Slot& next = slot(taken_);
  ready_.wait(lock, [&] { return next.ready(); });
  if (next.error) std::rethrow_exception(next.error);
  std::shared_ptr<Staging> batch = std::move(next.batch);
  next.batch = nullptr;
  ++taken_;
  lock.unlock();
  // All, since one that waits for room may find another has begun the batch.
  room_.notify_all();
  return batch;
}

}  // namespace ringside
