#include "backends/cuda/cuda_world.h"

#include <fmt/format.h>

#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "backends/cuda/check.h"
#include "backends/cuda/cuda_communicator.h"
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/nccl_group.h"
#include "comm/world_checks.h"
#include "core/failure.h"
#include "core/launch_blocking.h"
#include "ringside/error.h"

namespace ringside {
namespace {

using cuda::CudaCommunicator;
using cuda::CudaDevice;
using cuda::NcclGroup;

class CudaWorld : public World {
 public:
  explicit CudaWorld(const WorldOptions& options) {
    const bool launch_blocking = launch_blocking_from_environment();
    std::vector<CudaDevice*> devices;
    for (int rank = 0; rank < options.size; ++rank) {
      devices_.push_back(
          std::make_unique<CudaDevice>(rank, rank, options.capacity_of(rank), launch_blocking));
      devices_.back()->set_listener(options.listener);
      devices.push_back(devices_.back().get());
      local_ranks_.push_back(rank);
    }
    group_ = std::make_shared<NcclGroup>(devices);
    for (CudaDevice* device : devices) {
      communicators_.push_back(std::make_unique<CudaCommunicator>(group_, device->rank(), *device));
    }
  }

  std::string_view backend() const override { return "cuda"; }
  int size() const override { return static_cast<int>(devices_.size()); }
  const std::vector<int>& local_ranks() const override { return local_ranks_; }
  Device& device(int rank) override { return *devices_[checked_rank(rank, size())]; }
  Communicator& communicator(int rank) override {
    return *communicators_[checked_rank(rank, size())];
  }

  void run(const std::function<void(Rank&)>& function) override {
    std::vector<std::exception_ptr> errors(devices_.size());
    std::vector<std::thread> threads;
    group_->rendezvous().begin_run();
    for (const int rank : local_ranks_) {
      std::exception_ptr& error = errors[checked_rank(rank, size())];
      try {
        threads.emplace_back([&, rank] { error = run_rank(rank, function); });
      } catch (const std::system_error& e) {
        error = std::make_exception_ptr(
            Error(ErrorKind::kUnavailable, fmt::format("cannot start a thread: {}", e.what()),
                  "use fewer ranks, or raise the limit on threads (ulimit -u)"));
        group_->rendezvous().end_rank(rank, to_failure(error));
      }
    }
    for (std::thread& thread : threads) thread.join();
    group_->rendezvous().end_run();
    rethrow_first_cause(local_ranks_, errors);
  }

  void drive(const std::function<void()>& function) override { function(); }

 private:
  std::exception_ptr run_rank(int rank, const std::function<void(Rank&)>& function) {
    std::exception_ptr error;
    try {
      Rank self{rank, device(rank), communicator(rank)};
      function(self);
    } catch (...) {
      error = std::current_exception();
    }
    group_->rendezvous().end_rank(rank, to_failure(error));
    try {
      device(rank).synchronize();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
    return error;
  }

  // The group goes before the devices, on whose streams it works.
  std::vector<int> local_ranks_;
  std::vector<std::unique_ptr<CudaDevice>> devices_;
  std::shared_ptr<NcclGroup> group_;
  std::vector<std::unique_ptr<CudaCommunicator>> communicators_;
};

}  // namespace

std::string cuda_why_unavailable() {
  int gpus = 0;
  const cudaError_t error = cudaGetDeviceCount(&gpus);
  if (error == cudaSuccess && gpus > 0) return {};
  const std::string said =
      error == cudaSuccess ? "0 devices" : fmt::format("'{}'", cudaGetErrorString(error));
  cuda::clear_cuda_error();
  return fmt::format(
      "no CUDA driver or GPU here: cudaGetDeviceCount says {}; install NVIDIA's driver, look at "
      "CUDA_VISIBLE_DEVICES, or use the sim backend",
      said);
}

std::unique_ptr<World> open_cuda_world(const WorldOptions& options) {
  check_world_options("cuda world", options);
  const std::string reason = cuda_why_unavailable();
  if (!reason.empty()) throw Error(ErrorKind::kUnavailable, reason);
  int gpus = 0;
  RINGSIDE_CUDA_CHECK(cudaGetDeviceCount(&gpus));
  if (options.size > gpus) {
    throw Error(ErrorKind::kUnavailable,
                fmt::format("cuda world: {} ranks need {} GPUs, but only {} {} visible",
                            options.size, options.size, gpus, gpus == 1 ? "is" : "are"),
                fmt::format("ask for at most {}, look at CUDA_VISIBLE_DEVICES, or use the sim "
                            "backend",
                            gpus));
  }
  return std::make_unique<CudaWorld>(options);
}

}  // namespace ringside
