// What the recorder keeps of one rank until the trace is taken.
//
// An op is written down while training goes on, so it is written short: a record of fixed size with
// the number of its description. Only take() makes of it the op that users get.
//
// Ids given out while recording are provisional: rank and number of submission. They stay unique
// over the recorder's life, so that an event from before a take() is recognised as older.
// Threads: a rank's ops come from one thread at a time; the mutex, which is then free, makes a
// handover of the rank to another thread safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/brief_mutex.h"
#include "ringside/trace.h"
#include "trace/arena.h"
#include "trace/op_descriptions.h"
#include "trace/snapshot.h"

namespace ringside {

/// A provisional id, taken apart.
struct OpNumber {
  int rank = 0;
  std::int64_t number = 0;  ///< of submission, over the recorder's life
};
OpNumber op_number(OpId id);

/// Host clock readings of the launches around an op; absent where no launch ran.
struct Stamps {
  std::optional<double> start;
  std::optional<double> end;
};

/// Everything that was recorded of a rank.
struct TakenRank {
  std::int64_t first_number = 0;  ///< of ops[0]; the others follow
  std::vector<TraceOp> ops;  ///< in the order of submission; what they depend on by provisional ids
  std::vector<bool> unfinished;  ///< by op: its results were never there to be read
  std::vector<TraceMemory> memory;
};

class RankRecord {
 public:
  explicit RankRecord(int rank) : rank_(rank), descriptions_(rank) {}
  int rank() const { return rank_; }

  /// True if an op outside of steps comes before the first step. Seeing a step ends that for good.
  bool is_setup(int step);
  /// Keeps the op, with its dependencies: the stream's previous op, the last host op of its host
  /// thread where stream order does not imply it, and the awaited one. Returns its id.
  OpId add(const HeardOp& heard);
  /// What launches around the op `id` of this rank will have read.
  void set_stamps(OpId id, std::shared_ptr<Stamps> stamps);
  std::shared_ptr<Stamps> stamps_of(OpId id);
  /// One of each tensor that the op writes.
  void set_snapshots(OpId id, std::vector<std::shared_ptr<Snapshot>> snapshots);
  void add_memory(const TraceMemory& memory);

  /// Everything so far; the record is empty afterwards.
  TakenRank take();

 private:
  struct OpRecord {
    std::array<OpId, 3> dependencies;  // provisional ids, kNoOp in free places
    std::int64_t sequence;             // of the collective
    int step;
    std::uint32_t description;
  };

  struct Last {
    OpId id = kNoOp;
    std::size_t host_thread = 0;  // that submitted it
  };

  std::array<OpId, 3> dependencies_of(const HeardOp& heard, OpId id, std::size_t host_thread);
  std::size_t index_of(OpId id) const;
  TraceOp described(std::size_t index) const;
  bool is_unfinished(std::size_t index, const TraceOp& op) const;

  int rank_;
  BriefMutex mutex_;
  std::atomic<bool> steps_have_begun_ = false;
  std::int64_t first_number_ = 0;  // of ops_[0]
  OpDescriptions descriptions_;
  Arena<OpRecord, 256> ops_;
  std::vector<std::shared_ptr<Stamps>> stamps_;                    // by index, where asked for
  std::vector<std::vector<std::shared_ptr<Snapshot>>> snapshots_;  // by index, where asked for
  std::vector<TraceMemory> memory_;
  std::array<Last, 3> last_of_stream_;
  std::vector<OpId> last_of_host_;  // by host thread
};

}  // namespace ringside
