// What the recorder keeps of one rank until the trace is taken.
//
// Ids given out while recording are provisional: rank and number of submission. They stay unique
// over the recorder's life, so that an event from before a take() is recognised as older.
// Threads: a rank's ops come from one thread at a time; the mutex makes a handover of the rank to
// another thread safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ringside/trace.h"
#include "trace/snapshot.h"

namespace ringside {

/// Host clock readings of the launches around an op; absent where no launch ran.
struct Stamps {
  std::optional<double> start;
  std::optional<double> end;
};

struct RecordedOp {
  TraceOp op;                                        ///< ids are provisional
  std::vector<std::shared_ptr<Snapshot>> snapshots;  ///< one per written tensor, or null
  std::shared_ptr<Stamps> stamps;                    ///< null where times are not asked for
};

class RankRecord {
 public:
  explicit RankRecord(int rank) : rank_(rank) {}

  /// True if an op outside of steps comes before the first step. Seeing a step ends that for good.
  bool is_setup(int step);
  /// Keeps the op, with its dependencies: the stream's previous op, the last host op of its host
  /// thread where stream order does not imply it, and `awaited`. Returns its id.
  OpId add(RecordedOp recorded, OpId awaited);
  /// Sets what on_enqueued adds; `id` is of this rank.
  void set_snapshots(OpId id, std::vector<std::shared_ptr<Snapshot>> snapshots);
  std::shared_ptr<Stamps> stamps_of(OpId id);
  void add_memory(const TraceMemory& memory);

  /// Everything so far, in the order of submission; the record is empty afterwards.
  std::deque<RecordedOp> take_ops();
  std::vector<TraceMemory> take_memory();

 private:
  RecordedOp& at(OpId id);

  struct Last {
    OpId id = kNoOp;
    std::string host_thread;  // that submitted it
  };

  int rank_;
  std::mutex mutex_;
  std::atomic<bool> steps_have_begun_ = false;
  std::int64_t first_number_ = 0;  // of ops_[0]
  std::deque<RecordedOp> ops_;     // grows without moving what it holds
  std::vector<TraceMemory> memory_;
  std::array<Last, 3> last_of_stream_;
  std::map<std::string, OpId> last_of_host_;
};

}  // namespace ringside
