#include "backends/mpi/mpi_world.h"

#include <fmt/format.h>

#include <exception>
#include <numeric>

#include "backends/mpi/mpi_communicator.h"
#include "core/counted.h"
#include "ringside/error.h"
#include "sim/comm/engine_options.h"
#include "tensor/cpu_kernels.h"

namespace ringside {
namespace {

using mpi::Goodbye;
using mpi::MpiCommunicator;
using mpi::Session;

class MpiWorld : public World {
 public:
  MpiWorld(Session& session, const WorldOptions& options)
      : session_(session),
        kernels_(make_cpu_kernels()),
        engine_(sim::engine_options(options)),
        device_(engine_.make_device(session.rank(), fmt::format("mpi:{}", session.rank()),
                                    options.capacity_of(session.rank()), *kernels_)),
        shared_{engine_, session, progress_, *device_, {}},
        local_ranks_{session.rank()} {
    std::vector<int> everyone(static_cast<std::size_t>(session.size()));
    std::iota(everyone.begin(), everyone.end(), 0);
    communicator_ = std::make_unique<MpiCommunicator>(shared_, session.world(),
                                                      CommunicatorName{0, std::move(everyone)});
    device_->set_listener(options.listener);
  }

  std::string_view backend() const override { return "mpi"; }
  int size() const override { return session_.size(); }
  const std::vector<int>& local_ranks() const override { return local_ranks_; }
  Device& device(int rank) override {
    check_local(rank);
    return *device_;
  }
  Communicator& communicator(int rank) override {
    check_local(rank);
    return *communicator_;
  }

  void run(const std::function<void(Rank&)>& function) override;
  void drive(const std::function<void()>& function) override;

 private:
  void check_local(int rank) const {
    if (rank == session_.rank()) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("rank {} does not live in this process, which is rank {} of {}", rank,
                            session_.rank(), session_.size()));
  }
  void take_leave(const std::exception* failure);

  Session& session_;
  std::unique_ptr<Kernels> kernels_;
  sim::Engine engine_;
  std::unique_ptr<Device> device_;
  mpi::Progress progress_;
  mpi::Shared shared_;
  std::vector<int> local_ranks_;
  std::unique_ptr<MpiCommunicator> communicator_;
};

void MpiWorld::run(const std::function<void(Rank&)>& function) {
  try {
    engine_.run(local_ranks_, [&](int rank) {
      Rank self{rank, *device_, *communicator_};
      function(self);
    });
  } catch (const std::exception& failure) {
    take_leave(&failure);
    throw;
  }
  take_leave(nullptr);
}

/// Every rank learns how the others ended; none leaves while another could still need its answers.
void MpiWorld::take_leave(const std::exception* failure) {
  std::vector<std::string> failures;
  progress_.call([&] {
    session_.say_goodbye(failure != nullptr, failure != nullptr ? failure->what() : "");
    mpi::poll([&] { return session_.all_have_said_goodbye(); }, [&] { session_.hear_goodbyes(); });
    for (int rank = 0; rank < session_.size(); ++rank) {
      const Goodbye& goodbye = session_.goodbye_of(rank);
      if (goodbye.failed && rank != session_.rank()) {
        failures.push_back(fmt::format("rank {} failed: {}", rank, goodbye.message));
      }
    }
    session_.forget_goodbyes();
  });
  if (failure == nullptr && !failures.empty()) {
    throw Error(ErrorKind::kRankFailed, failures.front());
  }
}

void MpiWorld::drive(const std::function<void()>& function) {
  if (size() != 1) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("one thread must drive every rank, but {} of the {} ranks live in "
                            "other processes",
                            size() - 1, size()),
                "run single and dp on the sim backend, or ddp on mpi");
  }
  engine_.drive(function);
}

}  // namespace

std::string mpi_why_unavailable() { return {}; }

std::unique_ptr<World> open_mpi_world(const WorldOptions& options) {
  Session& session = Session::get();
  if (options.size != 0 && options.size != session.size()) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format(
            "{} must run, but there {}", counted(static_cast<std::size_t>(options.size), "rank"),
            session.size() == 1 ? "is 1 process" : fmt::format("are {} processes", session.size())),
        fmt::format("start it with: mpirun -np {} ringside ...", options.size));
  }
  return std::make_unique<MpiWorld>(session, options);
}

}  // namespace ringside
