// The text of the demo.
#include <fmt/format.h>

#include "cli/demo_report.h"
#include "ringside/views.h"

namespace ringside::cli {
namespace {

std::string loss_table(const std::vector<DemoRun>& runs) {
  std::vector<std::string> header{"epoch"};
  for (const DemoRun& run : runs) header.push_back(run.name);
  header.emplace_back("test accuracy");
  std::vector<std::vector<std::string>> rows;
  const std::vector<EpochReport>& single = runs.front().report.epochs;
  for (std::size_t e = 0; e < single.size(); ++e) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(fmt::format("{}", single[e].epoch));
    for (const DemoRun& run : runs) {
      const std::vector<EpochReport>& epochs = run.report.epochs;
      row.push_back(e < epochs.size() ? fmt::format("{:.6f}", epochs[e].loss) : "-");
    }
    row.push_back(fmt::format("{:.4f}", single[e].test_accuracy));
  }
  return format_table(header, rows);
}

std::string step_table(const DemoRun& run) {
  const std::vector<TransferRow> rows = transfers(run.trace, kDemoStep);
  const std::string heading = fmt::format("Step {} of {}", kDemoStep, run.name);
  return fmt::format("{}:\n{}\n", heading, format_transfers(rows));
}

}  // namespace

std::string demo_text(const std::vector<DemoRun>& runs, const DemoVerdict& verdict) {
  const Scenario& scenario = runs.front().report.scenario;
  std::string text = fmt::format(
      "The same training three times: {} in {} on handwritten digits, a global batch of {}.\n"
      "Mean loss of each epoch:\n\n{}\n",
      scenario.model, to_string(scenario.dtype), scenario.batch_size, loss_table(runs));
  text += fmt::format(
      "Largest relative difference of the losses {:.1e} (allowed: {:.0e}); test accuracy {:.4f} "
      "or better on 261 rows never trained on.\n\n",
      verdict.largest_difference, kDemoTolerance, verdict.lowest_accuracy);
  text += "What one step sends:\n\n";
  for (const DemoRun& run : runs) text += step_table(run);
  return text;
}

std::string demo_next_steps(const std::string& program, const std::string& directory) {
  return fmt::format(
      "Try next:\n"
      "  {0} collective all-reduce --ranks 4      # DDP's all-reduce, round by round\n"
      "  {0} draw --trace {1}/dp-trace.json --out {1}/every-step --step 1\n"
      "  {0} run --strategy ddp --devices 8 --epochs 3 --batch-size 8\n",
      program, directory);
}

}  // namespace ringside::cli
