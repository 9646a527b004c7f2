#include "views/step_diagram.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "views/text.h"

namespace ringside {

std::string device_word(const Trace& trace) {
  return trace.run.backend == "cuda" ? "GPU" : "device";
}

std::string devices_text(const Trace& trace, const std::vector<int>& ranks) {
  return fmt::format("{}{} {}", device_word(trace), ranks.size() == 1 ? "" : "s",
                     format_ranks(ranks));
}

std::string run_text(const Trace& trace, std::string_view batch) {
  std::string text = clean_text(trace.run.model);
  if (trace.run.batch_size > 0) text += fmt::format(", {} {}", batch, trace.run.batch_size);
  return fmt::format("{}{}{}.", text, text.empty() ? "" : ", ", to_string(trace.run.dtype));
}

bool may_be_cut_off(const Trace& trace, int step) {
  const int failed = trace.run.failed_step;
  return !trace.run.failure.empty() && failed >= 0 && step >= failed;
}

std::string failure_text(const Trace& trace, int step) {
  constexpr std::size_t kMostBytes = 240;
  if (!may_be_cut_off(trace, step)) return {};
  std::string text = clean_text(trace.run.failure.substr(0, trace.run.failure.find('\n')));
  if (text.size() > kMostBytes) {
    const std::size_t blank = text.rfind(' ', kMostBytes);
    std::vector<char32_t> points = code_points(text.substr(0, kMostBytes));
    text = (blank == std::string::npos ? to_utf8(points) : text.substr(0, blank)) + " …";
  }
  return fmt::format(" The run failed: {}", text);
}

std::string cut_off_caption(const PhaseFacts& facts, int ranks, std::string_view word) {
  std::vector<int> here;
  for (int rank = 0; rank < ranks; ++rank) {
    if (facts.is_active(rank)) here.push_back(rank);
  }
  if (here.empty()) return "The run failed before anything of this phase was done.";
  return fmt::format("The run failed in this step; {} of {} came so far: {}.", here.size(),
                     counted(static_cast<std::size_t>(ranks), word), format_ranks(here));
}

std::string tensor_text(std::string_view name, const TraceTensor* tensor) {
  if (tensor == nullptr) return std::string(name);
  // At most three numbers are shown, else the shape.
  if (!tensor->values.empty() && tensor->values.size() <= 3) {
    std::string values;
    for (const double value : tensor->values) {
      values += (values.empty() ? "" : ", ") + short_number(value);
    }
    return fmt::format("{} = {}", name, values);
  }
  return fmt::format("{}\u00A0 {}", name, shape_text(tensor->shape));
}

FlowBox box(BoxClass kind, std::string text, std::string tooltip) {
  return {kind, std::move(text), std::move(tooltip)};
}

FlowBox idle_box(const std::string& who, std::string_view text) {
  return {BoxClass::kIdle, std::string(text), fmt::format("{}: {}", who, text)};
}

std::vector<FlowPort> ports_of(const PhaseFacts& facts, int ranks, const std::string& what,
                               const std::string& device) {
  if (facts.sent.empty()) return {};
  const std::optional<int> root = facts.root();
  bool converges = false;
  if (root) {
    const Operation operation = facts.rooted()->request.operation;
    converges = operation == Operation::kGather || operation == Operation::kReduce;
  }
  std::vector<FlowPort> ports(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    FlowPort& port = ports[static_cast<std::size_t>(rank)];
    const std::size_t sent = facts.sent_by(rank);
    const std::size_t received = facts.received_by(rank);
    const bool gives = !root || converges == (rank != *root);
    const bool takes = !root || converges == (rank == *root);
    port.sent = gives ? sent : 0;
    port.received = takes ? received : 0;
    if (sent + received > 0) {
      port.tooltip = fmt::format("{}: {} {} sends {} and receives {}", what, device, rank,
                                 format_bytes(sent), format_bytes(received));
    }
    port.amount = converges ? port.sent : port.received;
    if (port.amount > 0) port.label = format_bytes(port.amount);
  }
  return ports;
}

std::string transfer_remark(const PhaseFacts& facts) {
  if (facts.sent.empty()) return "";
  std::set<std::size_t> amounts;
  std::set<int> sources;
  std::set<int> destinations;
  for (const auto& [pair, sent] : facts.sent) {
    amounts.insert(sent.bytes);
    sources.insert(pair.first);
    destinations.insert(pair.second);
  }
  const bool is_star = sources.size() == 1 || destinations.size() == 1;
  if (facts.sent.size() == 1) return format_bytes(*amounts.begin());
  if (is_star && amounts.size() == 1) {
    return fmt::format("{} × {}", facts.sent.size(), format_bytes(*amounts.begin()));
  }
  std::string remark =
      fmt::format("{} in {}", format_bytes(facts.bytes()), counted(facts.messages(), "message"));
  if (!is_star && !facts.collectives.empty() &&
      !is_pair(facts.collectives.front()->collective->request.operation)) {
    const Schedule schedule = expand(*facts.collectives.front()->collective);
    remark += fmt::format(", {}", to_string(schedule.request.algorithm));
  }
  return remark;
}

}  // namespace ringside
