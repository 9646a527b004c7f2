#include "sim/comm/sim_world.h"

#include <fmt/format.h>

#include <cstdlib>
#include <numeric>
#include <thread>
#include <utility>

#include "comm/world_checks.h"
#include "core/visible_devices.h"
#include "ringside/error.h"
#include "sim/comm/engine_options.h"
#include "sim/comm/group_directory.h"
#include "sim/comm/sim_communicator.h"
#include "sim/device/engine.h"
#include "tensor/cpu_kernels.h"

namespace ringside {
namespace {

using sim::Engine;

void check_options(const WorldOptions& options) {
  check_world_options("sim world", options, kPhysicalDevices);
  const auto refuse = [](const std::string& message) {
    throw Error(ErrorKind::kInvalidArgument, "sim world: " + message);
  };
  if (options.workers < 0) {
    refuse(fmt::format("{} workers: must be at least 1, or 0 for one per core", options.workers));
  }
  if (options.random_delay_us < 0) {
    refuse(fmt::format("random delay of {} us: must not be negative", options.random_delay_us));
  }
}

int worker_count(const WorldOptions& options) {
  if (options.workers > 0) return options.workers;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

class SimWorld : public World {
 public:
  explicit SimWorld(const WorldOptions& options)
      : kernels_(make_cpu_kernels()),
        context_{engine_, directory_, worker_count(options), options.stepwise_collectives},
        engine_(sim::engine_options(options)),
        local_ranks_(static_cast<std::size_t>(options.size)) {
    std::iota(local_ranks_.begin(), local_ranks_.end(), 0);
    engine_.set_call_directory(&directory_);
    const std::vector<int> physical =
        simulated_devices(options.size, std::getenv(kVisibleDevicesVariable));
    const auto group = std::make_shared<sim::SimGroup>(context_, CommunicatorName{0, local_ranks_});
    directory_.add(group);
    for (const int rank : local_ranks_) {
      const auto index = static_cast<std::size_t>(rank);
      devices_.push_back(engine_.make_device(rank, fmt::format("sim:{}", physical[index]),
                                             options.capacity_of(rank), *kernels_));
      devices_.back()->set_listener(options.listener);
      communicators_.push_back(std::make_unique<sim::SimCommunicator>(
          group, rank, *devices_.back(), std::make_shared<GroupQueue>()));
    }
  }

  std::string_view backend() const override { return "sim"; }
  int size() const override { return static_cast<int>(local_ranks_.size()); }
  const std::vector<int>& local_ranks() const override { return local_ranks_; }
  Device& device(int rank) override { return *devices_[checked_rank(rank, size())]; }
  Communicator& communicator(int rank) override {
    return *communicators_[checked_rank(rank, size())];
  }

  void run(const std::function<void(Rank&)>& function) override {
    const Realignment realignment{directory_};
    engine_.run(local_ranks_, [&](int rank) {
      Rank arguments{rank, device(rank), communicator(rank)};
      function(arguments);
    });
  }

  void drive(const std::function<void()>& function) override {
    try {
      engine_.drive(function);
    } catch (...) {
      // The streams of ranks whose calls the others will never make must not wait for ever.
      directory_.abandon_uncalled();
      engine_.drive([&] { forget_errors(); });
      throw;
    }
  }

 private:
  // However a run ends, the next one begins with equal sequence numbers.
  struct Realignment {
    sim::GroupDirectory& directory;
    ~Realignment() { directory.abandon_uncalled(); }
  };

  void forget_errors() {
    for (const auto& device : devices_) {
      try {
        device->synchronize();
      } catch (const std::exception&) {
        // It follows from the error that is on its way to the caller.
      }
    }
  }

  std::unique_ptr<Kernels> kernels_;
  sim::GroupDirectory directory_;
  sim::SimContext context_;  // outlives the engine, whose last tasks may use it
  Engine engine_;
  std::vector<int> local_ranks_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

}  // namespace

std::unique_ptr<World> open_sim_world(const WorldOptions& options) {
  check_options(options);
  return std::make_unique<SimWorld>(options);
}

}  // namespace ringside
