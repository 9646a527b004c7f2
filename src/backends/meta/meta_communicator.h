// A communicator that checks and announces its calls and moves no data.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "backends/meta/meta_group.h"
#include "comm/grouping_communicator.h"

namespace ringside {

class MetaCommunicator : public GroupingCommunicator {
 public:
  /// `queue` is that of the rank: communicators of one rank share their groups.
  MetaCommunicator(std::shared_ptr<MetaGroup> group, int rank, Device& device,
                   std::shared_ptr<GroupQueue> queue);
  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  std::span<const int> world_ranks() const override { return group_->name().world_ranks; }
  Device& device() override { return device_; }

  /// As nobody waits here, the other ranks must have called before: Error(kUnavailable) otherwise.
  /// In World::drive use split_all.
  std::unique_ptr<Communicator> split(int color, int key) override;
  std::function<std::unique_ptr<Communicator>()> begin_split(int color, int key) override;

 protected:
  GroupQueue& queue() override { return *queue_; }
  void enqueue(std::span<PendingCall> calls) override;

 private:
  static void carry_out(PendingCall& pending);

  std::shared_ptr<MetaGroup> group_;
  int rank_;
  Device& device_;
  std::shared_ptr<GroupQueue> queue_;
};

}  // namespace ringside
