#include "backends/mpi/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "ringside/error.h"

namespace ringside::mpi {
namespace {

constexpr int kGoodbyeTag = 7;

double time_limit_from_environment() {
  const char* text = std::getenv("RINGSIDE_MPI_TIMEOUT");
  if (text == nullptr || *text == '\0') return 60;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end != '\0' || !(seconds > 0)) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("RINGSIDE_MPI_TIMEOUT '{}': must be a positive number of seconds", text));
  }
  return seconds;
}

}  // namespace

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorKind::kDevice, fmt::format("{} failed: {}", call, text));
}

Session& Session::get() {
  static Session session;
  return session;
}

Session::Session() : time_limit_(time_limit_from_environment()) {
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_SERIALIZED) {
    throw Error(ErrorKind::kUnavailable,
                "this MPI allows calls from the main thread only (MPI_THREAD_SERIALIZED is needed)",
                "use an MPI that is built with thread support, such as Debian's Open MPI");
  }
  check(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
  check(MPI_Comm_dup(MPI_COMM_WORLD, &control_), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(control_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(world_, &rank_);
  MPI_Comm_size(world_, &size_);
  goodbyes_.resize(static_cast<std::size_t>(size_));
}

Session::~Session() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) MPI_Finalize();
}

void Session::say_goodbye(bool failed, const std::string& message) {
  outgoing_.push_back((failed ? "1" : "0") + message);
  const std::string& text = outgoing_.back();
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    requests_.emplace_back();
    check(MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_CHAR, other, kGoodbyeTag,
                    control_, &requests_.back()),
          "MPI_Isend");
  }
  goodbyes_[static_cast<std::size_t>(rank_)] = {true, failed, message,
                                                std::chrono::steady_clock::now()};
}

// One goodbye a rank and run: a rank that is already in its next run may have sent another.
void Session::hear_goodbyes() {
  for (int other = 0; other < size_; ++other) {
    Goodbye& goodbye = goodbyes_[static_cast<std::size_t>(other)];
    if (goodbye.said) continue;
    int found = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status;
    check(MPI_Improbe(other, kGoodbyeTag, control_, &found, &handle, &status), "MPI_Improbe");
    if (found == 0) continue;
    int length = 0;
    MPI_Get_count(&status, MPI_CHAR, &length);
    std::string text(static_cast<std::size_t>(length), '\0');
    check(MPI_Mrecv(text.data(), length, MPI_CHAR, &handle, &status), "MPI_Mrecv");
    goodbye = {true, text.front() == '1', text.substr(1), std::chrono::steady_clock::now()};
  }
}

bool Session::all_have_said_goodbye() const {
  return std::all_of(goodbyes_.begin(), goodbyes_.end(),
                     [](const Goodbye& goodbye) { return goodbye.said; });
}

void Session::forget_goodbyes() {
  check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
        "MPI_Waitall");
  requests_.clear();
  outgoing_.clear();
  for (Goodbye& goodbye : goodbyes_) goodbye = {};
}

void poll(const std::function<bool()>& done, const std::function<void()>& waiting) {
  constexpr int kSpins = 200;    // about as long as a message between two running processes takes
  constexpr int kYields = 2000;  // then let others run; then sleep, for waits that a person sees
  for (int round = 0; !done(); ++round) {
    waiting();
    if (round > kYields) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    } else if (round > kSpins) {
      std::this_thread::yield();
    }
  }
}

}  // namespace ringside::mpi
