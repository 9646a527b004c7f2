// Where the calls of one collective, of one send and its recv, or of one split meet on simulated
// devices: the books of CallSlot, and for each side what is needed to carry it out and to tell it
// that all is over.
//
// A side calls (on its host thread), then arrives (when its stream has reached the gate). Data
// moves when every side has arrived. Threads: the SimGroup that owns it locks.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/call_slot.h"
#include "ringside/comm.h"
#include "sim/device/engine.h"

namespace ringside::sim {

class JointCall;
class SimGroup;

struct Meeting : CallSlot {
  struct Side {
    CollectiveCall call;
    std::shared_ptr<JointCall> joint;  ///< whom to tell; null for a split
    std::shared_ptr<Latch> latch;      ///< of a split: whom to tell
    int color = 0;
    int key = 0;
    bool arrived = false;
    std::exception_ptr poison;  ///< the error its stream already had
  };

  Meeting(std::int64_t sequence, int count)
      : CallSlot(sequence, count), sides(static_cast<std::size_t>(count)) {}

  std::vector<Side> sides;  ///< by rank; of a message: source, destination
  int arrivals = 0;
  bool running = false;      ///< all have arrived: it will end by itself
  std::exception_ptr error;  ///< if set, whoever arrives gets it

  /// What a split leads to: the new communicator and rank of each rank; null without one.
  struct Place {
    std::shared_ptr<SimGroup> group;
    int rank = 0;
  };
  std::vector<Place> places;
};

/// The calls of one stream that form one joint operation (GroupScope; a single call is a group of
/// one): one gate, which opens when all of them are over.
class JointCall : public std::enable_shared_from_this<JointCall> {
 public:
  void add(std::shared_ptr<SimGroup> group, std::shared_ptr<Meeting> meeting, int side);
  /// The stream has come to the gate: arrives in all its meetings.
  void reached(const Gate& gate);
  /// The stream will never come: lets go of the meetings, which hold this object.
  void forget();
  /// One of its calls is over.
  void finish_one(std::exception_ptr error);

 private:
  struct Part {
    std::shared_ptr<SimGroup> group;
    std::shared_ptr<Meeting> meeting;
    int side;
  };
  std::mutex mutex_;
  std::vector<Part> parts_;
  std::size_t open_ = 0;
  Gate gate_;
  std::exception_ptr error_;  // the first
};

/// Collected under a lock, told without one.
class Notices {
 public:
  /// Room for that many; more may be added.
  void reserve(std::size_t count) { notices_.reserve(count); }
  void add(const Meeting::Side& side, const std::exception_ptr& error);
  void deliver();

 private:
  struct Notice {
    std::shared_ptr<JointCall> joint;
    std::shared_ptr<Latch> latch;
    std::exception_ptr error;
  };
  std::vector<Notice> notices_;
};

/// The text of an exception.
std::string text_of(const std::exception_ptr& error);

}  // namespace ringside::sim
