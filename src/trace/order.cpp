#include "trace/order.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace ringside {
namespace {

// A merge of the ranks' queues: of all queue heads whose dependencies are out, the one with the
// smallest (step, rank) goes next.
class Merge {
 public:
  explicit Merge(std::vector<TraceOp> ops) : ops_(std::move(ops)), number_(ops_.size(), kNoOp) {
    for (std::size_t index = 0; index < ops_.size(); ++index) {
      queues_[ops_[index].rank].indices.push_back(index);
    }
  }

  std::vector<TraceOp> run() {
    for (auto& [rank, queue] : queues_) offer(rank, queue);
    std::vector<TraceOp> ordered;
    ordered.reserve(ops_.size());
    while (!ready_.empty()) {
      const int rank = ready_.begin()->second;
      ready_.erase(ready_.begin());
      Queue& queue = queues_[rank];
      const std::size_t index = queue.indices[queue.next++];
      number_[index] = static_cast<OpId>(ordered.size());
      ordered.push_back(renumbered(index));
      offer(rank, queue);
      const auto released = blocked_.find(index);
      if (released == blocked_.end()) continue;
      for (const int other : released->second) offer(other, queues_[other]);
      blocked_.erase(released);
    }
    if (ordered.size() != ops_.size())
      throw std::logic_error("ops wait for each other in a circle");
    return ordered;
  }

 private:
  struct Queue {
    std::vector<std::size_t> indices;
    std::size_t next = 0;
  };

  void offer(int rank, const Queue& queue) {
    if (queue.next == queue.indices.size()) return;
    const TraceOp& head = ops_[queue.indices[queue.next]];
    for (const OpId dependency : head.dependencies) {
      const auto index = static_cast<std::size_t>(dependency);
      if (number_[index] != kNoOp) continue;
      blocked_[index].push_back(rank);
      return;
    }
    ready_.emplace(head.step, rank);
  }

  TraceOp renumbered(std::size_t index) {
    TraceOp op = std::move(ops_[index]);
    op.id = number_[index];
    for (OpId& dependency : op.dependencies) {
      dependency = number_[static_cast<std::size_t>(dependency)];
    }
    std::sort(op.dependencies.begin(), op.dependencies.end());
    op.dependencies.erase(std::unique(op.dependencies.begin(), op.dependencies.end()),
                          op.dependencies.end());
    return op;
  }

  std::vector<TraceOp> ops_;
  std::vector<OpId> number_;  // by old id
  std::map<int, Queue> queues_;
  std::set<std::pair<int, int>> ready_;              // (step, rank) of heads that may go
  std::map<std::size_t, std::vector<int>> blocked_;  // op -> ranks whose head waits for it
};

}  // namespace

std::vector<TraceOp> in_trace_order(std::vector<TraceOp> ops) {
  return Merge(std::move(ops)).run();
}

}  // namespace ringside
