// All values of the enumerations that stand in JSON by name, in the order in which a message lists
// them.
#pragma once

#include <array>

#include "ringside/trace.h"

namespace ringside {

inline constexpr std::array kAllPhases = {
    Phase::kSetup,    Phase::kLoad,         Phase::kScatterInput, Phase::kReplicate,
    Phase::kForward,  Phase::kGatherOutput, Phase::kLoss,         Phase::kScatterGrad,
    Phase::kBackward, Phase::kReduceGrad,   Phase::kSyncBuffers,  Phase::kAllReduce,
    Phase::kFinalize, Phase::kPull,         Phase::kPush,         Phase::kAggregate,
    Phase::kUpdate,   Phase::kEvaluate};
inline constexpr std::array kAllOpKinds = {OpKind::kCompute, OpKind::kCopy, OpKind::kCollective,
                                           OpKind::kSend,    OpKind::kRecv, OpKind::kHost,
                                           OpKind::kWait};
inline constexpr std::array kAllStreamKinds = {StreamKind::kCompute, StreamKind::kCopy,
                                               StreamKind::kCommunication};
inline constexpr std::array kAllMemoryKinds = {
    MemoryKind::kParameters,  MemoryKind::kGradients, MemoryKind::kOptimizerState,
    MemoryKind::kActivations, MemoryKind::kReplicas,  MemoryKind::kBuckets,
    MemoryKind::kInputs,      MemoryKind::kOutputs,   MemoryKind::kWorkspace};
static_assert(kAllMemoryKinds.size() == kMemoryKinds);
inline constexpr std::array kAllDTypes = {DType::kFloat32, DType::kFloat64, DType::kInt32,
                                          DType::kInt64,   DType::kFloat16, DType::kBFloat16,
                                          DType::kUInt8};
inline constexpr std::array kAllOperations = {
    Operation::kBroadcast, Operation::kScatter,   Operation::kGather,        Operation::kReduce,
    Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter, Operation::kSend,
    Operation::kRecv,      Operation::kBarrier,   Operation::kAllToAll};
inline constexpr std::array kAllAlgorithms = {Algorithm::kAutomatic,
                                              Algorithm::kRing,
                                              Algorithm::kStar,
                                              Algorithm::kTree,
                                              Algorithm::kChain,
                                              Algorithm::kDoubleTree,
                                              Algorithm::kHalvingDoubling,
                                              Algorithm::kHierarchical,
                                              Algorithm::kDirect};
inline constexpr std::array kAllReduceOps = {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kMin,
                                             ReduceOp::kMax, ReduceOp::kProd};
inline constexpr std::array kAllBorders = {Border::kNccl, Border::kGloo, Border::kEven};
inline constexpr std::array kAllDirections = {Direction::kUp, Direction::kDown};

}  // namespace ringside
