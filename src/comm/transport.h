// How the stepwise executor moves the bytes of a message: in memory between the ranks of one thread
// (stepwise.cpp), or by MPI between processes.
#pragma once

#include <cstddef>
#include <span>

namespace ringside {

/// One rank's end. Messages between a pair of ranks arrive in the order they were sent.
class Transport {
 public:
  virtual ~Transport() = default;
  /// `data` stays as it is until finish_round().
  virtual void send(int destination, std::span<const std::byte> data) = 0;
  /// Fills `data` with the next message from `source`, of the same size.
  virtual void receive(int source, std::span<std::byte> data) = 0;
  /// All messages of the round have been received; returns when `data` of its sends may change.
  virtual void finish_round() = 0;
};

}  // namespace ringside
