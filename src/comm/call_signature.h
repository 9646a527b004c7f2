// What all ranks must agree on when they call a collective, and how a call reads in messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ringside/comm.h"
#include "ringside/schedule.h"

namespace ringside {

/// What a call is made for, for messages: ranks need not agree on it.
struct CallPurpose {
  int step = -1;  ///< of the training; -1 outside of steps
  Phase phase = Phase::kSetup;
  int bucket = -1;  ///< of DDP; -1 = none
  bool operator==(const CallPurpose&) const = default;
};
/// " for bucket 0 of step 6", " for the sync-buffers of step 6", " for the losses of an epoch"
/// (evaluation outside of steps); empty for other calls outside of steps.
std::string to_string(const CallPurpose& purpose);

/// One call without its buffers, in canonical form: the algorithm is chosen, what the operation
/// does not use has its default, and counts per rank that are all alike are one count.
struct CallSignature {
  ScheduleRequest request;
  ReduceOp op = ReduceOp::kSum;
  bool split = false;  ///< Communicator::split: no ScheduleRequest describes it
  CallPurpose purpose = {};

  /// Whether ranks agree: for what they call need not be the same.
  bool operator==(const CallSignature& other) const {
    return request == other.request && op == other.op && split == other.split;
  }
};

/// A send or a recv: it has a source and a destination, and is counted per pair of ranks.
bool is_message(const CallSignature& signature);

/// The signature of `call`, made by `rank` of a communicator of `ranks`. A send or recv has its
/// source as root and its destination as peer. The call must be valid (validate.h).
CallSignature signature_of(const CollectiveCall& call, int rank, int ranks,
                           const Communicator::Defaults& defaults);
/// The same of a call on `communicator`, for the purpose that its device's context tells.
CallSignature signature_on(Communicator& communicator, const CollectiveCall& call);
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
