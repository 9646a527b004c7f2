// The data flow of one training step as a FlowDiagram, per strategy: which tensors are where, what
// is sent, who is idle. Shapes, bytes and participants come from the trace's ops.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "views/flow.h"
#include "views/step_facts.h"

namespace ringside {

FlowDiagram single_diagram(const Trace& trace, int step);
FlowDiagram data_parallel_diagram(const Trace& trace, int step);
FlowDiagram ddp_diagram(const Trace& trace, int step);
FlowDiagram parameter_server_diagram(const Trace& trace, int step);

// ---------------------------------------------------------------- shared by the strategies

/// "device", or "GPU" where the run had real ones.
std::string device_word(const Trace& trace);
/// "devices 0 to 3".
std::string devices_text(const Trace& trace, const std::vector<int>& ranks);
/// "mlp:64,32,10, batch 64, float32.": how captions begin.
std::string run_text(const Trace& trace, std::string_view batch);

/// Whether not all ranks have finished `step`, because the run failed.
bool may_be_cut_off(const Trace& trace, int step);
/// " The run failed: " and the beginning of the error; empty unless the step may be cut off.
std::string failure_text(const Trace& trace, int step);
/// The caption of a phase of such a step: who came so far. What holds of a whole step ("every rank
/// ...") need not hold there.
std::string cut_off_caption(const PhaseFacts& facts, int ranks, std::string_view word);

/// "X  64×1000".
std::string tensor_text(std::string_view name, const TraceTensor* tensor);
FlowBox box(BoxClass kind, std::string text, std::string tooltip);
FlowBox idle_box(const std::string& who, std::string_view text = "idle");

/// The parts of all ranks in a transfer. Rooted collectives show what each rank gets or gives,
/// whatever the path of the messages.
std::vector<FlowPort> ports_of(const PhaseFacts& facts, int ranks, const std::string& what,
                               const std::string& device);
/// "3 × 64.0 kB", "46.2 kB in 24 messages, ring".
std::string transfer_remark(const PhaseFacts& facts);

}  // namespace ringside
