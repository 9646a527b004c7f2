// One communicator's MPI traffic: agreement about calls before data moves, and the messages of
// schedules.
//
// Used by the progress thread only.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "backends/mpi/session.h"
#include "comm/call_signature.h"
#include "comm/communicator_name.h"
#include "comm/transport.h"

namespace ringside::mpi {

/// What ranks tell each other of a call before any data moves.
struct Declaration {
  CallSignature signature;
  std::int64_t sequence = 0;
  bool poisoned = false;  ///< the rank's stream had failed before it came here
};

class Channel {
 public:
  Channel(Session& session, MPI_Comm comm, CommunicatorName name);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm comm() const { return comm_; }
  const CommunicatorName& name() const { return name_; }

  /// Tells `partners` of this rank's call; collectives and each direction of a pair have a tag of
  /// their own. Never blocks.
  void declare(const Declaration& declaration, const std::vector<int>& partners, int tag);
  /// The partners' declarations, in their order. Throws Error(kDeadlock) that names who is missing,
  /// after the session's time limit or as soon as a missing rank has ended; Error(kRankFailed) if
  /// it failed.
  std::vector<Declaration> hear(const Declaration& own, const std::vector<int>& partners, int tag);

  /// Bytes to or from a rank; complete after finish().
  void start_send(int destination, std::span<const std::byte> data, int tag);
  void start_receive(int source, std::span<std::byte> data, int tag);
  void finish();

 private:
  bool take(int source, int tag, Declaration& declaration);
  void explain_absence(const Declaration& own, const std::vector<int>& missing,
                       std::chrono::steady_clock::time_point since);

  Session& session_;
  MPI_Comm comm_;
  CommunicatorName name_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<MPI_Request> requests_;
  std::deque<std::vector<std::int64_t>> declared_;  // alive until sent
  std::vector<MPI_Request> declaring_;
};

inline constexpr int kCollectiveTag = 1;  // declarations of collectives
inline constexpr int kSenderTag = 2;      // declarations of sends, to the receiver
inline constexpr int kReceiverTag = 3;    // declarations of recvs, to the sender
inline constexpr int kScheduleTag = 4;    // data of collectives
inline constexpr int kPairTag = 5;        // data of sends

/// The stepwise executor's transport.
class MpiTransport : public Transport {
 public:
  explicit MpiTransport(Channel& channel) : channel_(channel) {}
  void send(int destination, std::span<const std::byte> data) override {
    channel_.start_send(destination, data, kScheduleTag);
  }
  void receive(int source, std::span<std::byte> data) override {
    channel_.start_receive(source, data, kScheduleTag);
  }
  void finish_round() override { channel_.finish(); }

 private:
  Channel& channel_;
};

}  // namespace ringside::mpi
