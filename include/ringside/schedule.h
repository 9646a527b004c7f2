// Schedules: collective algorithms as pure data, written once and read by every room.
//
// A Schedule says, round by round, which rank sends which element range to which rank, and whether
// the receiver copies or combines. The stepwise executor runs it message by message, the fused
// executor evaluates it in its own order of additions, replay times it link by link, the diagrams
// draw it, closed forms are tested against it.
//
// Every schedule works on one *full buffer* per rank, of `elements` elements; a message moves the
// same range [begin, end) from the sender's full buffer to the receiver's. For all-gather,
// reduce-scatter, gather and scatter the full buffer is the concatenation of the ranks' blocks
// (`blocks`), for all-to-all that of all
// ranks' send buffers, for the others it is the user's buffer. All messages of a round read what
// was there before the round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/dtype.h"

namespace ringside {

enum class OpKind : std::uint8_t;  // device.h

enum class Operation : std::uint8_t {
  kBroadcast,
  kScatter,
  kGather,
  kReduce,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kSend,
  kRecv,
  kBarrier,
  kAllToAll
};
/// "broadcast", "scatter", "gather", "reduce", "all-reduce", "all-gather", "reduce-scatter",
/// "send", "recv", "barrier", "all-to-all".
std::string_view to_string(Operation operation);
/// The inverse; also accepts "allreduce", "all_reduce" and the like. Throws Error(kInvalidArgument)
/// listing the names.
Operation parse_operation(std::string_view name);
/// Broadcast, scatter, gather and reduce have a root.
bool has_root(Operation operation);
/// Reduce, all-reduce and reduce-scatter combine.
bool combines(Operation operation);
/// All-gather, reduce-scatter, gather and scatter have a block per rank, all-to-all one per pair of
/// ranks.
bool has_blocks(Operation operation);
/// Gather, scatter and all-gather take a count per rank.
bool takes_counts(Operation operation);
/// Send and recv: operations of two ranks, not of all.
bool is_pair(Operation operation);

/// As NCCL: avg of floating types multiplies every rank's input by 1/n (rounded to the dtype) and
/// sums; avg of integers sums and divides once, toward zero, at the end. [NCCL src/enqueue.cc,
/// hostToDevRedOp]
enum class ReduceOp : std::uint8_t { kSum, kAvg, kMin, kMax, kProd };
/// "sum", "avg", "min", "max", "prod".
std::string_view to_string(ReduceOp op);
/// The inverse of to_string. Throws Error(kInvalidArgument) that lists the valid names; so do the
/// other parse functions below.
ReduceOp parse_reduce_op(std::string_view name);

enum class Algorithm : std::uint8_t {
  /// what NCCL would take inside one node: ring (chain for broadcast, reduce), star for gather,
  /// scatter
  kAutomatic,
  kRing,             ///< neighbour to neighbour; a chain for broadcast and reduce
  kStar,             ///< everything through the root
  kTree,             ///< binomial tree
  kChain,            ///< pieces along a ring that is not closed
  kDoubleTree,       ///< two binary trees, half of the buffer each (NCCL's "Tree" between nodes)
  kHalvingDoubling,  ///< recursive halving, then doubling (Rabenseifner)
  kHierarchical,     ///< inside every node, then between nodes
  kDirect            ///< every rank with every other, one partner a round
};
/// "auto", "ring", "star", "tree", "chain", "double-tree", "halving-doubling", "hierarchical",
/// "direct".
std::string_view to_string(Algorithm algorithm);
Algorithm parse_algorithm(std::string_view name);

/// Where the ring cuts a buffer of `elements` into one chunk per rank.
enum class Border : std::uint8_t {
  kNccl,  ///< chunk = ceil(elements / n) rounded up to 16 bytes; the last chunks are short or empty
  /// two segments of ceil(bytes / 2n) per rank, of at most 1 MiB each: more of them in large
  /// buffers; the last are short or empty [gloo/allreduce.cc]
  kGloo,
  kEven  ///< the first (elements mod n) chunks have one element more
};
/// "nccl", "gloo", "even".
std::string_view to_string(Border border);
Border parse_border(std::string_view name);

/// Ring direction: rank i sends to i+1 (up, NCCL) or to i-1 (down, gloo).
enum class Direction : std::uint8_t { kUp, kDown };
/// "up", "down".
std::string_view to_string(Direction direction);
Direction parse_direction(std::string_view name);

/// A half-open range of elements.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

enum class Action : std::uint8_t { kCopy, kCombine };

struct Message {
  int source = 0;
  int destination = 0;
  Range range;  ///< of the full buffer, the same on both sides
  Action action = Action::kCopy;
  /// number of the chunk, block or piece, for people; -1 = the whole buffer or several blocks
  int chunk = -1;
  bool operator==(const Message&) const = default;
};

using Round = std::vector<Message>;

/// What a schedule is made for.
struct ScheduleRequest {
  Operation operation = Operation::kAllReduce;
  Algorithm algorithm = Algorithm::kAutomatic;
  int ranks = 1;
  /// NCCL's meaning: elements of the buffer (broadcast, reduce, all-reduce), per rank (all-gather,
  /// reduce-scatter, gather, scatter), per pair of ranks (all-to-all), of the message (send, recv).
  /// Barrier: 0.
  std::size_t count = 0;
  int root = 0;  ///< also the source of a send/recv pair; ignored where there is no root
  int peer = 0;  ///< the destination of a send/recv pair
  DType dtype = DType::kFloat32;    ///< the nccl border rounds to 16 bytes
  std::vector<std::size_t> counts;  ///< per rank (takes_counts); empty = `count` each
  Direction direction = Direction::kUp;
  Border border = Border::kNccl;
  int pieces = 1;  ///< chain and double tree: number of pieces that are pipelined
  /// hierarchical: ranks per node, consecutive ones; must divide `ranks`. 0: the largest divisor of
  /// `ranks` that is at most its square root. Ignored by the others.
  int node_size = 0;
  bool operator==(const ScheduleRequest&) const = default;
};

struct Schedule {
  ScheduleRequest
      request;  ///< with the algorithm (never kAutomatic) and node size that were chosen
  std::size_t elements = 0;  ///< size of every rank's full buffer
  /// block of each rank in the full buffer; empty where there are no blocks. All-to-all: block
  /// i * ranks + j goes from rank i to rank j
  std::vector<Range> blocks;
  std::vector<Round> rounds;
  bool operator==(const Schedule&) const = default;
};

/// Makes the schedule. Pure. Throws Error(kInvalidArgument) for ranks < 1, a root out of range,
/// counts of the wrong length, pieces < 1, a node size that does not divide the ranks, or a pair of
/// operation and algorithm that does not exist (naming those that do).
Schedule make_schedule(const ScheduleRequest& request);

/// The algorithms that make_schedule knows for `operation`.
std::span<const Algorithm> algorithms_for(Operation operation);

/// The range of `rank`'s chunk when `elements` are cut for `ranks` by `border`.
Range ring_chunk(std::size_t elements, int ranks, int rank, Border border, DType dtype);

/// What a schedule costs, counted from its messages.
struct ScheduleCost {
  std::size_t rounds = 0;
  std::size_t messages = 0;
  std::size_t elements = 0;              ///< sent in all
  std::size_t max_sent_by_rank = 0;      ///< elements
  std::size_t max_received_by_rank = 0;  ///< elements
};
ScheduleCost count_cost(const Schedule& schedule);

/// Proves by symbolic execution that every element of every result holds every contribution exactly
/// once, that no message leaves the buffer, and that no rank sends or receives twice in a round
/// unless the algorithm is a star or a double tree (or the blocks of a tree or hierarchy do not lie
/// side by side: several messages to one rank). Of a barrier: that every rank has heard of every
/// other. Returns the first violation in words ("rank 2, element 5: contribution of rank 1 counted
/// twice"), or an empty string.
std::string check_schedule(const Schedule& schedule);

/// The kind of a rank's op in `operation`: a send, a recv, else a collective.
OpKind kind_of(Operation operation);

/// What the trace keeps of a collective, send or recv: one op per rank; messages follow by
/// make_schedule(request).
struct CollectiveInfo {
  ScheduleRequest request;
  ReduceOp op = ReduceOp::kSum;
  std::int64_t communicator = 0;  ///< 0 = the world; a number per split
  /// the n-th collective of its communicator, the first is 1; sends and recvs count per ordered
  /// pair
  std::int64_t sequence = 0;
  int rank = 0;                      ///< in the communicator
  std::span<const int> world_ranks;  ///< world rank of each rank of the communicator; borrowed
};

}  // namespace ringside
