#include "parallel/rank_failures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "comm/communicator_name.h"
#include "core/counted.h"
#include "parallel/rehearsal.h"

namespace ringside {
namespace {

/// "rank 0 stopped before step 2, ranks 1, 3 stopped before step 4"; empty if none did.
std::string stopped_text(const std::vector<TrainingResult>& results, int first) {
  std::map<int, std::vector<int>> stopped;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].stopped) stopped[results[i].steps].push_back(first + static_cast<int>(i));
  }
  std::vector<std::string> parts;
  for (const auto& [step, ranks] : stopped) {
    parts.push_back(fmt::format("{} stopped before step {}", ranks_text(ranks), step));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "rank 0 has 9 batches in an epoch, ranks 1, 2 have 12"; empty if all have as many.
std::string uneven_text(const TrainingPlan& plan) {
  std::map<std::int64_t, std::vector<int>> ranks_with;
  for (int rank = 0; rank < plan.replicas; ++rank) {
    ranks_with[plan.batches_per_epoch - batches_left_out(plan.scenario, rank)].push_back(rank);
  }
  if (ranks_with.size() == 1) return "";
  std::vector<std::string> parts;
  for (const auto& [batches, ranks] : ranks_with) {
    const std::string_view verb = ranks.size() == 1 ? "has" : "have";
    parts.push_back(parts.empty() ? fmt::format("{} {} {} batches in an epoch", ranks_text(ranks),
                                                verb, batches)
                                  : fmt::format("{} {} {}", ranks_text(ranks), verb, batches));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// What to do about workers of a parameter server that have not equally many batches.
std::string uneven_workers_hint(const TrainingPlan& plan) {
  const Scenario& scenario = plan.scenario;
  for (int rank = 0; rank < plan.replicas; ++rank) {
    const int lead = rank - rank % scenario.worker_devices;
    if (batches_left_out(scenario, rank) != batches_left_out(scenario, lead)) {
      return "the devices of a worker step together: leave out as many batches on each of them";
    }
  }
  return "a synchronous server waits for a push of every worker: choose --async, with which the "
         "others go on";
}

}  // namespace

Error with_cause(const Error& error, const TrainingPlan& plan,
                 const std::vector<TrainingResult>& results, int first) {
  const std::string uneven = uneven_text(plan);
  if (error.kind() == ErrorKind::kTrainingFailed && plan.scenario.join == "throw" &&
      !uneven.empty()) {
    return {error.kind(), error.what(), fmt::format("{}: {}", uneven, error.hint())};
  }
  const bool parted =
      error.kind() == ErrorKind::kDeadlock || error.kind() == ErrorKind::kCommMismatch;
  if (!parted) return error;
  const std::string stopped = stopped_text(results, first);
  if (!stopped.empty()) {
    return {error.kind(), error.what(),
            fmt::format("{}: every rank must go through all steps", stopped)};
  }
  const bool ran_out = std::any_of(results.begin(), results.end(),
                                   [](const auto& result) { return result.out_of_batches; });
  if (!ran_out || uneven.empty() || plan.scenario.join != "off") return error;
  if (plan.scenario.strategy == "ps") {
    return {error.kind(), error.what(), fmt::format("{}: {}", uneven, uneven_workers_hint(plan))};
  }
  return {error.kind(), error.what(),
          fmt::format("{}: choose --join initial, with which a rank without batches takes part in "
                      "the steps of the others",
                      uneven)};
}

void check_nobody_stopped(const TrainingPlan& plan, const std::vector<TrainingResult>& results,
                          int first) {
  const std::string stopped = stopped_text(results, first);
  if (stopped.empty()) return;
  throw Error(ErrorKind::kRankFailed,
              fmt::format("{}, and the run has {}: it ended without them, and has no result",
                          stopped, counted(static_cast<std::size_t>(plan.total_steps), "step")),
              "leave the stop events out, or train for fewer --steps");
}

}  // namespace ringside
