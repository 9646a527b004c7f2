// The rows of an asynchronous step's pushes: one for each, in the order in which they were applied,
// with how old it was.
#pragma once

#include "views/flow.h"
#include "views/parameter_server_facts.h"

namespace ringside {

/// "4 pushes are applied one by one, 0 to 7 updates old, 2.5 on average"; without the ages where
/// the trace does not have them.
std::string pushes_text(const std::vector<ParameterServerPush>& pushes);

void add_push_rows(FlowDiagram& diagram, const Trace& trace, int step,
                   const ParameterServerFacts& who);

}  // namespace ringside
