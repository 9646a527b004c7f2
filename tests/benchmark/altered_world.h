// A world whose collectives do something wrong on one rank, for tests of who is to notice.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ringside/world.h"

namespace ringside::test {

/// Behind every call of float32 elements, `rank`'s result has one element more than it should.
class AlteredWorld : public World {
 public:
  /// As element: the call is not made, by any rank.
  static constexpr std::size_t kNoCall = std::numeric_limits<std::size_t>::max();

  AlteredWorld(World& world, int rank, std::size_t element)
      : world_(world), rank_(rank), element_(element) {}
  std::string_view backend() const override { return world_.backend(); }
  int size() const override { return world_.size(); }
  const std::vector<int>& local_ranks() const override { return world_.local_ranks(); }
  Device& device(int rank) override { return world_.device(rank); }
  Communicator& communicator(int rank) override { return world_.communicator(rank); }
  void drive(const std::function<void()>& function) override { world_.drive(function); }
  void run(const std::function<void(Rank&)>& function) override {
    world_.run([&](Rank& rank) {
      Altered communicator(rank.communicator, rank.rank == rank_, element_);
      Rank altered{rank.rank, rank.device, communicator};
      function(altered);
    });
  }

 private:
  class Altered : public Communicator {
   public:
    Altered(Communicator& inner, bool alters, std::size_t element)
        : inner_(inner), alters_(alters), element_(element) {}
    int rank() const override { return inner_.rank(); }
    int size() const override { return inner_.size(); }
    std::span<const int> world_ranks() const override { return inner_.world_ranks(); }
    Device& device() override { return inner_.device(); }
    std::unique_ptr<Communicator> split(int color, int key) override {
      return inner_.split(color, key);
    }

   protected:
    Work submit(CollectiveCall call, Stream& stream) override {
      const bool carries_data = call.dtype == DType::kFloat32 && !call.recv.empty();
      if (carries_data && element_ == kNoCall) return {};
      const DeviceArray result = call.recv;
      Work work = inner_.call(std::move(call), stream);
      if (!carries_data || !alters_) return work;
      stream.enqueue(
          [result, element = element_](LaunchContext&) { result.data<float>()[element] += 1; });
      return Work(stream.record());
    }
    void group_start() override {}
    void group_end() override {}
    void group_cancel() override {}

   private:
    Communicator& inner_;
    bool alters_;
    std::size_t element_;
  };

  World& world_;
  int rank_;
  std::size_t element_;
};

}  // namespace ringside::test
