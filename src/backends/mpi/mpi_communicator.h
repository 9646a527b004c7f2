// A rank's Communicator over MPI: the contract's checks here, the data by the stepwise executor on
// the progress thread.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/mpi/channel.h"
#include "backends/mpi/progress.h"
#include "comm/grouping_communicator.h"
#include "sim/device/engine.h"

namespace ringside::mpi {

/// What the communicators of a world share.
struct Shared {
  sim::Engine& engine;
  Session& session;
  Progress& progress;
  Device& device;
  GroupQueue group;
};

class MpiCommunicator : public GroupingCommunicator {
 public:
  MpiCommunicator(Shared& shared, MPI_Comm comm, CommunicatorName name);

  int rank() const override { return channel_->rank(); }
  int size() const override { return channel_->size(); }
  std::span<const int> world_ranks() const override { return channel_->name().world_ranks; }
  Device& device() override { return shared_.device; }
  std::unique_ptr<Communicator> split(int color, int key) override;

 protected:
  GroupQueue& queue() override { return shared_.group; }
  void enqueue(std::span<PendingCall> calls) override;

 private:
  /// A call with its place in the order of its communicator or pair.
  struct Numbered {
    std::shared_ptr<Channel> channel;
    CollectiveCall call;
    CallSignature signature;
    std::int64_t sequence = 0;
  };
  struct Joint;

  void enqueue_joint(Stream& stream, std::span<PendingCall> calls);
  static void execute(const std::vector<Numbered>& calls, bool poisoned);
  Numbered number(const CollectiveCall& call);

  Shared& shared_;
  std::shared_ptr<Channel> channel_;
  std::int64_t collectives_ = 0;
  std::map<std::pair<int, int>, std::int64_t> messages_;  // by source and destination
  std::int64_t splits_ = 0;
};

}  // namespace ringside::mpi
