// SimGroup: what the ranks of one simulated communicator share. Here their calls meet, are compared
// and carried out.
//
// Invariants: 1. no data moves before all ranks have called alike and all streams have arrived;
// 2. nobody is told anything while the lock is held; 3. a meeting ends once: by its data, by an
// error of the contract, or by abandon(). Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/call_slot.h"
#include "comm/communicator_name.h"
#include "core/brief_mutex.h"
#include "sim/comm/meeting.h"
#include "sim/comm/plan_cache.h"
#include "sim/device/engine.h"

namespace ringside::sim {

class GroupDirectory;

/// What all communicators of a world share.
struct SimContext {
  Engine& engine;
  GroupDirectory& directory;
  int workers = 1;
  bool stepwise = false;  ///< run collectives message by message
};

class SimGroup : public std::enable_shared_from_this<SimGroup> {
 public:
  SimGroup(SimContext& context, CommunicatorName name);

  SimContext& context() { return context_; }
  PlanCache& plans() { return plans_; }
  const CommunicatorName& name() const { return name_; }
  int size() const { return static_cast<int>(name_.world_ranks.size()); }

  /// Rank's call, on its host thread, of which `joint` will be told. Its side is rank, or of a
  /// message 0 for the source and 1 for the destination. The meeting is there until the side has
  /// been told, or has let go.
  struct Entry {
    Meeting& meeting;
    std::int64_t sequence;
    int side;
  };
  Entry enter(int rank, CollectiveCall call, const CallSignature& signature,
              std::shared_ptr<JointCall> joint);
  /// The same for a split; the answer's latch is completed when all ranks have called.
  void enter_split(int rank, int color, int key, std::shared_ptr<SplitAnswer> answer);
  /// A stream has reached the gate of a call.
  void arrive(Meeting& meeting, int side, Failure poison);
  /// A stream will never reach it.
  void let_go(Meeting& meeting, int side);
  /// The data of a meeting that is running has been moved, or could not be.
  void finish(Meeting& meeting, const Failure& error);

  /// What GroupDirectory says of a rank.
  struct OpenCall {
    std::chrono::steady_clock::time_point since;
    bool arrived = false;
    std::string text;
  };
  std::optional<OpenCall> open_call(int rank);
  struct CompletedCall {
    std::chrono::steady_clock::time_point when;
    std::string text;
  };
  std::optional<CompletedCall> last_completed(int rank);

  /// For GroupDirectory, with mutex() held: ends with `error` the meetings that cannot end by
  /// themselves (`only_uncalled`: those that not all ranks have called), and lets all ranks go on
  /// with equal numbers.
  void abandon(const Failure& error, bool only_uncalled, Notices& notices);
  BriefMutex& mutex() { return mutex_; }

 private:
  using Sequence = SlotSequence<Meeting*>;
  struct Completed {
    CallSignature signature;
    std::int64_t sequence = 0;
    std::chrono::steady_clock::time_point when;
  };
  /// Books that are kept for the next call, by the number of sides.
  struct Books {
    std::vector<std::unique_ptr<Meeting>> all;
    std::vector<Meeting*> spare;
  };

  Meeting* open_meeting(std::int64_t sequence, int sides);
  Sequence& sequence_of(const CallSignature& signature);
  void call(Meeting& meeting, int side, const CallSignature& signature, Notices& notices);
  void fail(Meeting& meeting, const Failure& error, Notices& notices);
  void close(Meeting& meeting);
  void tell(Meeting& meeting, int side, const Failure& error, Notices& notices);
  void put_back_if_over(Meeting& meeting);
  void remember(Meeting& meeting, int side, CallSlot::Clock::time_point when);
  void give_places(Meeting& meeting);
  void run(Meeting& meeting);
  int rank_of(const Meeting& meeting, int side) const;
  std::string describe(const Meeting& meeting, int side) const;

  SimContext& context_;
  const CommunicatorName name_;
  PlanCache plans_;

  BriefMutex mutex_;  // guards what follows, and all meetings
  Books collective_books_;
  Books message_books_;
  Sequence collectives_;
  std::map<std::pair<int, int>, Sequence> messages_;  // by source and destination
  std::vector<std::optional<Completed>> completed_;   // by rank: the last
  std::int64_t children_ = 0;                         // communicators split from this one
};

}  // namespace ringside::sim
