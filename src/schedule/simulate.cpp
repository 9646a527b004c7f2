#include "schedule/simulate.h"

#include <algorithm>
#include <cmath>

#include "schedule/ownership.h"

namespace ringside::schedule {
namespace {

// To the dtype: floats to nearest, whole numbers wrapped around.
double rounded(double value, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return static_cast<double>(static_cast<float>(value));
    case DType::kFloat16:
      return static_cast<double>(static_cast<float>(Float16(value)));
    case DType::kBFloat16:
      return static_cast<double>(static_cast<float>(BFloat16(value)));
    case DType::kUInt8:
      return value - 256 * std::floor(value / 256);
    case DType::kInt32:
      return value - 0x1p32 * std::floor((value + 0x1p31) / 0x1p32);
    case DType::kInt64:
      return value - 0x1p64 * std::floor((value + 0x1p63) / 0x1p64);
    case DType::kFloat64:
      break;
  }
  return value;
}

double combine(double own, double incoming, ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::kMin:
      return std::min(own, incoming);
    case ReduceOp::kMax:
      return std::max(own, incoming);
    case ReduceOp::kProd:
      return rounded(own * incoming, dtype);
    default:
      return rounded(own + incoming, dtype);
  }
}

// What a message carries, taken before its round changes anything.
std::vector<Values> payloads(const Round& round, const std::vector<Values>& values) {
  std::vector<Values> result;
  result.reserve(round.size());
  for (const Message& message : round) {
    const Values& source = values[static_cast<std::size_t>(message.source)];
    result.emplace_back(source.begin() + static_cast<std::ptrdiff_t>(message.range.begin),
                        source.begin() + static_cast<std::ptrdiff_t>(message.range.end));
  }
  return result;
}

void run_round(const Round& round, ReduceOp op, DType dtype, std::vector<Values>& values) {
  const std::vector<Values> sent = payloads(round, values);
  for (std::size_t m = 0; m < round.size(); ++m) {
    const Message& message = round[m];
    Values& destination = values[static_cast<std::size_t>(message.destination)];
    for (std::size_t i = 0; i < sent[m].size(); ++i) {
      std::optional<double>& own = destination[message.range.begin + i];
      const std::optional<double>& incoming = sent[m][i];
      const bool adds = message.action == Action::kCombine && own && incoming;
      own = adds ? combine(*own, *incoming, op, dtype) : incoming;
    }
  }
}

template <typename Function>
void for_each_held(std::vector<Values>& values, Function function) {
  for (Values& buffer : values) {
    for (std::optional<double>& value : buffer) {
      if (value) value = function(*value);
    }
  }
}

}  // namespace

std::vector<Values> simulate(const Schedule& schedule, ReduceOp op,
                             const std::function<double(int rank, std::size_t element)>& input,
                             const std::function<void(const Stage&)>& visit) {
  const int ranks = schedule.request.ranks;
  const DType dtype = schedule.request.dtype;
  std::vector<Values> values(static_cast<std::size_t>(ranks), Values(schedule.elements));
  for (int rank = 0; rank < ranks; ++rank) {
    const Range own = input_range(schedule, rank);
    for (std::size_t i = own.begin; i < own.end; ++i) {
      values[static_cast<std::size_t>(rank)][i] = input(rank, i);
    }
  }
  visit({StageKind::kInput, 0, values});

  const bool averages = op == ReduceOp::kAvg && combines(schedule.request.operation);
  if (averages && is_floating(dtype)) {
    const double factor = rounded(1.0 / ranks, dtype);
    for_each_held(values, [&](double value) { return rounded(value * factor, dtype); });
    visit({StageKind::kScaled, 0, values});
  }
  for (std::size_t round = 0; round < schedule.rounds.size(); ++round) {
    run_round(schedule.rounds[round], op, dtype, values);
    visit({StageKind::kRound, round, values});
  }
  if (averages && !is_floating(dtype)) {
    for_each_held(values, [&](double value) { return std::trunc(value / ranks); });
    visit({StageKind::kDivided, 0, values});
  }
  return values;
}

}  // namespace ringside::schedule
