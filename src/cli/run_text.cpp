// The text of a run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/run_report.h"
#include "cli/terminal.h"
#include "ringside/views.h"

namespace ringside::cli {
namespace {

bool agree(const std::vector<std::string>& checksums) {
  return std::all_of(checksums.begin(), checksums.end(),
                     [&](const auto& checksum) { return checksum == checksums.front(); });
}

/// Running statistics are each rank's own until DDP's next forward: only parameters must agree.
std::string checksum_text(const RunReport& report) {
  const std::vector<std::string>& ranks = report.rank_parameter_checksums;
  std::string text = "checksum of the parameters " + ranks.front();
  if (ranks.size() > 1 && !agree(ranks)) {
    std::vector<std::string> each;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      each.push_back(fmt::format("rank {} {}", rank, ranks[rank]));
    }
    return fmt::format("checksums of the parameters differ: {}\n", fmt::join(each, ", "));
  }
  if (ranks.size() > 1) text += fmt::format(", the same on {} ranks", ranks.size());
  if (report.checksum != ranks.front()) {
    text += agree(report.rank_checksums)
                ? fmt::format("; with the buffers {}", report.checksum)
                : "; the buffers are each rank's own (running statistics of its own rows)";
  }
  return text + "\n";
}

std::string_view batch_text(const Scenario& scenario) {
  if (scenario.strategy == "ps") return " per worker's device";
  return scenario.strategy == "ddp" ? " per rank" : "";
}

/// ", 3 workers, 1 server that updates with the mean"
std::string servers_text(const Scenario& s) {
  const std::string_view verb = s.variant == "b" ? "update" : "answer";
  const bool one = s.servers == 1;
  std::string text = fmt::format(
      ", {}, {} that {}{} with the {}", counted(static_cast<std::size_t>(s.workers), "worker"),
      counted(static_cast<std::size_t>(s.servers), "server"), verb, one ? "s" : "", s.server_op);
  if (s.asynchronous) text += fmt::format(", asynchronous, staleness {}", s.staleness);
  return text;
}

std::string verification_text(const Verification& verification) {
  std::vector<std::string> found;
  if (verification.ranks > 1) {
    found.push_back(fmt::format("the same parameters on {} ranks after each of {}",
                                verification.ranks,
                                counted(static_cast<std::size_t>(verification.steps), "step")));
  }
  if (verification.single_step >= 0) {
    found.push_back(fmt::format(
        "{} a single device after step {} ({})",
        verification.ranks > 1 ? "those of" : "the parameters of", verification.single_step,
        verification.parameter.empty()
            ? "no difference"
            : fmt::format("largest difference {:.1e}, in {}", verification.largest_difference,
                          verification.parameter)));
  } else {
    found.push_back("not compared with a single device: " + verification.not_compared);
  }
  return fmt::format("verified: {}\n", fmt::join(found, "; "));
}

}  // namespace

std::string run_heading(const Scenario& scenario) {
  const int devices = scenario.strategy == "single" ? 1 : scenario.devices;
  std::string text = fmt::format(
      "{} on {}, {}, {}, batch {}{}, {} lr {}", scenario.strategy,
      counted(static_cast<std::size_t>(devices), fmt::format("{} device", scenario.backend)),
      scenario.model, scenario.data, scenario.batch_size, batch_text(scenario), scenario.optimizer,
      scenario.lr);
  if (scenario.momentum != 0) text += fmt::format(" momentum {}", scenario.momentum);
  if (scenario.weight_decay != 0) text += fmt::format(" weight decay {}", scenario.weight_decay);
  if (scenario.clip_grad_norm != 0) text += fmt::format(" clipped to {}", scenario.clip_grad_norm);
  if (scenario.strategy == "ps") text += servers_text(scenario);
  if (!scenario.events.empty()) {
    text += fmt::format(", {}", counted(scenario.events.size(), "event"));
  }
  return text + "\n";
}

std::string epoch_heading() { return "epoch       loss  test loss  test accuracy  seconds\n"; }

namespace {

// Of training that diverges, too, the columns stay in their places.
std::string loss_text(double loss) {
  return std::abs(loss) < 1000 ? fmt::format("{:.5f}", loss) : fmt::format("{:.3e}", loss);
}

}  // namespace

std::string epoch_line(const EpochReport& epoch) {
  return fmt::format("{:>5}  {:>9}  {:>9}  {:>13.4f}  {:>7.3f}\n", epoch.epoch,
                     loss_text(epoch.loss), loss_text(epoch.test_loss), epoch.test_accuracy,
                     epoch.seconds);
}

std::string run_summary(const RunReport& report) {
  std::string text = fmt::format(
      "\n{} in {:.3f} s, the first after {:.3f} s; {} parameters, {}\n",
      counted(static_cast<std::size_t>(report.steps - report.first_step), "step"), report.seconds,
      report.first_step_seconds, report.parameters, format_bytes(report.parameter_bytes));
  if (report.scenario.backend == "meta") {
    return text + "meta executes nothing: there are no losses and no results\n\n" +
           format_memory(report.memory);
  }
  if (report.epochs.empty() && !report.step_losses.empty()) {
    text += fmt::format("loss of the last step {:.6f}\n", report.step_losses.back());
  }
  text += checksum_text(report);
  if (report.counted_calls) {
    text += fmt::format(
        "calls of forward, by the model's own count: {} in its attribute, {} in its "
        "buffer\n",
        report.counted_calls->attribute, report.counted_calls->buffer);
  }
  if (report.verification) text += verification_text(*report.verification);
  text += "\n" + format_memory(report.memory);
  return text;
}

}  // namespace ringside::cli
