// The stepwise executor: one rank's part of a schedule, message by message, over a transport.
//
// For `collective` and MPI. Its results are the same bits as the fused executor's
// (sim/comm/fused.h). Threads: one rank's object is used by one thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/rank_buffers.h"
#include "comm/transport.h"
#include "ringside/schedule.h"

namespace ringside {

class StepwiseRank {
 public:
  /// Takes the rank's contribution into its full buffer. `schedule` must outlive the object; `op`
  /// does not matter where the operation does not combine.
  StepwiseRank(const Schedule& schedule, ReduceOp op, int rank, const RankBuffers& buffers);

  void send(std::size_t round, Transport& transport);
  /// After every rank's send of the round, or where receive() waits for it.
  void receive(std::size_t round, Transport& transport);
  /// Puts the result where the call wants it.
  void finish();

 private:
  std::size_t size_of_elements(std::size_t count) const;
  std::span<std::byte> bytes_of(Range range) const;
  std::span<const std::byte> outgoing(const Message& message) const;
  std::byte* place_of(const Message& message) const;
  void move_own_block() const;

  const Schedule& schedule_;
  ReduceOp op_;
  int rank_;
  RankBuffers buffers_;
  std::size_t elements_;
  std::vector<std::byte> scratch_;   // the full buffer where recv is not one
  std::byte* work_ = nullptr;        // the full buffer; all-to-all needs none
  std::vector<std::byte> incoming_;  // the messages of one round
};

/// All rounds of one rank; the other ranks run elsewhere.
void run_stepwise(const Schedule& schedule, ReduceOp op, int rank, const RankBuffers& buffers,
                  Transport& transport);

/// All ranks, round by round, on this thread.
void run_in_memory(const Schedule& schedule, ReduceOp op, const std::vector<RankBuffers>& buffers);

}  // namespace ringside
