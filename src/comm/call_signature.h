// What all ranks must agree on when they call a collective, and how a call reads in messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ringside/comm.h"
#include "ringside/schedule.h"

namespace ringside {

/// One call without its buffers, in canonical form: the algorithm is chosen, what the operation
/// does not use has its default, and counts per rank that are all alike are one count.
struct CallSignature {
  ScheduleRequest request;
  ReduceOp op = ReduceOp::kSum;
  bool split = false;  ///< Communicator::split: no ScheduleRequest describes it
  bool operator==(const CallSignature&) const = default;
};

/// A send or a recv: it has a source and a destination, and is counted per pair of ranks.
bool is_message(const CallSignature& signature);

/// The signature of `call`, made by `rank` of a communicator of `ranks`. A send or recv has its
/// source as root and its destination as peer. The call must be valid (validate.h).
CallSignature signature_of(const CollectiveCall& call, int rank, int ranks,
                           const Communicator::Defaults& defaults);
CallSignature split_signature(int ranks);

/// "all-reduce(count=8, float32, sum)"; "split". `with_algorithm` adds what else ranks may disagree
/// about: "all-reduce(count=8, float32, sum, ring up, border nccl)".
std::string to_string(const CallSignature& signature, bool with_algorithm = false);
/// As the sender or the receiver of a pair says it: "send(count=3, float32, to rank 1)".
std::string pair_text(const CallSignature& signature);

/// Integers that say the same, for ranks in other processes.
std::vector<std::int64_t> encode(const CallSignature& signature);
CallSignature decode(std::span<const std::int64_t> code);

}  // namespace ringside
