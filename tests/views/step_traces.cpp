#include "views/step_traces.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "support/trace_builder.h"

namespace ringside::test {
namespace {

constexpr std::int64_t kFeatures = 64;
constexpr std::int64_t kClasses = 10;

std::int64_t rows_of(std::size_t rows) { return static_cast<std::int64_t>(rows); }

class DataParallelBuilder {
 public:
  explicit DataParallelBuilder(const DataParallelCase& what)
      : what_(what),
        used_(what.device_ids.begin(),
              what.device_ids.begin() + static_cast<std::ptrdiff_t>(what.rows.size())),
        builder_(facts(what)) {}

  Trace build() {
    const int home = used_.front();
    builder_.at(kStep, Phase::kLoad);
    builder_.copy_from_host(home, TraceBuilder::written("input", {batch(what_), kFeatures}));
    rooted(Phase::kScatterInput, Operation::kScatter, used_, 0, counts(kFeatures), "input");
    rooted(Phase::kReplicate, Operation::kBroadcast, used_, 0, {}, "parameters");
    each_device(Phase::kForward, "linear");

    std::vector<int> gathering = used_;
    std::vector<std::size_t> outputs = counts(kClasses);
    if (std::find(gathering.begin(), gathering.end(), what_.output_device) == gathering.end()) {
      gathering.push_back(what_.output_device);
      outputs.push_back(0);
    }
    const int root = static_cast<int>(
        std::find(gathering.begin(), gathering.end(), what_.output_device) - gathering.begin());
    rooted(Phase::kGatherOutput, Operation::kGather, gathering, root, outputs, "output");
    builder_.at(kStep, Phase::kLoss);
    builder_.compute(what_.output_device, "cross-entropy", "", 0,
                     {TraceBuilder::tensor("output", {batch(what_), kClasses})},
                     {TraceBuilder::written("loss", {1})});
    rooted(Phase::kScatterGrad, Operation::kScatter, gathering, root, outputs, "output.grad");
    each_device(Phase::kBackward, "linear-backward-weight");
    rooted(Phase::kReduceGrad, Operation::kReduce, used_, 0, {}, "gradients");
    builder_.at(kStep, Phase::kUpdate);
    builder_.compute(home, "sgd", "", 0, {}, {});
    return builder_.finish();
  }

 private:
  static std::int64_t batch(const DataParallelCase& what) {
    return rows_of(std::accumulate(what.rows.begin(), what.rows.end(), std::size_t{0}));
  }

  static TraceRun facts(const DataParallelCase& what) {
    TraceRun run;
    run.strategy = "dp";
    run.backend = "sim";
    run.model = "linear";
    run.devices = what.devices;
    run.device_ids = what.device_ids;
    run.output_device = what.output_device;
    run.batch_size = batch(what);
    run.parameters = kParameters;
    run.parameter_bytes = kParameters * 4;
    return run;
  }

  std::vector<std::size_t> counts(std::int64_t columns) const {
    std::vector<std::size_t> result;
    for (const std::size_t rows : what_.rows) {
      result.push_back(rows * static_cast<std::size_t>(columns));
    }
    return result;
  }

  void rooted(Phase phase, Operation operation, const std::vector<int>& group, int root,
              const std::vector<std::size_t>& counts, const std::string& name) {
    builder_.at(kStep, phase);
    ScheduleRequest request;
    request.operation = operation;
    request.algorithm = counts.empty() ? what_.algorithm : Algorithm::kStar;
    request.ranks = static_cast<int>(group.size());
    request.root = root;
    request.counts = counts;
    request.count = counts.empty() ? kParameters : 0;
    for (const int rank : group) {
      builder_.collective(rank, request, ReduceOp::kSum, sequence_, {},
                          {TraceBuilder::written(name, {1000})}, "", group);
    }
    ++sequence_;
  }

  void each_device(Phase phase, const std::string& name) {
    builder_.at(kStep, phase);
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const TraceTensor x = TraceBuilder::tensor("input", {rows_of(what_.rows[i]), kFeatures});
      builder_.compute(used_[i], name, "0", 1e6, {x}, {});
    }
  }

  const DataParallelCase& what_;
  std::vector<int> used_;
  TraceBuilder builder_;
  std::int64_t sequence_ = 0;
};

void bucket(TraceBuilder& builder, int rank, int ranks, int number, int buckets) {
  const std::string layer = "features.conv" + std::to_string(buckets - number);
  const std::size_t count = 100'000 * static_cast<std::size_t>(number + 1);
  builder.at(kStep, Phase::kBackward);
  builder.compute(rank, "conv2d-backward-weight", layer, 1e9, {}, {});
  builder.at(kStep, Phase::kBackward, "main", number);
  builder.compute(rank, "copy-to-bucket", layer + ".weight", static_cast<double>(count), {}, {});
  builder.at(kStep, Phase::kAllReduce, "main", number);
  builder.wait(rank, StreamKind::kCommunication, builder.last(rank, StreamKind::kCompute));
  ScheduleRequest request;
  request.operation = Operation::kAllReduce;
  request.algorithm = Algorithm::kRing;
  request.ranks = ranks;
  request.count = count;
  builder.collective(rank, request, ReduceOp::kSum, number, {}, {});
}

Trace replicated_case(int ranks, int buckets) {
  TraceRun run;
  run.strategy = buckets > 0 ? "ddp" : "single";
  run.backend = "sim";
  run.model = "lenet";
  run.devices = ranks;
  run.batch_size = 16;
  for (int k = 1; k <= buckets; ++k) run.parameters += 100'000 * static_cast<std::size_t>(k);
  run.parameter_bytes = 4 * run.parameters;
  TraceBuilder builder(run);
  const TraceTensor input = TraceBuilder::written("input", {16, 1, 28, 28});
  for (int rank = 0; rank < ranks; ++rank) {
    builder.at(kStep, Phase::kLoad).copy_from_host(rank, input);
    builder.at(kStep, Phase::kForward).compute(rank, "conv2d", "features.conv1", 2e9, {input}, {});
    builder.at(kStep, Phase::kLoss);
    builder.compute(rank, "cross-entropy", "", 0, {}, {TraceBuilder::written("loss", {1})});
    for (int k = 0; k < buckets; ++k) bucket(builder, rank, ranks, k, buckets);
    if (buckets > 0) {
      builder.at(kStep, Phase::kFinalize);
      builder.wait(rank, StreamKind::kCompute, builder.last(rank, StreamKind::kCommunication));
      builder.compute(rank, "copy", "features.conv1.weight", 1e6, {}, {});
    } else {
      builder.at(kStep, Phase::kBackward);
      builder.compute(rank, "conv2d-backward-weight", "features.conv1", 1e9, {}, {});
    }
    builder.at(kStep, Phase::kUpdate).compute(rank, "sgd", "", 1e7, {}, {});
  }
  return builder.finish();
}

}  // namespace

Trace data_parallel_case(const DataParallelCase& what) { return DataParallelBuilder(what).build(); }

Trace ddp_case(int ranks, int buckets) { return replicated_case(ranks, buckets); }

Trace single_case() { return replicated_case(1, 0); }

}  // namespace ringside::test
