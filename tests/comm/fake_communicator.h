// A communicator that only keeps what reaches it: for tests of what comes before a backend.
#pragma once

#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "ringside/comm.h"
#include "support/inline_device.h"

namespace ringside::test {

class FakeCommunicator : public Communicator {
 public:
  FakeCommunicator(Device& device, int rank, int ranks)
      : device_(device), rank_(rank), world_ranks_(static_cast<std::size_t>(ranks)) {
    std::iota(world_ranks_.begin(), world_ranks_.end(), 0);
  }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_ranks_.size()); }
  std::span<const int> world_ranks() const override { return world_ranks_; }
  Device& device() override { return device_; }
  std::unique_ptr<Communicator> split(int, int) override { return nullptr; }

  std::vector<CollectiveCall> calls;
  std::vector<std::string> group_events;
  std::string failure_at_group_end;

 protected:
  Work submit(CollectiveCall call, Stream&) override {
    calls.push_back(std::move(call));
    return {};
  }
  void group_start() override { group_events.emplace_back("start"); }
  void group_end() override {
    group_events.emplace_back("end");
    if (!failure_at_group_end.empty()) throw std::runtime_error(failure_at_group_end);
  }
  void group_cancel() override { group_events.emplace_back("cancel"); }

 private:
  Device& device_;
  int rank_;
  std::vector<int> world_ranks_;
};

template <typename T>
DeviceArray array_on(Device& device, std::int64_t count) {
  return device.allocate(static_cast<std::size_t>(count) * sizeof(T), MemoryKind::kWorkspace)
      .array(dtype_of<T>(), Shape{count});
}

}  // namespace ringside::test
