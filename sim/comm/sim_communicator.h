// The communicator of one rank on simulated devices. It only hands calls on: they meet in SimGroup.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "comm/announcement.h"
#include "comm/grouping_communicator.h"
#include "sim/comm/sim_group.h"

namespace ringside::sim {

class SimCommunicator : public GroupingCommunicator {
 public:
  /// `queue` is shared by the rank's communicators, so that a group over several of them is one.
  SimCommunicator(std::shared_ptr<SimGroup> group, int rank, Device& device,
                  std::shared_ptr<GroupQueue> queue);

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  std::span<const int> world_ranks() const override { return group_->name().world_ranks; }
  Device& device() override { return device_; }

  std::unique_ptr<Communicator> split(int color, int key) override;
  std::function<std::unique_ptr<Communicator>()> begin_split(int color, int key) override;

 protected:
  GroupQueue& queue() override { return *queue_; }
  void enqueue(std::span<PendingCall> calls) override;

 private:
  static void enqueue_joint(Stream& stream, std::span<PendingCall> calls);
  static void enter(Stream& stream, PendingCall& pending, const std::shared_ptr<JointCall>& joint,
                    std::list<Announcement>& announcements);

  std::shared_ptr<SimGroup> group_;
  int rank_;
  Device& device_;
  std::shared_ptr<GroupQueue> queue_;
};

}  // namespace ringside::sim
