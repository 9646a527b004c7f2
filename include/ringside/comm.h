// Communicator: collectives and point-to-point messages between the ranks of a world, ordered by
// streams.
//
// The rules are NCCL's (counts, offsets, in-place by address, groups), the checks are ours: all
// ranks must agree on sequence number, operation, count, dtype, op and root. That is checked when
// the last rank has called and before any data moves; a mismatch is an Error(kCommMismatch) on
// every rank, at its next wait, that shows who called what. A deadlock is an Error(kDeadlock) that
// says who waits in which call since when, who has ended and what it did last. After either, the
// communicator works again.
//
// Threads: one thread at a time per Communicator. One thread that drives several ranks
// (DataParallel) puts the calls of one collective in a GroupScope. No call blocks the host;
// Work::synchronize and split do.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ringside/device.h"
#include "ringside/schedule.h"

namespace ringside {

/// One rank's call of one operation, as the contract compares it.
struct CollectiveCall {
  Operation operation = Operation::kBarrier;
  Algorithm algorithm = Algorithm::kAutomatic;  ///< automatic: the communicator's default
  std::size_t count = 0;                        ///< elements, NCCL's meaning (schedule.h)
  DType dtype = DType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  int peer = -1;                    ///< send, recv
  std::vector<std::size_t> counts;  ///< scatter, gather, all-gather: per rank; empty = count each
  DeviceArray send;                 ///< empty where the operation does not use it on this rank
  DeviceArray recv;
};

/// "all-reduce(count=1000, float32, sum)", "broadcast(count=8, int64, root=2)", "send(count=3,
/// float32, to rank 1)".
std::string to_string(const CollectiveCall& call);

/// A handle on an enqueued operation. Copyable; default-constructed: done.
/// Inside a GroupScope the operation is enqueued when the group ends; use the handle after that.
class Work {
 public:
  /// Of an operation in a group.
  struct State {
    std::shared_ptr<Event> event;  ///< null until enqueued
  };
  Work() = default;
  explicit Work(std::shared_ptr<Event> event) : event_(std::move(event)) {}
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// Later work on `stream` waits for the operation; the host does not (torch's Work.wait() on
  /// CUDA).
  void wait(Stream& stream) const;
  /// Blocks the host until done; throws the operation's error.
  void synchronize() const;
  bool done() const;
  /// Null of an operation that is not enqueued yet, and of a default-constructed handle.
  const std::shared_ptr<Event>& event() const { return state_ ? state_->event : event_; }

 private:
  const std::shared_ptr<Event>& enqueued_event() const;

  std::shared_ptr<Event> event_;
  std::shared_ptr<State> state_;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// World rank of each rank, in rank order.
  virtual std::span<const int> world_ranks() const = 0;
  virtual Device& device() = 0;

  // Every call checks its own arguments at once and throws Error(kInvalidArgument): negative or
  // out-of-range root or peer, arrays too small for the count, dtypes that differ, buffers that
  // overlap without being in place, wrong device. `send` and `recv` may be the same place where
  // NCCL says so (collectives table in docs/communication.md). A count of zero is complete at once
  // but still counts in the sequence. Sizes: docs/communication.md.

  /// Every rank's recv = root's send. `send` may be empty on other ranks.
  Work broadcast(const DeviceArray& send, const DeviceArray& recv, std::size_t count, int root,
                 Stream& stream);
  /// Root's recv = op over all ranks' send. `recv` may be empty on other ranks.
  Work reduce(const DeviceArray& send, const DeviceArray& recv, std::size_t count, ReduceOp op,
              int root, Stream& stream);
  Work all_reduce(const DeviceArray& send, const DeviceArray& recv, std::size_t count, ReduceOp op,
                  Stream& stream);
  /// recv[i*count...] = rank i's send.
  Work all_gather(const DeviceArray& send, const DeviceArray& recv, std::size_t count,
                  Stream& stream);
  /// recv block i = rank i's send block `rank`; count = elements per pair of ranks. Not in place.
  Work all_to_all(const DeviceArray& send, const DeviceArray& recv, std::size_t count,
                  Stream& stream);
  /// recv = block `rank` of op over all ranks' send; count = elements kept per rank.
  Work reduce_scatter(const DeviceArray& send, const DeviceArray& recv, std::size_t count,
                      ReduceOp op, Stream& stream);
  /// recv = block `rank` of root's send. `send` may be empty on other ranks.
  Work scatter(const DeviceArray& send, const DeviceArray& recv, std::size_t count, int root,
               Stream& stream);
  /// Root's recv block i = rank i's send. `recv` may be empty on other ranks.
  Work gather(const DeviceArray& send, const DeviceArray& recv, std::size_t count, int root,
              Stream& stream);
  /// Per-rank counts: rank i's block has counts[i] elements, blocks lie one after the other. All
  /// ranks pass the same counts.
  Work scatter(const DeviceArray& send, const DeviceArray& recv,
               std::span<const std::size_t> counts, int root, Stream& stream);
  Work gather(const DeviceArray& send, const DeviceArray& recv, std::span<const std::size_t> counts,
              int root, Stream& stream);
  Work all_gather(const DeviceArray& send, const DeviceArray& recv,
                  std::span<const std::size_t> counts, Stream& stream);
  /// Matched first-in first-out per pair of ranks. A send completes when the receiver has taken it
  /// (NCCL: rendezvous), so two ranks that send to each other first deadlock unless both calls are
  /// in one group.
  Work send(const DeviceArray& data, std::size_t count, int peer, Stream& stream);
  Work recv(const DeviceArray& data, std::size_t count, int peer, Stream& stream);
  /// Done on every rank when every rank's stream has reached it.
  Work barrier(Stream& stream);

  /// Sub-communicators: ranks that pass the same color form one, ordered by key, then by rank. A
  /// negative color gets none (null). Collective over all ranks; blocks the host. With one driving
  /// thread use split_all (world.h).
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;

  /// The algorithm taken for kAutomatic, and its parameters (schedule.h). An algorithm that the
  /// operation does not have, or a node size that does not divide the ranks, leaves the choice to
  /// Ringside. Must be set alike on all ranks.
  struct Defaults {
    Algorithm algorithm = Algorithm::kAutomatic;
    Direction direction = Direction::kUp;
    Border border = Border::kNccl;
    int pieces = 1;
    int node_size = 0;
  };
  const Defaults& defaults() const { return defaults_; }
  void set_defaults(const Defaults& defaults) { defaults_ = defaults; }

  /// Any operation as data (the command line, tests). The functions above end here.
  Work call(CollectiveCall call, Stream& stream);

  /// The first half of split: makes this rank's call and returns what waits for the others and
  /// makes the sub-communicator. split_all begins for all ranks before it finishes any. A backend
  /// whose split does not wait for other ranks need not override it.
  virtual std::function<std::unique_ptr<Communicator>()> begin_split(int color, int key) {
    return [this, color, key] { return split(color, key); };
  }

 protected:
  friend class GroupScope;
  /// Validated; enqueues, or keeps for the group.
  virtual Work submit(CollectiveCall call, Stream& stream) = 0;
  virtual void group_start() = 0;
  virtual void group_end() = 0;
  /// Drops what the open group has collected.
  virtual void group_cancel() = 0;

 private:
  Defaults defaults_;
};

/// Groups calls on one or more communicators (ncclGroupStart/End): nothing is enqueued before
/// end(). The calls of a group that are on one stream form one joint operation: its sends and
/// receives progress together. Scopes nest; the outermost acts.
class GroupScope {
 public:
  explicit GroupScope(std::span<Communicator* const> communicators);
  explicit GroupScope(Communicator& communicator);
  /// Enqueues everything; throws what a call in the group would throw. Called by the destructor if
  /// not before (except while an exception passes: then the collected calls are dropped).
  void end();
  ~GroupScope() noexcept(false);
  GroupScope(const GroupScope&) = delete;
  GroupScope& operator=(const GroupScope&) = delete;

 private:
  std::vector<Communicator*> communicators_;
  int exceptions_;
  bool open_ = true;
};

}  // namespace ringside
