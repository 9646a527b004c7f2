// What the tests of simulated communicators share: worlds, arrays with given values, errors.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ringside/error.h"
#include "ringside/world.h"
#include "sim/comm/sim_world.h"
#include "support/device_arrays.h"
#include "support/time_limit.h"

namespace ringside::sim {

using test::array_of;
using test::communication;
using test::values_of;
using test::with_time_limit;

inline std::unique_ptr<World> world_of(int size) {
  WorldOptions options;
  options.size = size;
  return open_sim_world(options);
}

/// All-reduces rank + 1 over the ranks and expects the sum: what must still work after an error.
inline void expect_good_collective(Rank& rank) {
  const int n = rank.communicator.size();
  const int sum = n * (n + 1) / 2;
  const DeviceArray value =
      array_of<float>(rank.device, {static_cast<float>(rank.communicator.rank() + 1)});
  rank.communicator.all_reduce(value, value, 1, ReduceOp::kSum, communication(rank)).synchronize();
  EXPECT_EQ(value.data<float>()[0], static_cast<float>(sum));
}

/// What each rank caught in a run.
class Caught {
 public:
  explicit Caught(int ranks) : errors_(static_cast<std::size_t>(ranks)) {}
  /// Calls `body`, and keeps the Error that it throws.
  void in(int rank, const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      errors_[static_cast<std::size_t>(rank)] = std::make_unique<Error>(error);
    }
  }
  bool any(int rank) const { return errors_[static_cast<std::size_t>(rank)] != nullptr; }
  std::string text(int rank) const {
    const auto& error = errors_[static_cast<std::size_t>(rank)];
    return error ? error->what() : "no error";
  }
  ErrorKind kind(int rank) const { return errors_.at(static_cast<std::size_t>(rank))->kind(); }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Error>> errors_;
};

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in\n" << text;
}

/// The Error that `function` throws.
template <typename Function>
Error error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorKind::kIo, "");
}

}  // namespace ringside::sim
