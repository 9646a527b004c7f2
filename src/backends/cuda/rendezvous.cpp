#include "backends/cuda/rendezvous.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ringside/error.h"

namespace ringside::cuda {

Rendezvous::Rendezvous(CommunicatorName name, std::function<void(const Meetings&)> enqueue)
    : name_(std::move(name)),
      enqueue_(std::move(enqueue)),
      sequence_(static_cast<int>(name_.world_ranks.size())),
      ranks_(name_.world_ranks.size()) {}

std::int64_t Rendezvous::upcoming(int rank) const {
  const std::lock_guard lock(mutex_);
  return sequence_.last(rank) + 1;
}

void Rendezvous::meet(std::span<const RankCall> calls) {
  std::unique_lock lock(mutex_);
  const int size = static_cast<int>(ranks_.size());
  Meetings mine;
  Meetings complete;
  for (const RankCall& call : calls) {
    std::shared_ptr<Meeting> meeting = sequence_.next(
        call.rank, [&](std::int64_t number) { return std::make_shared<Meeting>(number, size); });
    meeting->calls.resize(ranks_.size());
    meeting->calls[static_cast<std::size_t>(call.rank)] = call.pending;
    if (meeting->call(call.rank, call.signature)) complete.push_back(meeting);
    mine.push_back(std::move(meeting));
  }
  settle(complete);
  give_up_if_in_vain();
  changed_.notify_all();
  for (const auto& meeting : mine) {
    changed_.wait(lock, [&] { return meeting->over; });
  }
  for (const auto& meeting : mine) {
    if (meeting->failure) raise(meeting->failure);
  }
}

// Those that agree go together, into one NCCL group.
void Rendezvous::settle(const Meetings& complete) {
  Meetings agreed;
  for (const auto& meeting : complete) {
    sequence_.close(meeting->sequence());
    meeting->over = true;
    if (const auto mismatch = meeting->mismatch(name_)) {
      meeting->failure = std::make_shared<const Error>(*mismatch);
    } else {
      agreed.push_back(meeting);
    }
  }
  if (agreed.empty()) return;
  try {
    enqueue_(agreed);
  } catch (...) {
    const Failure failure = to_failure(std::current_exception());
    for (const auto& meeting : agreed) meeting->failure = failure;
  }
}

bool Rendezvous::waits_in_vain(const Meeting& meeting) const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].active && !meeting.called(static_cast<int>(rank))) return true;
  }
  return false;
}

// A rank ends only when its meetings are over, so that every open one lacks it: all are in vain.
void Rendezvous::give_up_if_in_vain() {
  const auto& open = sequence_.open();
  const bool vain = std::any_of(open.begin(), open.end(),
                                [&](const auto& meeting) { return waits_in_vain(*meeting); });
  if (!vain) return;
  for (const auto& meeting : sequence_.realign([](const Meeting&) { return true; })) {
    meeting->failure = absence(*meeting);
    meeting->over = true;
  }
}

Failure Rendezvous::absence(const Meeting& meeting) const {
  const std::vector<bool> nobody_is_held_up(ranks_.size(), false);
  std::vector<std::string> lines;
  bool failed = false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const int rank = static_cast<int>(i);
    const int world_rank = name_.world_ranks[i];
    if (meeting.called(rank)) {
      lines.push_back(
          fmt::format("rank {} {}", world_rank, meeting.describe(rank, name_, nobody_is_held_up)));
    } else if (ranks_[i].failure) {
      failed = true;
      lines.push_back(fmt::format("rank {} has failed: {}", world_rank, ranks_[i].failure->what()));
    } else if (running_ && !ranks_[i].active) {
      lines.push_back(fmt::format("rank {} has ended", world_rank));
    }
  }
  const std::string hint =
      running_ ? "all ranks of a communicator must make the same calls in the same order"
               : "one thread that drives all ranks puts their calls into one GroupScope";
  return std::make_shared<const Error>(
      failed ? ErrorKind::kRankFailed : ErrorKind::kDeadlock,
      fmt::format("a collective cannot happen\n  {}", fmt::join(lines, "\n  ")), hint);
}

void Rendezvous::begin_run() {
  const std::lock_guard lock(mutex_);
  running_ = true;
  for (RankState& rank : ranks_) rank = {true, nullptr};
}

void Rendezvous::end_rank(int rank, const Failure& failure) {
  {
    const std::lock_guard lock(mutex_);
    ranks_[static_cast<std::size_t>(rank)] = {false, failure};
    give_up_if_in_vain();
  }
  changed_.notify_all();
}

void Rendezvous::end_run() {
  const std::lock_guard lock(mutex_);
  running_ = false;
  for (RankState& rank : ranks_) rank = {};
  sequence_.realign([](const Meeting&) { return true; });
}

bool Rendezvous::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

}  // namespace ringside::cuda
