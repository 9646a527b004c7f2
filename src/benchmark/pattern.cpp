#include "benchmark/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace ringside::benchmark {
namespace {

constexpr std::size_t kMostValue = 250;  // exact in every dtype, and no unwritten byte (0xFF)
constexpr int kMostTwos = 7;             // in a product: 2^7 is exact in every dtype

// Whole numbers up to this are exact in `dtype`, and sums of them up to it.
std::size_t exact_limit(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return kMostValue;
    case DType::kBFloat16:
      return 256;
    case DType::kFloat16:
      return 2048;
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kInt32:
    case DType::kInt64:
      break;
  }
  return std::size_t{1} << 24U;
}

// The distance from 1 to the next number.
double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 0x1p-52;
    case DType::kFloat16:
      return 0x1p-10;
    case DType::kBFloat16:
      return 0x1p-7;
    case DType::kFloat32:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUInt8:
      break;
  }
  return 0x1p-23;
}

// Looks random and is the same everywhere. [splitmix64]
std::uint64_t mix(std::size_t rank, std::size_t element) {
  std::uint64_t z = (rank + 1) * 0x9E3779B97F4A7C15U + element * 0xD1B54A32D192ED03U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

std::size_t rounded_up(std::size_t number, std::size_t divisor) {
  return (number + divisor - 1) / divisor;
}

// The values that an operation can make exact results of.
class Values {
 public:
  Values(bool sums, bool multiplies, DType dtype, std::size_t ranks)
      : multiplies_(multiplies),
        most_(sums ? std::min(kMostValue, exact_limit(dtype) / ranks) : kMostValue),
        // Of more ranks than can bring a 1 each, some bring a 0.
        stride_(multiplies ? rounded_up(ranks, kMostTwos) : rounded_up(ranks, exact_limit(dtype))) {
  }

  double operator()(std::size_t rank, std::size_t element) const {
    const bool turn = (rank + element) % stride_ == 0;
    const std::uint64_t random = mix(rank, element);
    // Results must differ from element to element, and every rank count in some of them.
    const bool chosen = stride_ == 1 ? random % 2 == 0 : element / stride_ % 2 == 0;
    if (multiplies_) return turn && chosen ? 2 : 1;
    if (most_ < 2) return turn && chosen ? 1 : 0;
    return static_cast<double>(1 + random % most_);
  }

  double most() const { return static_cast<double>(std::max<std::size_t>(most_, 1)); }

 private:
  bool multiplies_;
  std::size_t most_;
  std::size_t stride_;
};

double combine(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kProd:
      return a * b;
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      break;
  }
  return a + b;
}

Period combination(const std::vector<Period>& contributions, ReduceOp op, DType dtype) {
  Period result = contributions.front();
  for (std::size_t rank = 1; rank < contributions.size(); ++rank) {
    for (std::size_t i = 0; i < kPeriod; ++i) {
      result[i] = combine(op, result[i], contributions[rank][i]);
    }
  }
  if (op != ReduceOp::kAvg) return result;
  for (double& value : result) {
    value /= static_cast<double>(contributions.size());
    if (!is_floating(dtype)) value = std::trunc(value);
  }
  return result;
}

}  // namespace

Pattern::Pattern(Operation operation, DType dtype, ReduceOp op, int root, int ranks)
    : operation_(operation), root_(root), ranks_(ranks) {
  const bool combining = combines(operation);
  const bool sums = combining && (op == ReduceOp::kSum || op == ReduceOp::kAvg);
  const Values values(sums, combining && op == ReduceOp::kProd, dtype,
                      static_cast<std::size_t>(ranks));
  contributions_.resize(static_cast<std::size_t>(ranks), Period(kPeriod));
  for (std::size_t rank = 0; rank < contributions_.size(); ++rank) {
    for (std::size_t i = 0; i < kPeriod; ++i) contributions_[rank][i] = values(rank, i);
  }
  if (!combining) return;
  combined_ = combination(contributions_, op, dtype);
  // Every input is rounded when it is multiplied by 1/n, itself rounded, and so is every sum.
  if (op == ReduceOp::kAvg && is_floating(dtype)) {
    tolerance_ = (ranks + 1) * epsilon_of(dtype) * values.most();
  }
}

std::vector<ExpectedPart> Pattern::expected(int rank, std::size_t count) const {
  const auto own_block = static_cast<std::size_t>(rank) * count;
  std::vector<ExpectedPart> of_every_rank;
  switch (operation_) {
    case Operation::kBroadcast:
      return {{&contribution(root_), 0, count}};
    case Operation::kScatter:
      return {{&contribution(root_), own_block, count}};
    case Operation::kAllReduce:
      return {{&combined_, 0, count}};
    case Operation::kReduce:
      if (rank != root_) return {};
      return {{&combined_, 0, count}};
    case Operation::kReduceScatter:
      return {{&combined_, own_block, count}};
    case Operation::kGather:
      if (rank != root_) return {};
      [[fallthrough]];
    case Operation::kAllGather:
      for (int other = 0; other < ranks_; ++other) {
        of_every_rank.push_back({&contribution(other), 0, count});
      }
      return of_every_rank;
    case Operation::kAllToAll:
      for (int other = 0; other < ranks_; ++other) {
        of_every_rank.push_back({&contribution(other), own_block, count});
      }
      return of_every_rank;
    case Operation::kSend:
    case Operation::kRecv:
      return {{&contribution((rank + ranks_ - 1) % ranks_), 0, count}};
    case Operation::kBarrier:
      break;
  }
  return {};
}

std::vector<std::byte> elements_of(const Period& values, DType dtype, std::size_t periods) {
  const std::size_t bytes = values.size() * size_of(dtype);
  std::vector<std::byte> elements(bytes * periods);
  visit_dtype(dtype, [&]<typename T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T element = static_cast<T>(values[i]);
      std::memcpy(elements.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  for (std::size_t period = 1; period < periods; ++period) {
    std::memcpy(elements.data() + period * bytes, elements.data(), bytes);
  }
  return elements;
}

std::size_t count_wrong(std::span<const std::byte> elements, DType dtype, const Period& values,
                        std::size_t first, double tolerance) {
  return visit_dtype(dtype, [&]<typename T>() {
    std::size_t wrong = 0;
    std::size_t place = first % values.size();
    for (std::size_t at = 0; at < elements.size(); at += sizeof(T)) {
      T element;
      std::memcpy(&element, elements.data() + at, sizeof(T));
      const double difference = std::abs(static_cast<double>(element) - values[place]);
      if (!(difference <= tolerance)) ++wrong;  // of what is no number, too
      if (++place == values.size()) place = 0;
    }
    return wrong;
  });
}

}  // namespace ringside::benchmark
