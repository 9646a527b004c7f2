// The warnings of a run: what PyTorch would warn of, each once, with the ranks that it is about.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "ringside/scenario.h"

namespace ringside {

/// Threads: ranks may tell theirs at the same time.
class Warnings {
 public:
  /// Of a run with `ranks` ranks, of which `local_ranks` are in this process. `observer` must
  /// outlive it.
  Warnings(const RunObserver& observer, int ranks, int local_ranks)
      : observer_(observer), ranks_(ranks), local_ranks_(local_ranks) {}

  /// Of the thread that drives all devices, or of the run as a whole.
  void tell(const std::string& text);
  /// Of one rank. Passed on when all local ranks have told it, else by tell_rest().
  void tell_of_rank(const std::string& text, int rank);
  /// When the ranks have ended: passes on what only some of them told.
  void tell_rest();
  const std::vector<std::string>& told() const { return told_; }

 private:
  struct OfRanks {
    std::string text;
    std::vector<int> ranks;  // ascending
    bool told = false;
  };
  void pass_on(OfRanks& warning);

  const RunObserver& observer_;
  int ranks_;
  int local_ranks_;
  std::mutex mutex_;  // guards what follows
  std::vector<OfRanks> of_ranks_;
  std::vector<std::string> told_;
};

}  // namespace ringside
