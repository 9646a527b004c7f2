// Names of operations, algorithms, borders and directions, and what kind of operation each is.
#include <algorithm>
#include <string>

#include "core/names.h"
#include "ringside/device.h"
#include "ringside/schedule.h"

namespace ringside {
namespace {

constexpr NameTable<Operation, 11> kOperationNames{{{Operation::kBroadcast, "broadcast"},
                                                    {Operation::kScatter, "scatter"},
                                                    {Operation::kGather, "gather"},
                                                    {Operation::kReduce, "reduce"},
                                                    {Operation::kAllReduce, "all-reduce"},
                                                    {Operation::kAllGather, "all-gather"},
                                                    {Operation::kReduceScatter, "reduce-scatter"},
                                                    {Operation::kSend, "send"},
                                                    {Operation::kRecv, "recv"},
                                                    {Operation::kBarrier, "barrier"},
                                                    {Operation::kAllToAll, "all-to-all"}}};
constexpr NameTable<ReduceOp, 5> kReduceOpNames{{{ReduceOp::kSum, "sum"},
                                                 {ReduceOp::kAvg, "avg"},
                                                 {ReduceOp::kMin, "min"},
                                                 {ReduceOp::kMax, "max"},
                                                 {ReduceOp::kProd, "prod"}}};
constexpr NameTable<Algorithm, 9> kAlgorithmNames{
    {{Algorithm::kAutomatic, "auto"},
     {Algorithm::kRing, "ring"},
     {Algorithm::kStar, "star"},
     {Algorithm::kTree, "tree"},
     {Algorithm::kChain, "chain"},
     {Algorithm::kDoubleTree, "double-tree"},
     {Algorithm::kHalvingDoubling, "halving-doubling"},
     {Algorithm::kHierarchical, "hierarchical"},
     {Algorithm::kDirect, "direct"}}};
constexpr NameTable<Border, 3> kBorderNames{
    {{Border::kNccl, "nccl"}, {Border::kGloo, "gloo"}, {Border::kEven, "even"}}};
constexpr NameTable<Direction, 2> kDirectionNames{
    {{Direction::kUp, "up"}, {Direction::kDown, "down"}}};

std::string without_separators(std::string_view name) {
  std::string result(name);
  std::erase_if(result, [](char c) { return c == '-' || c == '_'; });
  return result;
}

}  // namespace

std::string_view to_string(Operation operation) { return name_of(kOperationNames, operation); }

Operation parse_operation(std::string_view name) {
  for (const auto& [operation, candidate] : kOperationNames) {
    if (without_separators(candidate) == without_separators(name)) return operation;
  }
  return parse_name(kOperationNames, "operation", name);
}

bool has_root(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kScatter ||
         operation == Operation::kGather || operation == Operation::kReduce;
}

bool combines(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kAllReduce ||
         operation == Operation::kReduceScatter;
}

bool has_blocks(Operation operation) {
  return operation == Operation::kAllGather || operation == Operation::kReduceScatter ||
         operation == Operation::kGather || operation == Operation::kScatter ||
         operation == Operation::kAllToAll;
}

bool takes_counts(Operation operation) {
  return operation == Operation::kGather || operation == Operation::kScatter ||
         operation == Operation::kAllGather;
}

bool is_pair(Operation operation) {
  return operation == Operation::kSend || operation == Operation::kRecv;
}

OpKind kind_of(Operation operation) {
  if (operation == Operation::kSend) return OpKind::kSend;
  return operation == Operation::kRecv ? OpKind::kRecv : OpKind::kCollective;
}

std::string_view to_string(ReduceOp op) { return name_of(kReduceOpNames, op); }
ReduceOp parse_reduce_op(std::string_view name) {
  return parse_name(kReduceOpNames, "reduce op", name);
}

std::string_view to_string(Algorithm algorithm) { return name_of(kAlgorithmNames, algorithm); }
Algorithm parse_algorithm(std::string_view name) {
  return parse_name(kAlgorithmNames, "algorithm", name);
}

std::string_view to_string(Border border) { return name_of(kBorderNames, border); }
Border parse_border(std::string_view name) { return parse_name(kBorderNames, "border", name); }

std::string_view to_string(Direction direction) { return name_of(kDirectionNames, direction); }
Direction parse_direction(std::string_view name) {
  return parse_name(kDirectionNames, "direction", name);
}

}  // namespace ringside
