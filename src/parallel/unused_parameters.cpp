#include "parallel/unused_parameters.h"

#include <algorithm>
#include <unordered_set>

#include "parallel/exchange.h"
#include "ringside/ddp.h"

namespace ringside {

std::vector<std::size_t> parameters_not_reached(const Tensor& output,
                                                std::span<const NamedTensor> parameters) {
  std::unordered_set<const Node*> seen;  // never iterated
  std::vector<Node*> unvisited;
  const auto visit = [&](const std::shared_ptr<Node>& node) {
    if (node && seen.insert(node.get()).second) unvisited.push_back(node.get());
  };
  visit(output.gradient_edge().node);
  while (!unvisited.empty()) {
    Node& node = *unvisited.back();
    unvisited.pop_back();
    for (const Edge& edge : node.next()) visit(edge.node);
  }
  std::vector<std::size_t> unreached;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!seen.contains(parameters[i].tensor.gradient_edge().node.get())) unreached.push_back(i);
  }
  return unreached;
}

void UsageMap::launch() {
  OpContext context = rank_.device.context();
  context.phase = Phase::kAllReduce;
  const ContextScope scope(rank_.device, context);
  const std::vector<double> own(ranks_using_.begin(), ranks_using_.end());
  summed_ = Tensor::from_host(rank_.device, Shape{static_cast<std::int64_t>(own.size())},
                              DType::kInt32, own, MemoryKind::kWorkspace, "used parameters");
  work_ = all_reduce_in_place(rank_, summed_);
}

bool UsageMap::used_anywhere(std::size_t parameter) {
  if (ranks_using_[parameter] > 0 || read_) return ranks_using_[parameter] > 0;
  work_.wait(rank_.device.compute());
  if (rank_.device.executes()) {  // where nothing executes, the ranks are taken to agree
    const std::vector<double> sums = host_values(summed_);
    std::transform(sums.begin(), sums.end(), ranks_using_.begin(),
                   [](double sum) { return static_cast<int>(sum); });
  }
  read_ = true;
  return ranks_using_[parameter] > 0;
}

void UsageMap::reset() {
  work_.wait(rank_.device.compute());
  std::fill(ranks_using_.begin(), ranks_using_.end(), 0);
  summed_ = Tensor();
  work_ = Work();
  read_ = false;
}

}  // namespace ringside
