// The state of optimisers that lie on parameter servers: from the servers to worker 0, which puts
// the parts together for a checkpoint, and of a whole one what a server keeps.
#pragma once

#include <string>
#include <vector>

#include "parallel/parameter_server_layout.h"
#include "ringside/nn.h"
#include "ringside/world.h"

namespace ringside {

/// One entry of an optimiser's state_dict.
struct StateValues {
  std::string name;
  bool scalar = false;         ///< one number for the whole parameter, as Adam's step
  std::vector<double> values;  ///< every float and every step is a float64, exactly
};

/// The state, of any length, from one rank to another. Both block the host.
void send_state(Rank& rank, int peer, const std::vector<NamedTensor>& state);
std::vector<StateValues> receive_state(Rank& rank, int peer);

/// What the servers, in their order, have sent, as the state of one optimiser of all `parameters`,
/// on their device.
std::vector<NamedTensor> joined_state(const std::vector<std::vector<StateValues>>& parts,
                                      const ParameterServerLayout& layout,
                                      const std::vector<NamedTensor>& parameters);

/// Of such a state what belongs to `pieces`, under their names. Throws Error(kInvalidInput) for an
/// entry of no parameter, or of another shape.
std::vector<NamedTensor> state_of_pieces(const std::vector<NamedTensor>& state,
                                         const std::vector<ServerPiece>& pieces,
                                         const std::vector<NamedTensor>& parameters);

}  // namespace ringside
