// All communicators of a simulated world, for the engine's deadlock reports.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/device/engine.h"

namespace ringside::sim {

class SimGroup;

class GroupDirectory : public CallDirectory {
 public:
  void add(const std::shared_ptr<SimGroup>& group);

  /// `rank` is a world rank.
  std::string describe(int rank) override;
  void abort(Failure error) override;
  /// Ends the calls that not all ranks have made, and never will: their threads have ended.
  void abandon_uncalled();

 private:
  void abandon(const Failure& error, bool only_uncalled);
  std::vector<std::shared_ptr<SimGroup>> groups();

  std::mutex mutex_;
  std::vector<std::weak_ptr<SimGroup>> groups_;
};

}  // namespace ringside::sim
