// The demo's work: the same training on one device, with DataParallel and with
// DistributedDataParallel, each recorded.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ringside/scenario.h"
#include "ringside/trace.h"

namespace ringside::cli {

struct DemoRun {
  std::string name;  ///< "single", "DataParallel on 4", "DistributedDataParallel on 4"
  RunReport report;
  Trace trace;
};

/// Single, DataParallel, DistributedDataParallel: a global batch of 64 and the same permutation.
/// Calls `progress(text)` now and then, from any thread.
std::vector<DemoRun> run_demo(const std::function<void(const std::string& text)>& progress);

/// The step that is shown and drawn: DDP has rebuilt its buckets after step 0.
inline constexpr int kDemoStep = 2;
inline constexpr double kDemoTolerance = 1e-4;
/// The last 261 rows are not easy: the nearest training row (1-NN) has the right label for 94.3 %
/// of them.
inline constexpr double kDemoAccuracy = 0.95;
inline constexpr std::size_t kDemoBuckets = 3;

/// What the demo claims, checked.
struct DemoVerdict {
  double largest_difference = 0;  ///< of the losses of an epoch, relative to single's
  double lowest_accuracy = 1;     ///< on the test rows, after the last epoch
  std::size_t buckets = 0;        ///< of DDP
  /// One line per claim that does not hold; empty when all is well.
  std::vector<std::string> failures;
};
DemoVerdict judge(const std::vector<DemoRun>& runs);

}  // namespace ringside::cli
