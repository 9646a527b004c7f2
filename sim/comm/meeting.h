// Where the calls of one collective, of one send and its recv, or of one split meet on simulated
// devices: the books of CallSlot, and for each side what is needed to carry it out and to tell it
// that all is over.
//
// A side calls (on its host thread), then arrives (when its stream has reached the gate). Data
// moves when every side has arrived. When all who have called have been told of the end, the books
// are used again for another call. Threads: the SimGroup that owns it locks.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/call_slot.h"
#include "core/failure.h"
#include "ringside/comm.h"
#include "sim/comm/data_move.h"
#include "sim/device/engine.h"

namespace ringside::sim {

class JointCall;
class SimGroup;

/// The new communicator and rank that a split gives to each rank; null without one.
struct SplitPlace {
  std::shared_ptr<SimGroup> group;
  int rank = 0;
};

/// What a rank waits for that splits, and gets.
struct SplitAnswer {
  std::shared_ptr<Latch> latch;
  SplitPlace place;  ///< once the latch is complete
};

struct Meeting : CallSlot {
  struct Side {
    CollectiveCall call;
    std::shared_ptr<JointCall> joint;    ///< whom to tell; null for a split
    std::shared_ptr<SplitAnswer> split;  ///< whom to tell of a split
    int color = 0;
    int key = 0;
    bool arrived = false;
    Failure poison;  ///< the error its stream already had
  };

  Meeting(std::int64_t sequence, int count)
      : CallSlot(sequence, count), sides(static_cast<std::size_t>(count)) {}
  /// As new.
  void reset(std::int64_t sequence);

  std::vector<Side> sides;  ///< by rank; of a message: source, destination
  int arrivals = 0;
  int untold = 0;                     ///< sides that have called and have yet to hear of the end
  bool closed = false;                ///< no side will call any more
  std::shared_ptr<SimGroup> running;  ///< the owner, from when all have arrived: it ends by itself
  Failure error;                      ///< if set, whoever arrives gets it
  DataMove move;
};

/// The calls of one stream that form one joint operation (GroupScope; a single call is a group of
/// one): one gate, which opens when all of them are over.
class JointCall : public GateKeeper {
 public:
  void add(std::shared_ptr<SimGroup> group, Meeting& meeting, int side);
  /// Arrives in all its meetings.
  void reached(Gate gate) override;
  /// Lets go of them.
  void dropped() override;
  /// One of its calls is over.
  void finish_one(Failure error);

 private:
  struct Part {
    std::shared_ptr<SimGroup> group;
    Meeting* meeting;
    int side;
  };
  using Parts = boost::container::small_vector<Part, 1>;

  Parts parts_;
  std::mutex mutex_;  // guards what follows
  std::size_t open_ = 0;
  Gate gate_;
  Failure error_;  // the first
};

/// Collected under a lock, told without one.
class Notices {
 public:
  /// Room for that many; more may be added.
  void reserve(std::size_t count) { notices_.reserve(count); }
  /// Takes from `side` whom to tell, and what its call kept alive, which is let go before.
  void add(Meeting::Side& side, const Failure& error);
  void deliver();

 private:
  struct Notice {
    std::shared_ptr<JointCall> joint;
    std::shared_ptr<SplitAnswer> split;
    Failure error;
    std::shared_ptr<Storage> sent;
    std::shared_ptr<Storage> received;
  };
  boost::container::small_vector<Notice, 16> notices_;
};

}  // namespace ringside::sim
