#include "views/buckets.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "views/step_facts.h"

namespace ringside {
namespace {

// A parameter's gradient on its way into the bucket. A copy to the host is none.
bool is_gradient_of_bucket(const TraceOp& op) {
  return op.bucket >= 0 && op.kind == OpKind::kCompute && op.phase == Phase::kBackward &&
         !op.label.empty();
}

// The gradients' own bytes: a communication hook may send them in a narrower type.
std::size_t gradient_bytes(const Trace& trace, const TraceCollective& collective) {
  return collective.request.count * size_of(trace.run.dtype);
}

}  // namespace

std::vector<StepBucket> buckets_of(const Trace& trace, int step) {
  std::vector<StepBucket> buckets;
  int first_rank = -1;
  for (const TraceOp& op : trace.ops) {
    if (op.step != step || op.bucket < 0) continue;
    const auto number = static_cast<std::size_t>(op.bucket);
    if (op.kind == OpKind::kCollective && op.collective) {
      if (buckets.size() <= number) buckets.resize(number + 1);
      buckets[number].ops.push_back(&op);
      buckets[number].bytes = op.collective->request.count * size_of(op.collective->request.dtype);
    } else if (is_gradient_of_bucket(op)) {
      // One rank's copies into the bucket name its parameters.
      if (first_rank < 0) first_rank = op.rank;
      if (op.rank != first_rank) continue;
      if (buckets.size() <= number) buckets.resize(number + 1);
      buckets[number].parameters.push_back(op.label);
    }
  }
  std::erase_if(buckets, [](const StepBucket& bucket) { return bucket.ops.empty(); });
  for (std::size_t i = 0; i < buckets.size() && i < trace.run.buckets.size(); ++i) {
    const TraceRun::Bucket& known = trace.run.buckets[i];
    const std::size_t bytes = gradient_bytes(trace, *buckets[i].ops.front()->collective);
    if (buckets[i].parameters.empty() && known.bytes == bytes) {
      buckets[i].parameters = known.parameters;
    }
  }
  return buckets;
}

namespace {

// The buckets of the first step are made before any gradient is there, and later ones in the order
// in which gradients got ready.
bool is_of_known_buckets(const TraceOp& op, const Trace& trace) {
  const std::vector<TraceRun::Bucket>& known = trace.run.buckets;
  const auto number = static_cast<std::size_t>(op.bucket);
  if (number >= known.size()) return false;
  if (op.collective) return gradient_bytes(trace, *op.collective) == known[number].bytes;
  const auto& names = known[number].parameters;
  return !is_gradient_of_bucket(op) ||
         std::find(names.begin(), names.end(), op.label) != names.end();
}

}  // namespace

std::vector<WaitingBucket> waiting_buckets(const Trace& trace, int step) {
  std::set<int> recorded;                        // ranks; others may be in other processes
  std::set<int> begun;                           // ranks that have got to backward
  std::set<std::pair<int, std::string>> filled;  // rank and parameter
  std::set<int> averaged;
  for (const TraceOp& op : trace.ops) {
    recorded.insert(op.rank);
    if (op.step != step) continue;
    if (op.phase == Phase::kBackward) begun.insert(op.rank);
    if (op.bucket < 0) continue;
    if (!is_of_known_buckets(op, trace)) return {};
    if (op.kind == OpKind::kCollective) averaged.insert(op.bucket);
    if (is_gradient_of_bucket(op)) filled.emplace(op.rank, op.label);
  }
  std::vector<WaitingBucket> waiting;
  if (filled.empty()) return waiting;
  for (std::size_t i = 0; i < trace.run.buckets.size(); ++i) {
    WaitingBucket bucket;
    bucket.number = static_cast<int>(i);
    if (averaged.contains(bucket.number)) continue;
    bucket.bytes = trace.run.buckets[i].bytes;
    std::set_difference(recorded.begin(), recorded.end(), begun.begin(), begun.end(),
                        std::back_inserter(bucket.late));
    for (const std::string& parameter : trace.run.buckets[i].parameters) {
      const bool everywhere = std::all_of(begun.begin(), begun.end(), [&](int rank) {
        return filled.contains({rank, parameter});
      });
      if (!everywhere) bucket.missing.push_back(parameter);
    }
    waiting.push_back(std::move(bucket));
  }
  return waiting;
}

bool adds_after_averaging(const Trace& trace, int step) {
  std::set<int> averaged;  // ranks whose gradients are the averages
  std::set<int> added;     // and that have gone on since
  for (const TraceOp& op : trace.ops) {
    if (op.step != step) continue;
    if (op.phase == Phase::kFinalize) {
      averaged.insert(op.rank);
      added.erase(op.rank);
    } else if (op.phase == Phase::kBackward && op.kind == OpKind::kCompute &&
               averaged.contains(op.rank)) {
      added.insert(op.rank);
    }
  }
  return !added.empty();
}

std::vector<int> bucket_of_backward(const std::vector<const TraceOp*>& ops) {
  std::vector<int> buckets(ops.size(), -1);
  int next = -1;
  for (std::size_t i = ops.size(); i-- > 0;) {
    if (ops[i]->bucket >= 0) next = ops[i]->bucket;
    buckets[i] = next;
  }
  return buckets;
}

}  // namespace ringside
