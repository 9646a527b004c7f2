// Bodies of demo_runs.h.
#include "cli/demo_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ringside/error.h"

namespace ringside::cli {
namespace {

constexpr int kDevices = 4;
constexpr std::int64_t kGlobalBatch = 64;

Scenario base_scenario() {
  Scenario scenario;
  // The learning rate is as large as it may be: such training amplifies rounding differences, those
  // of float32 beyond the tolerance, those of float64 to 1e-13. tanh, because a difference that
  // turns a ReLU's sign grows at once. docs/data.md has the accuracy of others.
  scenario.model = "cnn:32,64,128:tanh";
  scenario.dtype = DType::kFloat64;
  scenario.data = "digits";
  scenario.batch_size = kGlobalBatch;
  scenario.epochs = 11;
  scenario.lr = 0.2;
  scenario.momentum = 0.9;
  scenario.weight_decay = 0.001;
  return scenario;
}

Scenario single_scenario() {
  Scenario scenario = base_scenario();
  scenario.strategy = "single";
  scenario.devices = 1;
  return scenario;
}

Scenario data_parallel_scenario() {
  Scenario scenario = base_scenario();
  scenario.strategy = "dp";
  scenario.devices = kDevices;
  return scenario;
}

// Gradients get ready from the last layer (10 kB) over fc1 (263 kB) to the convolutions (151 kB);
// these limits close a bucket after the first two.
Scenario ddp_scenario() {
  Scenario scenario = base_scenario();
  scenario.strategy = "ddp";
  scenario.devices = kDevices;
  scenario.batch_size = kGlobalBatch / kDevices;
  scenario.first_bucket_mb = 0.009;
  scenario.bucket_cap_mb = 0.2;
  return scenario;
}

DemoRun run_one(std::string name, const Scenario& scenario,
                const std::function<void(const std::string&)>& progress) {
  DemoRun run{std::move(name), {}, {}};
  RunObserver observer;
  observer.step = [&](int step, int total, double loss) {
    progress(fmt::format("{}: step {} of {}, loss {:.4f}", run.name, step, total, loss));
  };
  TraceOptions recorded;
  recorded.first_step = 0;
  recorded.last_step = kDemoStep;
  run.report = run_scenario(scenario, recorded, &run.trace, observer);
  return run;
}

}  // namespace

std::vector<DemoRun> run_demo(const std::function<void(const std::string& text)>& progress) {
  std::vector<DemoRun> runs;
  runs.push_back(run_one("single", single_scenario(), progress));
  runs.push_back(
      run_one(fmt::format("DataParallel on {}", kDevices), data_parallel_scenario(), progress));
  runs.push_back(
      run_one(fmt::format("DistributedDataParallel on {}", kDevices), ddp_scenario(), progress));
  return runs;
}

DemoVerdict judge(const std::vector<DemoRun>& runs) {
  DemoVerdict verdict;
  const std::vector<EpochReport>& single = runs.front().report.epochs;
  for (const DemoRun& run : runs) {
    const std::vector<EpochReport>& epochs = run.report.epochs;
    for (std::size_t e = 0; e < std::min(epochs.size(), single.size()); ++e) {
      const double difference = std::abs(epochs[e].loss - single[e].loss) / single[e].loss;
      // std::max would pass over what is no number.
      verdict.largest_difference = std::isfinite(difference)
                                       ? std::max(verdict.largest_difference, difference)
                                       : std::numeric_limits<double>::infinity();
    }
    if (epochs.size() != single.size() || epochs.empty()) {
      verdict.failures.push_back(
          fmt::format("{} ran {} epochs, single {}", run.name, epochs.size(), single.size()));
      continue;
    }
    verdict.lowest_accuracy = std::min(verdict.lowest_accuracy, epochs.back().test_accuracy);
  }
  verdict.buckets = runs.back().trace.run.buckets.size();
  if (!(verdict.largest_difference < kDemoTolerance)) {
    verdict.failures.push_back(fmt::format("the losses differ by {:.1e}, more than {:.0e}",
                                           verdict.largest_difference, kDemoTolerance));
  }
  if (!(verdict.lowest_accuracy > kDemoAccuracy)) {
    verdict.failures.push_back(fmt::format("the test accuracy is {:.4f}, not above {}",
                                           verdict.lowest_accuracy, kDemoAccuracy));
  }
  if (verdict.buckets != kDemoBuckets) {
    verdict.failures.push_back(
        fmt::format("DDP has {} buckets, not {}", verdict.buckets, kDemoBuckets));
  }
  return verdict;
}

}  // namespace ringside::cli
