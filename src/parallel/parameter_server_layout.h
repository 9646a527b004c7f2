// Who is who in a parameter-server run: which rank is which device of which worker or server, who
// talks to whom, and which part of the parameters a server keeps. Pure functions of the options.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ringside/schedule.h"
#include "ringside/strategy.h"

namespace ringside {

/// What a server keeps of one parameter.
struct ServerPiece {
  std::string name;           ///< the parameter's, or of a part "0.weight[0:1205]"
  std::size_t parameter = 0;  ///< its number
  Range part;                 ///< elements of it, in flat order
  bool whole = false;
};

/// Of all of them together.
std::size_t element_count(const std::vector<NamedTensor>& parameters);

class ParameterServerLayout {
 public:
  explicit ParameterServerLayout(const ParameterServerOptions& options)
      : workers_(options.workers),
        servers_(options.servers),
        worker_devices_(options.worker_devices),
        server_devices_(options.server_devices) {}

  int workers() const { return workers_; }
  int servers() const { return servers_; }
  bool is_worker(int rank) const { return rank < workers_ * worker_devices_; }
  /// Of a worker's rank.
  int worker_of(int rank) const { return rank / worker_devices_; }
  int server_of(int rank) const { return (rank - first_server_rank()) / server_devices_; }
  int device_of_server(int rank) const { return (rank - first_server_rank()) % server_devices_; }
  int worker_lead(int worker) const { return worker * worker_devices_; }
  int server_lead(int server) const { return first_server_rank() + server * server_devices_; }
  /// The rank's group mates, without the lead; of a worker or of a server.
  std::vector<int> worker_members(int worker) const;
  std::vector<int> server_members(int server) const;

  /// The device of `server` that takes the pushes of `worker` and answers its pulls.
  int serving_rank(int worker, int server) const {
    return server_lead(server) + worker % server_devices_;
  }
  /// The workers that the device `rank` of a server serves, ascending.
  std::vector<int> served_workers(int rank) const;

  /// Elements [begin, end) of the flat parameters that `server` keeps: equal parts, of which the
  /// first are one element larger where they cannot be equal.
  Range shard(int server, std::size_t elements) const;
  /// The parts of `parameters` in the shard of `server`, in their order.
  std::vector<ServerPiece> pieces(int server, const std::vector<NamedTensor>& parameters) const;

 private:
  int first_server_rank() const { return workers_ * worker_devices_; }

  int workers_;
  int servers_;
  int worker_devices_;
  int server_devices_;
};

}  // namespace ringside
