#include "sim/comm/group_directory.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "ringside/error.h"
#include "sim/comm/sim_group.h"

namespace ringside::sim {

void GroupDirectory::add(const std::shared_ptr<SimGroup>& group) {
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [](const auto& known) { return known.expired(); });
  groups_.push_back(group);
}

std::vector<std::shared_ptr<SimGroup>> GroupDirectory::groups() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<SimGroup>> living;
  for (const auto& known : groups_) {
    if (auto group = known.lock()) living.push_back(std::move(group));
  }
  return living;
}

std::string GroupDirectory::describe(int rank) {
  std::optional<SimGroup::OpenCall> open;
  std::optional<SimGroup::CompletedCall> completed;
  for (const auto& group : groups()) {
    const auto& members = group->name().world_ranks;
    const auto member = std::find(members.begin(), members.end(), rank);
    if (member == members.end()) continue;
    const int rank_in_group = static_cast<int>(member - members.begin());
    auto call = group->open_call(rank_in_group);
    const bool better = call && (!open || (call->arrived && !open->arrived) ||
                                 (call->arrived == open->arrived && call->since < open->since));
    if (better) open = std::move(call);
    auto last = group->last_completed(rank_in_group);
    if (last && (!completed || last->when > completed->when)) completed = std::move(last);
  }
  std::string text = open ? open->text : "";
  if (completed) text += (text.empty() ? "" : "; ") + ("last completed: " + completed->text);
  return text;
}

void GroupDirectory::abort(Failure error) { abandon(error, false); }

void GroupDirectory::abandon_uncalled() {
  abandon(std::make_shared<const Error>(ErrorKind::kRankFailed,
                                        "the run ended before every rank had made this call"),
          true);
}

// Every group is taken out of its broken state before anybody is told: who is told may call again
// at once.
void GroupDirectory::abandon(const Failure& error, bool only_uncalled) {
  const auto all = groups();
  Notices notices;
  {
    std::vector<std::unique_lock<BriefMutex>> locks;
    locks.reserve(all.size());
    for (const auto& group : all) locks.emplace_back(group->mutex());
    for (const auto& group : all) group->abandon(error, only_uncalled, notices);
  }
  notices.deliver();
}

}  // namespace ringside::sim
