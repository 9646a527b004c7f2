// What ops say of themselves, each description kept once. A training step says the same as the one
// before, so that an op is written down as the number of its description: a comparison, and no
// allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ringside/trace.h"

namespace ringside {

/// An op at the door, as borrowed.
struct HeardOp {
  const OpContext& context;
  const OpInfo& info;
  std::optional<StreamKind> stream;  ///< none for a host op
};

/// Threads: one at a time.
class OpDescriptions {
 public:
  explicit OpDescriptions(int rank) : rank_(rank) {}

  /// The number of the description of `heard`, which is made when it is heard first. Descriptions
  /// are equal if their contents are: an address may be another text's in the next step.
  std::uint32_t number_of(const HeardOp& heard);
  /// The op of that number, without what differs from step to step: id, step, dependencies, values,
  /// times and the collective's sequence number.
  const TraceOp& op(std::uint32_t number) const { return known_[number].op; }
  /// Its host thread, counted from 0 in the order of being heard of.
  std::size_t host_thread(std::uint32_t number) const { return known_[number].host_thread; }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  struct Known {
    TraceOp op;
    std::size_t host_thread = 0;
    std::uint32_t next = kNone;  // what came after it the last time
  };
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t number = kNone;
  };

  std::uint32_t look_up(const HeardOp& heard);
  void enlarge();
  std::size_t thread_named(const std::string& name);

  int rank_;
  std::vector<Known> known_;
  std::vector<Slot> slots_;  // a hash table by open addressing; their number is a power of two
  std::vector<std::string> host_threads_;
  std::uint32_t present_ = kNone;
};

}  // namespace ringside
