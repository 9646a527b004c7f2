#include "trace/snapshot.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ringside/kernels.h"

namespace ringside {
namespace {

constexpr std::size_t kElementsAtOnce = 16384;

}  // namespace

void Digest::update(std::span<const std::byte> bytes) {
  checksum_.add(bytes);
  visit_dtype(dtype_, [&]<typename T>() {
    for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
      T element;
      std::memcpy(&element, bytes.data() + at, sizeof element);
      const auto value = static_cast<double>(element);
      sum_of_squares_ += value * value;
      if constexpr (std::is_same_v<T, std::int64_t>) {
        constexpr std::int64_t kExact = std::int64_t{1} << 53;
        exact_ = exact_ && element >= -kExact && element <= kExact;
      }
      if (keep_values_) values_.push_back(value);
    }
  });
}

void Digest::store(TraceTensor& tensor) const {
  if (keep_values_ && exact_) {
    tensor.values = values_;
    return;
  }
  tensor.norm = std::sqrt(sum_of_squares_);
  tensor.checksum = checksum_.value();
}

void Snapshot::take(LaunchContext& context, const DeviceArray& array) {
  if (context.native_stream != nullptr) {
    pending_.resize(array.bytes());
    context.kernels.copy_to_host(context, pending_.data(), array);
  } else {
    const std::size_t count = array.count();
    std::vector<std::byte> piece;
    for (std::size_t first = 0; first < count; first += kElementsAtOnce) {
      const DeviceArray part = array.slice(first, std::min(kElementsAtOnce, count - first));
      piece.resize(part.bytes());
      context.kernels.copy_to_host(context, piece.data(), part);
      digest_.update(piece);
    }
  }
  taken_ = true;
}

void Snapshot::store(TraceTensor& tensor) {
  if (!taken_) return;
  digest_.update(std::exchange(pending_, {}));
  digest_.store(tensor);
}

}  // namespace ringside
