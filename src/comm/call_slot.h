// The place where the calls of one collective meet: who has called what since when, and whether
// they agree.
//
// Every communicator numbers its collectives; the n-th call of each rank goes into slot n. A slot
// only keeps books: what follows (gates, data) is the backend's. Threads: none of its own; the
// owner locks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
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

/// The open slots of a communicator. `Slot` derives from CallSlot.
template <typename Slot>
class SlotSequence {
 public:
  explicit SlotSequence(int ranks) : last_(static_cast<std::size_t>(ranks), 0) {}

  /// The slot of rank's next call, made with `make(sequence)` by the first rank that needs it.
  template <typename Make>
  std::shared_ptr<Slot> next(int rank, Make make) {
    const std::int64_t sequence = ++last_[static_cast<std::size_t>(rank)];
    std::shared_ptr<Slot>& slot = open_[sequence];
    if (!slot) slot = make(sequence);
    return slot;
  }
  /// The number of rank's last call; 0 before its first.
  std::int64_t last(int rank) const { return last_[static_cast<std::size_t>(rank)]; }
  void close(std::int64_t sequence) { open_.erase(sequence); }
  /// Ascending by sequence.
  const std::map<std::int64_t, std::shared_ptr<Slot>>& open() const { return open_; }

  /// Forgets the open slots for which `forget(slot)` holds, and returns them; all ranks go on with
  /// the same number.
  template <typename Forget>
  std::vector<std::shared_ptr<Slot>> realign(Forget forget) {
    std::vector<std::shared_ptr<Slot>> forgotten;
    for (auto entry = open_.begin(); entry != open_.end();) {
      if (!forget(*entry->second)) {
        ++entry;
        continue;
      }
      forgotten.push_back(std::move(entry->second));
      entry = open_.erase(entry);
    }
    std::int64_t latest = 0;
    for (const std::int64_t last : last_) latest = std::max(latest, last);
    last_.assign(last_.size(), latest);
    return forgotten;
  }

 private:
  std::vector<std::int64_t> last_;  // by rank: the number of its last call
  std::map<std::int64_t, std::shared_ptr<Slot>> open_;
};

}  // namespace ringside
