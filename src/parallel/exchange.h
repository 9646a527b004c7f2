// What DistributedDataParallel's ranks tell each other outside of the gradients: flat broadcasts
// from rank 0 and small lists of integers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ringside/tensor.h"
#include "ringside/world.h"

namespace ringside {

/// Runs one collective on the rank's communication stream: after what its compute stream has done
/// so far. The result's wait() makes the compute stream wait.
Work enqueue_collective(const Rank& rank, CollectiveCall call);

/// Rank `root`'s values of `tensors` on every rank, coalesced in pieces of at most `limit` bytes.
/// [distributed/utils.py, _sync_module_states; comm.cpp, broadcast_coalesced]
void broadcast_from(int root, Rank& rank, const std::vector<Tensor>& tensors, std::size_t limit);

/// Exchanges between the ranks of `rank`'s communicator, for SyncBatchNorm.
std::shared_ptr<const RankExchange> exchange_between_ranks(const Rank& rank);

/// Rank 0's list on every rank; all lists have the same length. Blocks the host. Where nothing
/// executes (meta) the own list comes back: there ranks are taken to agree.
std::vector<std::int64_t> list_of_root(Rank& rank, const std::vector<std::int64_t>& own);

/// Every rank's `value`, in rank order. Blocks the host. Where nothing executes: the own value for
/// all.
std::vector<std::int64_t> value_of_all(Rank& rank, std::int64_t value);

/// The largest of all ranks' values, on every rank. Blocks the host.
std::int64_t largest_of_all(Rank& rank, std::int64_t value);

/// The sum over ranks of each element, on every rank, in float64. Blocks the host.
std::vector<double> sum_of_all(Rank& rank, const std::vector<double>& own);

}  // namespace ringside
