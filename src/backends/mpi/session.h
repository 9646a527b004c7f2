// The process's membership in MPI, and small functions around MPI calls.
//
// MPI is started once per process, by the first world, and left when the program ends. After that
// start every MPI call is made by one thread at a time (MPI_THREAD_SERIALIZED): the progress
// thread, or the thread that opens or closes a world.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ringside::mpi {

/// Throws Error(kDevice) with MPI's own words if `code` is not MPI_SUCCESS.
void check(int code, const char* call);

/// What a rank says when its part of World::run has ended.
struct Goodbye {
  bool said = false;
  bool failed = false;
  std::string message;
  std::chrono::steady_clock::time_point heard;
};

class Session {
 public:
  /// Starts MPI if this is the first call.
  static Session& get();

  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm world() const { return world_; }
  /// Seconds that a call waits for ranks that do not come: RINGSIDE_MPI_TIMEOUT, default 60.
  double time_limit() const { return time_limit_; }

  /// Tells every other rank, and notes it for this one.
  void say_goodbye(bool failed, const std::string& message);
  /// Takes in goodbyes that have come. Never blocks.
  void hear_goodbyes();
  const Goodbye& goodbye_of(int world_rank) const {
    return goodbyes_[static_cast<std::size_t>(world_rank)];
  }
  bool all_have_said_goodbye() const;
  /// Before the next World::run.
  void forget_goodbyes();

 private:
  Session();
  ~Session();

  int rank_ = 0;
  int size_ = 1;
  double time_limit_ = 60;
  MPI_Comm world_ = MPI_COMM_NULL;    // data
  MPI_Comm control_ = MPI_COMM_NULL;  // goodbyes
  std::vector<Goodbye> goodbyes_;
  std::vector<std::string> outgoing_;  // alive until the sends are complete
  std::vector<MPI_Request> requests_;
};

/// Calls `done` until it is true, giving way to other processes; `waiting` runs in between and may
/// throw.
void poll(const std::function<bool()>& done, const std::function<void()>& waiting);

}  // namespace ringside::mpi
