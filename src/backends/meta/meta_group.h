// What the ranks of one meta communicator share: the book of their calls. Calls are numbered and
// compared as on every backend, but nobody waits and no data moves.
//
// Threads: one, that of the world.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/call_slot.h"
#include "comm/communicator_name.h"

namespace ringside {

class MetaGroup {
 public:
  explicit MetaGroup(CommunicatorName name);

  const CommunicatorName& name() const { return name_; }
  int size() const { return static_cast<int>(name_.world_ranks.size()); }

  /// The rank's next call; the result is its number. Throws Error(kCommMismatch) when it is the
  /// last rank's and the ranks differ.
  std::int64_t call(int rank, const CallSignature& signature);

  /// A split that ranks have begun.
  struct Split : CallSlot {
    using CallSlot::CallSlot;
    /// What a rank of the parent becomes: null where its color is negative.
    struct Place {
      std::shared_ptr<MetaGroup> group;
      int rank = 0;
    };
    std::vector<int> colors;
    std::vector<int> keys;
    std::vector<Place> places;  ///< once all ranks have called
  };
  std::shared_ptr<Split> split(int rank, int color, int key);

  /// Forgets the calls that not all ranks have made, and says of each rank which: one line "rank 1
  /// waits in ..." each, empty if there are none.
  std::vector<std::string> abandon();

 private:
  using Sequence = SlotSequence<std::shared_ptr<Split>>;

  Sequence& sequence_of(const CallSignature& signature);
  std::shared_ptr<Split> enter(int side, int sides, const CallSignature& signature);
  void make_places(Split& split);

  CommunicatorName name_;
  Sequence collectives_;
  std::map<std::pair<int, int>, Sequence> messages_;  // by source and destination
  std::vector<std::weak_ptr<MetaGroup>> children_;
};

}  // namespace ringside
