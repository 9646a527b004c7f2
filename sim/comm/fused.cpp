#include "sim/comm/fused.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstring>
#include <vector>

#include "comm/arithmetic.h"
#include "core/copy_past_caches.h"

namespace ringside::sim {
namespace {

// Accumulator, operands and destination of a block stay in the first-level cache.
constexpr std::size_t kBlockBytes = 8192;
// What is copied stays in the second-level cache until the last destination has it.
constexpr std::size_t kCopyBlockBytes = 128 * 1024;
// Lists of so many ranks need no allocation.
constexpr std::size_t kFewRanks = 16;

class Evaluation {
 public:
  Evaluation(const FusedPlan& plan, ReduceOp op, std::span<const RankBuffers> buffers)
      : plan_(plan),
        op_(combines(plan.frame.request.operation) ? op : ReduceOp::kSum),
        dtype_(plan.frame.request.dtype),
        element_(size_of(dtype_)),
        buffers_(buffers) {
    std::size_t most_targets = 1;
    for (const auto& segment : plan.segments) {
      most_targets = std::max(most_targets, segment.targets.size());
    }
    results_ = static_cast<std::size_t>(plan.temporaries);
    scratch_blocks_ = results_ + most_targets;
  }

  std::size_t elements(std::size_t bytes) const { return bytes / element_; }

  /// A sum of plain contributions that all who get it get alike: one pass, without scratch.
  bool is_chain(const FusedPlan::Segment& segment) const {
    return segment.targets.size() == 1 && segment.targets.front().chain.size() > 1;
  }
  void run_chain(const FusedPlan::Segment& segment, Range range) {
    block_ = range;
    const FusedPlan::Target& target = segment.targets.front();
    boost::container::small_vector<const std::byte*, kFewRanks> sources;
    boost::container::small_vector<std::byte*, kFewRanks> destinations;
    for (const int rank : target.chain) sources.push_back(source(rank));
    for (const int rank : target.destinations) destinations.push_back(destination(rank));
    combine_chain(dtype_, op_, plan_.frame.request.ranks, target.sum_first,
                  {sources.data(), sources.size()}, {destinations.data(), destinations.size()},
                  range.size());
  }

  /// What a rank has goes to others as it is.
  bool is_copy(const FusedPlan::Segment& segment) const {
    return segment.targets.size() == 1 && segment.targets.front().chain.size() == 1 &&
           !combines(plan_.frame.request.operation);
  }
  void run_copy(const FusedPlan::Segment& segment, Range block) {
    block_ = block;
    const FusedPlan::Target& target = segment.targets.front();
    const std::byte* from = source(target.chain.front());
    const bool past_caches = bytes_touched(buffers_, element_) >= kBytesBeyondCaches;
    for (const int rank : target.destinations) {
      std::byte* into = destination(rank);
      if (into == from) continue;
      if (past_caches) {
        copy_past_caches(into, from, bytes());
      } else {
        std::memcpy(into, from, bytes());
      }
    }
  }

  void run(const FusedPlan::Segment& segment, Range block) {
    block_ = block;
    if (segment.targets.size() == 1) {
      // One value for all: the last operation may write over an operand of the same elements.
      const FusedPlan::Target& target = segment.targets.front();
      deliver(target, value_of(target.node, destination(target.destinations.front())));
      return;
    }
    // Another target's value may still need what this one's destination holds in place.
    for (std::size_t i = 0; i < segment.targets.size(); ++i) {
      std::byte* result = scratch_block(results_ + i);
      const std::byte* value = value_of(segment.targets[i].node, result);
      if (value != result) std::memcpy(result, value, bytes());
    }
    for (std::size_t i = 0; i < segment.targets.size(); ++i) {
      deliver(segment.targets[i], scratch_block(results_ + i));
    }
  }

 private:
  std::size_t bytes() const { return block_.size() * element_; }
  std::byte* scratch_block(std::size_t index) {
    if (scratch_.empty()) scratch_.resize(scratch_blocks_ * kBlockBytes);
    return scratch_.data() + index * kBlockBytes;
  }
  std::byte* destination(int rank) const {
    const RankBuffers& buffers = buffers_[static_cast<std::size_t>(rank)];
    return buffers.destination + (block_.begin - buffers.output.begin) * element_;
  }
  const std::byte* source(int rank) const {
    const RankBuffers& buffers = buffers_[static_cast<std::size_t>(rank)];
    return buffers.source + (block_.begin - buffers.input.begin) * element_;
  }

  // The node's value for the block: in `out`, or where a contribution lies.
  const std::byte* value_of(int index, std::byte* out) {
    const FusedPlan::Node& node = plan_.nodes[static_cast<std::size_t>(index)];
    if (node.rank < 0) {
      evaluate(node, out, 0);
      return out;
    }
    if (!scales_contributions(dtype_, op_)) return source(node.rank);
    contribute(dtype_, op_, plan_.frame.request.ranks, out, source(node.rank), block_.size());
    return out;
  }

  // A chain of additions keeps one temporary: the operand that is itself a sum comes first.
  void evaluate(const FusedPlan::Node& node, std::byte* out, std::size_t temporary) {
    const bool left_is_leaf = plan_.nodes[static_cast<std::size_t>(node.left)].rank >= 0;
    std::size_t next = temporary;
    const std::byte* left = nullptr;
    const std::byte* right = nullptr;
    if (left_is_leaf) {
      right = operand(node.right, next);
      left = operand(node.left, next);
    } else {
      left = operand(node.left, next);
      right = operand(node.right, next);
    }
    combine(dtype_, op_, out, left, right, block_.size());
  }

  // Takes temporary block `next`, and moves it on, if the operand is not a plain contribution.
  const std::byte* operand(int index, std::size_t& next) {
    const FusedPlan::Node& node = plan_.nodes[static_cast<std::size_t>(index)];
    if (node.rank >= 0 && !scales_contributions(dtype_, op_)) return source(node.rank);
    std::byte* out = scratch_block(next);
    if (node.rank >= 0) {
      contribute(dtype_, op_, plan_.frame.request.ranks, out, source(node.rank), block_.size());
    } else {
      evaluate(node, out, next);
    }
    ++next;
    return out;
  }

  void deliver(const FusedPlan::Target& target, const std::byte* value) {
    for (const int rank : target.destinations) {
      std::byte* into = destination(rank);
      if (into != value) std::memcpy(into, value, bytes());
      if (rank == target.destinations.front()) {
        conclude(dtype_, op_, plan_.frame.request.ranks, into, block_.size());
        value = into;
      }
    }
  }

  const FusedPlan& plan_;
  ReduceOp op_;
  DType dtype_;
  std::size_t element_;
  std::span<const RankBuffers> buffers_;
  Range block_;
  std::size_t results_ = 0;  // scratch blocks from here on hold whole results
  std::size_t scratch_blocks_ = 0;
  std::vector<std::byte> scratch_;  // made when it is first needed
};

}  // namespace

std::size_t bytes_touched(std::span<const RankBuffers> buffers, std::size_t element_size) {
  std::size_t elements = 0;
  for (const RankBuffers& rank : buffers) {
    elements += std::max(rank.input.size(), rank.output.size());
  }
  return elements * element_size;
}

void run_fused(const FusedPlan& plan, ReduceOp op, std::span<const RankBuffers> buffers,
               Range part) {
  Evaluation evaluation(plan, op, buffers);
  for (const FusedPlan::Segment& segment : plan.segments) {
    std::size_t begin = std::max(segment.range.begin, part.begin);
    const std::size_t end = std::min(segment.range.end, part.end);
    if (begin >= end) continue;
    if (evaluation.is_chain(segment)) {
      evaluation.run_chain(segment, {begin, end});
      continue;
    }
    const bool copies = evaluation.is_copy(segment);
    const std::size_t elements = evaluation.elements(copies ? kCopyBlockBytes : kBlockBytes);
    while (begin < end) {
      const std::size_t block_end = std::min(end, begin + elements);
      if (copies) {
        evaluation.run_copy(segment, {begin, block_end});
      } else {
        evaluation.run(segment, {begin, block_end});
      }
      begin = block_end;
    }
  }
}

}  // namespace ringside::sim
