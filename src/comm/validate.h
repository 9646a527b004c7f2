// The checks that a rank can make of its own call, before anybody else is asked.
#pragma once

#include "ringside/comm.h"

namespace ringside {

/// How many elements `rank` must have in its two buffers. [NCCL user guide, api/colls.rst]
struct BufferSizes {
  std::size_t send = 0;  ///< 0: not used on this rank
  std::size_t recv = 0;
};
BufferSizes buffer_sizes(const CollectiveCall& call, int rank, int ranks);

/// The call as it is carried out: buffers that this rank does not use are dropped. Throws
/// Error(kInvalidArgument) for everything that Communicator lists (comm.h); the message begins with
/// the call.
CollectiveCall validated(CollectiveCall call, const Communicator& communicator,
                         const Device& device, Stream& stream);

}  // namespace ringside
