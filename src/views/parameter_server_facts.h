// Who is who in a parameter server's step, what a server keeps, and in which order an asynchronous
// one has applied the pushes. Pure queries of a Trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "views/flow.h"
#include "views/step_facts.h"

namespace ringside {

enum class Side : std::uint8_t { kAll, kWorkers, kServers };

/// An asynchronous step's push: applied by itself.
struct ParameterServerPush {
  /// What a worker does with its part of the step when a push is applied.
  enum class Other : std::uint8_t { kHasNotPulled, kComputes, kHasPushed };

  int worker = 0;
  std::vector<Other> workers;   ///< of each worker, when it was applied
  bool is_applied = false;      ///< not if the run failed before
  std::optional<int> age = {};  ///< updates since its worker pulled the weights, as recorded
};

class ParameterServerFacts {
 public:
  ParameterServerFacts(const Trace& trace, int step);

  const TraceRun::ParameterServer& ps() const { return ps_; }
  int replicas() const { return ps_.workers * ps_.worker_devices; }
  bool is_worker(int rank) const { return rank < replicas(); }
  /// The first device of a worker or of a server.
  bool is_lead(int rank) const;
  /// Of the worker or the server that the rank is a device of.
  int number(int rank) const;
  int server_lead(int server) const { return replicas() + server * ps_.server_devices; }
  /// "server 1", "worker 0, device 1".
  std::string name(int rank) const;

  PhaseFacts facts(Phase phase, Side side = Side::kAll) const;
  bool is_recorded(int rank) const;
  /// A worker that has no batch for the step takes none.
  bool takes_part(int rank) const;
  /// What `rank`, a server's device, keeps of the parameters, by what it sends or gets in the step.
  std::size_t shard_bytes(int rank) const;
  /// In the order in which server 0 has applied them.
  std::vector<ParameterServerPush> pushes() const;

  /// "mlp:64,32,10, rows per worker: 16, float32.", or "2 devices × 8" rows.
  std::string run_text() const;
  /// "3 workers and 1 server".
  std::string devices_text() const;
  /// "3 workers".
  std::string workers_text() const;
  /// "the server", "2 servers".
  std::string servers_text() const;
  /// "dW₁"; of a worker of several devices the sum "dW₂ + dW₃".
  std::string gradients_of(int worker) const;
  /// Of a worker's lead that sends its gradients to the servers.
  FlowBox push_box(int rank) const;
  /// What `tensor` is on a server: "W", or "1/2 of W".
  std::string shard_of(std::string_view tensor) const;

 private:
  const Trace* trace_;
  int step_;
  TraceRun::ParameterServer ps_;
};

}  // namespace ringside
