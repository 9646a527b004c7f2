// World: what a backend opens. A number of ranks, and for each rank that lives here a Device and a
// Communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ringside/comm.h"
#include "ringside/device.h"

namespace ringside {

struct WorldOptions {
  int size = 1;                     ///< ranks. mpi: 0 = as many as mpirun started
  std::size_t memory_capacity = 0;  ///< bytes per device; 0 = unlimited
  /// per device, overrides memory_capacity; empty = none
  std::vector<std::size_t> memory_capacities;
  /// Of the device of `rank`: its entry in memory_capacities, or memory_capacity.
  std::size_t capacity_of(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return index < memory_capacities.size() ? memory_capacities[index] : memory_capacity;
  }
  int workers = 0;  ///< sim, mpi: worker threads; 0 = one per core
  /// hears of every op of the local ranks; must outlive the world
  OpListener* listener = nullptr;

  /// sim: every task is delayed at random by up to this many microseconds, from `delay_seed`; for
  /// tests of determinism.
  int random_delay_us = 0;
  std::uint64_t delay_seed = 0;
  /// sim: run collectives message by message instead of fused. Same bits, slower; for lessons and
  /// tests.
  bool stepwise_collectives = false;
};

/// What a rank's function gets.
struct Rank {
  int rank;
  Device& device;
  Communicator& communicator;
};

class World {
 public:
  virtual ~World() = default;
  virtual std::string_view backend() const = 0;
  virtual int size() const = 0;
  /// The ranks that live in this process, ascending: all of them on sim, meta and cuda, one on mpi.
  virtual const std::vector<int>& local_ranks() const = 0;
  /// Throws Error(kInvalidArgument) for a rank that is not local.
  virtual Device& device(int rank) = 0;
  virtual Communicator& communicator(int rank) = 0;

  /// Runs `function` once per local rank, each on a host thread of its own that is registered for
  /// deadlock detection, and waits for all (meta: one after the other on this thread). Then
  /// synchronises every device. If ranks fail, the others are woken with Error(kRankFailed) or a
  /// Deadlock as soon as they wait for something that can no longer happen; the first cause is
  /// rethrown, with "rank r: " in front. The world can be used again afterwards.
  virtual void run(const std::function<void(Rank&)>& function) = 0;
  /// Runs `function` on one registered thread (the caller's), which drives all ranks
  /// (DataParallel). Throws Error(kInvalidArgument) where not every rank is local.
  virtual void drive(const std::function<void()>& function) = 0;

  /// GroupScope over all local communicators, for drive().
  std::vector<Communicator*> local_communicators();
};

/// Splits every local communicator of a driven world at once: the sub-communicator of world rank r
/// gets colors[r], keys[r]; the result has one entry per rank, null where the color is negative. No
/// data moves.
std::vector<std::unique_ptr<Communicator>> split_all(World& world, const std::vector<int>& colors,
                                                     const std::vector<int>& keys);

/// A backend as the registry knows it.
struct Backend {
  std::string_view name;         ///< "sim", "meta", "cuda", "mpi"
  std::string_view description;  ///< one line for --help
  /// Empty when usable; else why not, and what to do ("built without CUDA: install the CUDA toolkit
  /// and reconfigure").
  std::string (*why_unavailable)();
  std::unique_ptr<World> (*open)(const WorldOptions& options);
  /// Its devices' memory is this machine's own; else a GPU's, or none.
  bool uses_host_memory = false;
  /// Its ranks are processes that somebody else starts (mpirun): WorldOptions::size may be 0.
  bool is_launched = false;
};

/// All backends, in the order of the table in docs/architecture.md.
const std::vector<Backend>& backends();
/// Throws Error(kInvalidArgument) listing the names.
const Backend& find_backend(std::string_view name);
/// Throws Error(kInvalidArgument) listing the names, or Error(kUnavailable) with the reason and
/// what to use instead.
std::unique_ptr<World> open_world(std::string_view backend, const WorldOptions& options);

}  // namespace ringside
