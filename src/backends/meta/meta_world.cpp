#include "backends/meta/meta_world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <numeric>
#include <utility>

#include "backends/meta/meta_communicator.h"
#include "backends/meta/meta_device.h"
#include "backends/meta/meta_group.h"
#include "comm/world_checks.h"
#include "core/failure.h"
#include "ringside/error.h"

namespace ringside {
namespace {

class MetaWorld : public World {
 public:
  explicit MetaWorld(const WorldOptions& options)
      : local_ranks_(static_cast<std::size_t>(options.size)) {
    std::iota(local_ranks_.begin(), local_ranks_.end(), 0);
    group_ = std::make_shared<MetaGroup>(CommunicatorName{0, local_ranks_});
    for (const int rank : local_ranks_) {
      devices_.push_back(std::make_unique<MetaDevice>(rank, options.capacity_of(rank)));
      devices_.back()->set_listener(options.listener);
      communicators_.push_back(std::make_unique<MetaCommunicator>(group_, rank, *devices_.back(),
                                                                  std::make_shared<GroupQueue>()));
    }
  }

  std::string_view backend() const override { return "meta"; }
  int size() const override { return static_cast<int>(local_ranks_.size()); }
  const std::vector<int>& local_ranks() const override { return local_ranks_; }
  Device& device(int rank) override { return *devices_[checked_rank(rank, size())]; }
  Communicator& communicator(int rank) override {
    return *communicators_[checked_rank(rank, size())];
  }

  void run(const std::function<void(Rank&)>& function) override {
    for (const int rank : local_ranks_) run_rank(rank, function);
    const std::vector<std::string> unmatched = group_->abandon();
    if (unmatched.empty()) return;
    throw Error(ErrorKind::kDeadlock,
                fmt::format("deadlock: all ranks have ended, but their calls do not match\n  {}",
                            fmt::join(unmatched, "\n  ")),
                "all ranks of a communicator must make the same calls in the same order");
  }

  void drive(const std::function<void()>& function) override {
    try {
      function();
    } catch (...) {
      group_->abandon();
      throw;
    }
  }

 private:
  void run_rank(int rank, const std::function<void(Rank&)>& function) {
    try {
      Rank arguments{rank, device(rank), communicator(rank)};
      function(arguments);
    } catch (...) {
      group_->abandon();
      rethrow_first_cause({rank}, {std::current_exception()});
    }
  }

  std::vector<int> local_ranks_;
  std::shared_ptr<MetaGroup> group_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

}  // namespace

std::unique_ptr<World> open_meta_world(const WorldOptions& options) {
  check_world_options("meta world", options);
  return std::make_unique<MetaWorld>(options);
}

}  // namespace ringside
