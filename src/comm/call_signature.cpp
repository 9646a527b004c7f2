#include "comm/call_signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "schedule/request.h"

namespace ringside {
namespace {

// A default that does not exist for the operation (a ring for gather) leaves the choice open.
Algorithm chosen_algorithm(const CollectiveCall& call, const Communicator::Defaults& defaults) {
  const std::span<const Algorithm> known = algorithms_for(call.operation);
  const Algorithm wanted =
      call.algorithm == Algorithm::kAutomatic ? defaults.algorithm : call.algorithm;
  const bool exists = std::find(known.begin(), known.end(), wanted) != known.end();
  return exists ? wanted : known.front();
}

// Those that the algorithm has.
void set_parameters(ScheduleRequest& request, const Communicator::Defaults& defaults) {
  const bool all_reduce = request.operation == Operation::kAllReduce;
  switch (request.algorithm) {
    case Algorithm::kRing:
      if (all_reduce) request.border = defaults.border;
      request.direction = defaults.direction;
      if (request.operation == Operation::kBroadcast || request.operation == Operation::kReduce) {
        request.pieces = defaults.pieces;
      }
      return;
    case Algorithm::kChain:
      request.direction = defaults.direction;
      request.pieces = defaults.pieces;
      return;
    case Algorithm::kDoubleTree:
      request.pieces = defaults.pieces;
      return;
    case Algorithm::kHierarchical: {
      const int size = defaults.node_size;
      request.node_size = size > 0 && request.ranks % size == 0 ? size : 0;
      request.node_size = schedule::chosen_node_size(request);
      return;
    }
    case Algorithm::kAutomatic:
    case Algorithm::kStar:
    case Algorithm::kTree:
    case Algorithm::kHalvingDoubling:
    case Algorithm::kDirect:
      return;
  }
}

std::string count_text(const ScheduleRequest& request) {
  if (request.counts.empty()) return fmt::format("count={}", request.count);
  return fmt::format("counts=[{}]", fmt::join(request.counts, ", "));
}

std::string algorithm_text(const ScheduleRequest& request) {
  std::string text(to_string(request.algorithm));
  if (request.node_size > 0) text += fmt::format(", nodes of {}", request.node_size);
  if (request.pieces > 1) text += fmt::format(", {} pieces", request.pieces);
  if (request.algorithm != Algorithm::kRing && request.algorithm != Algorithm::kChain) return text;
  text += fmt::format(" {}", to_string(request.direction));
  if (request.operation == Operation::kAllReduce && request.algorithm == Algorithm::kRing) {
    text += fmt::format(", border {}", to_string(request.border));
  }
  return text;
}

}  // namespace

CallSignature signature_of(const CollectiveCall& call, int rank, int ranks,
                           const Communicator::Defaults& defaults) {
  CallSignature signature;
  ScheduleRequest& request = signature.request;
  request.operation = call.operation;
  request.algorithm = chosen_algorithm(call, defaults);
  request.ranks = ranks;
  set_parameters(request, defaults);
  if (call.operation == Operation::kBarrier) return signature;
  request.count = call.count;
  request.dtype = call.dtype;
  if (has_root(call.operation)) request.root = call.root;
  if (combines(call.operation)) signature.op = call.op;
  if (is_pair(call.operation)) {
    const bool sends = call.operation == Operation::kSend;
    request.root = sends ? rank : call.peer;
    request.peer = sends ? call.peer : rank;
  }
  if (!call.counts.empty()) {
    request.count = call.counts.front();
    const bool alike = std::all_of(call.counts.begin(), call.counts.end(),
                                   [&](std::size_t count) { return count == request.count; });
    if (!alike) {
      request.count = 0;
      request.counts = call.counts;
    }
  }
  return signature;
}

CallSignature signature_on(Communicator& communicator, const CollectiveCall& call) {
  CallSignature signature =
      signature_of(call, communicator.rank(), communicator.size(), communicator.defaults());
  const OpContext& context = communicator.device().context();
  signature.purpose = {context.step, context.phase, context.bucket};
  return signature;
}

bool is_message(const CallSignature& signature) { return is_pair(signature.request.operation); }

CallSignature split_signature(int ranks) {
  CallSignature signature;
  signature.request.operation = Operation::kBarrier;
  signature.request.ranks = ranks;
  signature.split = true;
  return signature;
}

std::string to_string(const CallSignature& signature, bool with_algorithm) {
  if (signature.split) return "split";
  const ScheduleRequest& request = signature.request;
  if (is_pair(request.operation)) return pair_text(signature);
  std::vector<std::string> parts;
  if (request.operation != Operation::kBarrier) {
    parts = {count_text(request), std::string(to_string(request.dtype))};
  }
  if (combines(request.operation)) parts.emplace_back(to_string(signature.op));
  if (has_root(request.operation)) parts.push_back(fmt::format("root={}", request.root));
  if (with_algorithm) parts.push_back(algorithm_text(request));
  return fmt::format("{}({})", to_string(request.operation), fmt::join(parts, ", "));
}

std::string pair_text(const CallSignature& signature) {
  const ScheduleRequest& request = signature.request;
  const bool sends = request.operation == Operation::kSend;
  return fmt::format("{}(count={}, {}, {} rank {})", to_string(request.operation), request.count,
                     to_string(request.dtype), sends ? "to" : "from",
                     sends ? request.peer : request.root);
}

std::string to_string(const CallPurpose& purpose) {
  if (purpose.step < 0) {
    return purpose.phase == Phase::kEvaluate ? " for the losses of an epoch" : "";
  }
  if (purpose.bucket >= 0) {
    return fmt::format(" for bucket {} of step {}", purpose.bucket, purpose.step);
  }
  return fmt::format(" for the {} of step {}", to_string(purpose.phase), purpose.step);
}

std::string to_string(const CollectiveCall& call) {
  CallSignature signature;
  ScheduleRequest& request = signature.request;
  request.operation = call.operation;
  request.count = call.count;
  request.counts = call.counts;
  request.dtype = call.dtype;
  request.root = call.operation == Operation::kRecv ? call.peer : call.root;
  request.peer = call.peer;
  signature.op = call.op;
  return to_string(signature);
}

std::vector<std::int64_t> encode(const CallSignature& signature) {
  const ScheduleRequest& request = signature.request;
  std::vector<std::int64_t> code = {static_cast<std::int64_t>(request.operation),
                                    static_cast<std::int64_t>(request.algorithm),
                                    request.ranks,
                                    static_cast<std::int64_t>(request.count),
                                    request.root,
                                    request.peer,
                                    static_cast<std::int64_t>(request.dtype),
                                    static_cast<std::int64_t>(request.direction),
                                    static_cast<std::int64_t>(request.border),
                                    request.pieces,
                                    request.node_size,
                                    static_cast<std::int64_t>(signature.op),
                                    signature.split ? 1 : 0,
                                    signature.purpose.step,
                                    static_cast<std::int64_t>(signature.purpose.phase),
                                    signature.purpose.bucket};
  code.insert(code.end(), request.counts.begin(), request.counts.end());
  return code;
}

CallSignature decode(std::span<const std::int64_t> code) {
  constexpr std::size_t kFixed = 16;
  CallSignature signature;
  ScheduleRequest& request = signature.request;
  request.operation = static_cast<Operation>(code[0]);
  request.algorithm = static_cast<Algorithm>(code[1]);
  request.ranks = static_cast<int>(code[2]);
  request.count = static_cast<std::size_t>(code[3]);
  request.root = static_cast<int>(code[4]);
  request.peer = static_cast<int>(code[5]);
  request.dtype = static_cast<DType>(code[6]);
  request.direction = static_cast<Direction>(code[7]);
  request.border = static_cast<Border>(code[8]);
  request.pieces = static_cast<int>(code[9]);
  request.node_size = static_cast<int>(code[10]);
  signature.op = static_cast<ReduceOp>(code[11]);
  signature.split = code[12] != 0;
  signature.purpose = {static_cast<int>(code[13]), static_cast<Phase>(code[14]),
                       static_cast<int>(code[15])};
  for (const std::int64_t count : code.subspan(kFixed)) {
    request.counts.push_back(static_cast<std::size_t>(count));
  }
  return signature;
}

}  // namespace ringside
