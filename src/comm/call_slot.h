// The place where the calls of one collective meet: who has called what since when, and whether
// they agree.
//
// Every communicator numbers its collectives; the n-th call of each rank goes into slot n. A slot
// only keeps books: what follows (gates, data) is the backend's. Threads: none of its own; the
// owner locks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/call_signature.h"
#include "comm/communicator_name.h"
#include "ringside/error.h"

namespace ringside {

/// The error that every rank gets when the ranks' calls differ; nothing if they agree. Groups equal
/// calls: "call 3 of the world: ranks 0, 1, 3 called all-reduce(count=8, float32, sum), rank 2
/// called broadcast(count=8, float32, root=0)".
std::optional<Error> find_mismatch(const CommunicatorName& communicator, std::int64_t sequence,
                                   std::span<const CallSignature> calls);

/// The error of both sides of a send and a recv that met but differ.
std::optional<Error> find_pair_mismatch(const CommunicatorName& communicator, std::int64_t sequence,
                                        const CallSignature& send, const CallSignature& recv);

/// "12 ms", "3.4 s".
std::string elapsed_text(std::chrono::steady_clock::time_point since);

class CallSlot {
 public:
  using Clock = std::chrono::steady_clock;

  CallSlot(std::int64_t sequence, int ranks)
      : sequence_(sequence), calls_(static_cast<std::size_t>(ranks)) {}
  /// As new, for another collective.
  void reset(std::int64_t sequence) {
    sequence_ = sequence;
    called_ = 0;
    for (Call& call : calls_) call.signature.reset();
  }

  std::int64_t sequence() const { return sequence_; }
  /// Rank's call. True when it was the last rank's.
  bool call(int rank, CallSignature signature);
  bool called(int rank) const { return at(rank).signature.has_value(); }
  bool complete() const { return called_ == static_cast<int>(calls_.size()); }
  const CallSignature& signature(int rank) const { return *at(rank).signature; }
  Clock::time_point since(int rank) const { return at(rank).since; }
  /// Once all ranks have called.
  std::optional<Error> mismatch(const CommunicatorName& communicator) const;

  /// "waits in all-reduce(count=8, float32, sum), call 3 of the world, since 12 ms; rank 2 has not
  /// called it". `held_up` says of each rank that has called whether its stream has yet to get
  /// there.
  std::string describe(int rank, const CommunicatorName& communicator,
                       const std::vector<bool>& held_up) const;

 private:
  struct Call {
    std::optional<CallSignature> signature;
    Clock::time_point since;
  };
  const Call& at(int rank) const { return calls_[static_cast<std::size_t>(rank)]; }

  std::int64_t sequence_;
  std::vector<Call> calls_;  // by rank
  int called_ = 0;
};

/// The open slots of a communicator. `Pointer` points to something that derives from CallSlot.
template <typename Pointer>
class SlotSequence {
 public:
  explicit SlotSequence(int ranks) : last_(static_cast<std::size_t>(ranks), 0) {}

  /// The slot of rank's next call, made with `make(sequence)` by the first rank that needs it.
  template <typename Make>
  Pointer next(int rank, Make make) {
    const std::int64_t sequence = ++last_[static_cast<std::size_t>(rank)];
    auto place = find(sequence);
    if (place == open_.end() || (*place)->sequence() != sequence) {
      place = open_.insert(place, make(sequence));
    }
    return *place;
  }
  /// The number of rank's last call; 0 before its first.
  std::int64_t last(int rank) const { return last_[static_cast<std::size_t>(rank)]; }
  void close(std::int64_t sequence) {
    const auto place = find(sequence);
    if (place == open_.end() || (*place)->sequence() != sequence) return;
    if (place != first_open()) {
      open_.erase(place);
      return;
    }
    *place = nullptr;  // what is closed in order leaves the others where they are
    ++closed_;
    if (2 * closed_ >= open_.size()) drop_closed();
  }
  /// Ascending by sequence.
  std::span<const Pointer> open() const { return std::span(open_).subspan(closed_); }

  /// Forgets the open slots for which `forget(slot)` holds, and returns them; all ranks go on with
  /// the same number.
  template <typename Forget>
  std::vector<Pointer> realign(Forget forget) {
    drop_closed();
    const auto first_forgotten = std::stable_partition(
        open_.begin(), open_.end(), [&](const Pointer& slot) { return !forget(*slot); });
    std::vector<Pointer> forgotten(std::make_move_iterator(first_forgotten),
                                   std::make_move_iterator(open_.end()));
    open_.erase(first_forgotten, open_.end());
    last_.assign(last_.size(), *std::max_element(last_.begin(), last_.end()));
    return forgotten;
  }

 private:
  typename std::vector<Pointer>::iterator first_open() {
    return open_.begin() + static_cast<std::ptrdiff_t>(closed_);
  }
  // The first that is not before `sequence`.
  typename std::vector<Pointer>::iterator find(std::int64_t sequence) {
    return std::lower_bound(
        first_open(), open_.end(), sequence,
        [](const Pointer& slot, std::int64_t wanted) { return slot->sequence() < wanted; });
  }
  void drop_closed() {
    open_.erase(open_.begin(), first_open());
    closed_ = 0;
  }

  std::vector<std::int64_t> last_;  // by rank: the number of its last call
  std::vector<Pointer> open_;       // ascending by sequence, behind ...
  std::size_t closed_ = 0;          // ... so many that are null
};

}  // namespace ringside
