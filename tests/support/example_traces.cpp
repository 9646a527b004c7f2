#include "support/example_traces.h"

#include <utility>

#include "support/trace_builder.h"

namespace ringside::test {
namespace {

using Builder = TraceBuilder;
constexpr int kRanks = 4;
constexpr StreamKind kCompute = StreamKind::kCompute;
constexpr StreamKind kCopy = StreamKind::kCopy;
constexpr StreamKind kCommunication = StreamKind::kCommunication;

/// A Linear with its place in the model: "0" is Linear(64, 32).
struct Layer {
  std::string path;
  std::int64_t in;
  std::int64_t out;
  bool relu;

  std::string weight() const { return path + ".weight"; }
  std::string bias() const { return path + ".bias"; }
  Shape weight_shape() const { return {out, in}; }
  Shape bias_shape() const { return {out}; }
  std::size_t parameters() const { return static_cast<std::size_t>(out * in + out); }
};

TraceRun run_facts(std::string strategy, const std::string& model,
                   const std::vector<Layer>& layers) {
  TraceRun run;
  run.strategy = std::move(strategy);
  run.backend = "sim";
  run.model = model;
  run.data = "digits";
  run.devices = kRanks;
  for (const Layer& layer : layers) run.parameters += layer.parameters();
  run.parameter_bytes = run.parameters * 4;
  return run;
}

ScheduleRequest request(Operation operation, Algorithm algorithm, std::size_t count) {
  ScheduleRequest result;
  result.operation = operation;
  result.algorithm = algorithm;
  result.ranks = kRanks;
  result.count = count;
  return result;
}

std::string activation(const Layer& layer) { return layer.path + ".output"; }

void load(Builder& builder, int rank, std::int64_t rows) {
  builder.at(0, Phase::kLoad, "loader").host(rank, "read-batch");
  builder.at(0, Phase::kLoad);
  builder.copy_from_host(rank, Builder::written("input", {rows, 64}));
  const OpId copied =
      builder.copy_from_host(rank, Builder::written("targets", {rows}, DType::kInt64));
  builder.wait(rank, kCompute, copied);
}

void forward(Builder& builder, int rank, const std::vector<Layer>& layers, std::int64_t rows) {
  TraceTensor x = Builder::tensor("input", {rows, layers[0].in});
  for (const Layer& layer : layers) {
    const TraceTensor y = Builder::written(activation(layer), {rows, layer.out});
    builder.compute(rank, "linear", layer.path,
                    2.0 * static_cast<double>(rows * layer.in * layer.out),
                    {x, Builder::tensor(layer.weight(), layer.weight_shape()),
                     Builder::tensor(layer.bias(), layer.bias_shape())},
                    {y});
    x = Builder::tensor(y.name, y.shape);
    if (!layer.relu) continue;
    const std::string next = std::to_string(std::stoi(layer.path) + 1);
    const TraceTensor z = Builder::written(next + ".output", y.shape);
    builder.compute(rank, "relu", next, 0, {x}, {z});
    x = Builder::tensor(z.name, z.shape);
  }
}

void loss(Builder& builder, int rank, std::int64_t rows) {
  const TraceTensor output = Builder::tensor("output", {rows, 10});
  const TraceTensor targets = Builder::tensor("targets", {rows}, DType::kInt64);
  builder.compute(rank, "cross-entropy", "", 0, {output, targets},
                  {Builder::written("loss", {1}), Builder::written("probabilities", {rows, 10})});
  builder.compute(rank, "cross-entropy-backward", "", 0,
                  {Builder::tensor("probabilities", {rows, 10}), targets},
                  {Builder::written("output.grad", {rows, 10})});
}

/// The backward of one Linear and of the ReLU before it; writes bias before weight, as autograd.
void layer_backward(Builder& builder, int rank, const Layer& layer, bool first, std::int64_t rows) {
  const double flops = 2.0 * static_cast<double>(rows * layer.in * layer.out);
  const TraceTensor dy = Builder::tensor(activation(layer) + ".grad", {rows, layer.out});
  if (!first) {
    builder.compute(rank, "linear-backward-input", layer.path, flops,
                    {dy, Builder::tensor(layer.weight(), layer.weight_shape())},
                    {Builder::written(layer.path + ".input.grad", {rows, layer.in})});
  }
  builder.compute(rank, "linear-backward-bias", layer.path, 0, {dy},
                  {Builder::written(layer.bias() + ".grad", layer.bias_shape())});
  builder.compute(rank, "linear-backward-weight", layer.path, flops, {dy},
                  {Builder::written(layer.weight() + ".grad", layer.weight_shape())});
  if (first) return;
  const std::string relu = std::to_string(std::stoi(layer.path) - 1);
  builder.compute(rank, "relu-backward", relu, 0,
                  {Builder::tensor(layer.path + ".input.grad", {rows, layer.in}),
                   Builder::tensor(relu + ".output", {rows, layer.in})},
                  {Builder::written(relu + ".output.grad", {rows, layer.in})});
}

void update(Builder& builder, int rank, const std::vector<Layer>& layers) {
  const auto sgd = [&](const std::string& name, const Shape& shape) {
    builder.compute(rank, "sgd", name, 2.0 * static_cast<double>(shape.numel()),
                    {Builder::tensor(name + ".grad", shape)}, {Builder::written(name, shape)});
  };
  for (const Layer& layer : layers) {
    sgd(layer.weight(), layer.weight_shape());
    sgd(layer.bias(), layer.bias_shape());
  }
}

/// A collective of all ranks rooted at 0: its stream waits for what the compute stream (root: and
/// copy stream) has done; `part` is what every rank has, `whole` what the root has.
void rooted(Builder& builder, const ScheduleRequest& what, std::int64_t sequence,
            const TraceTensor& part, const TraceTensor& whole) {
  const bool from_root =
      what.operation == Operation::kScatter || what.operation == Operation::kBroadcast;
  for (int rank = 0; rank < kRanks; ++rank) {
    const TraceTensor& outside = from_root ? whole : part;
    const TraceTensor& inside = from_root ? part : whole;
    std::vector<TraceTensor> reads;
    std::vector<TraceTensor> writes;
    if (rank == 0 || !from_root) reads = {Builder::tensor(outside.name, outside.shape)};
    if (rank == 0 || from_root) writes = {Builder::written(inside.name, inside.shape)};
    builder.collective(rank, what, ReduceOp::kSum, sequence, std::move(reads), std::move(writes));
  }
}

void all_wait(Builder& builder, StreamKind stream, StreamKind awaited) {
  for (int rank = 0; rank < kRanks; ++rank) {
    builder.wait(rank, stream, builder.last(rank, awaited));
  }
}

void note_memory(Builder& builder, std::size_t parameter_bytes) {
  for (int rank = 0; rank < kRanks; ++rank) {
    builder.memory(rank, rank == 0 ? MemoryKind::kParameters : MemoryKind::kReplicas,
                   parameter_bytes, parameter_bytes);
  }
}

}  // namespace

Trace data_parallel_trace() {
  const std::vector<Layer> layers = {{"0", 64, 32, true}, {"2", 32, 10, false}};
  constexpr std::int64_t kBatch = 64;
  constexpr std::int64_t kPart = kBatch / kRanks;
  TraceRun run = run_facts("dp", "mlp:64,32,10", layers);
  run.device_ids = {0, 1, 2, 3};
  run.batch_size = kBatch;
  Builder builder(run);
  std::int64_t sequence = 0;

  load(builder, 0, kBatch);

  builder.at(0, Phase::kScatterInput).wait(0, kCommunication, builder.last(0, kCopy));
  rooted(builder, request(Operation::kScatter, Algorithm::kStar, kPart * 64), sequence++,
         Builder::tensor("input", {kPart, 64}), Builder::tensor("input", {kBatch, 64}));

  builder.at(0, Phase::kReplicate);
  const auto each_parameter = [&](const auto& function) {
    for (const Layer& layer : layers) {
      function(layer.weight(), layer.weight_shape());
      function(layer.bias(), layer.bias_shape());
    }
  };
  each_parameter([&](const std::string& name, const Shape& shape) {
    rooted(
        builder,
        request(Operation::kBroadcast, Algorithm::kStar, static_cast<std::size_t>(shape.numel())),
        sequence++, Builder::tensor(name, shape), Builder::tensor(name, shape));
  });
  note_memory(builder, run.parameter_bytes);

  for (int rank = 0; rank < kRanks; ++rank) {
    builder.at(0, Phase::kForward, "replica " + std::to_string(rank));
    builder.wait(rank, kCompute, builder.last(rank, kCommunication));
    forward(builder, rank, layers, kPart);
  }

  builder.at(0, Phase::kGatherOutput);
  all_wait(builder, kCommunication, kCompute);
  rooted(builder, request(Operation::kGather, Algorithm::kStar, kPart * 10), sequence++,
         Builder::tensor("2.output", {kPart, 10}), Builder::tensor("output", {kBatch, 10}));

  builder.at(0, Phase::kLoss).wait(0, kCompute, builder.last(0, kCommunication));
  loss(builder, 0, kBatch);

  builder.at(0, Phase::kScatterGrad).wait(0, kCommunication, builder.last(0, kCompute));
  rooted(builder, request(Operation::kScatter, Algorithm::kStar, kPart * 10), sequence++,
         Builder::tensor("2.output.grad", {kPart, 10}),
         Builder::tensor("output.grad", {kBatch, 10}));

  builder.at(0, Phase::kBackward);
  for (int rank = 0; rank < kRanks; ++rank) {
    builder.wait(rank, kCompute, builder.last(rank, kCommunication));
    layer_backward(builder, rank, layers[1], false, kPart);
    layer_backward(builder, rank, layers[0], true, kPart);
  }

  builder.at(0, Phase::kReduceGrad);
  all_wait(builder, kCommunication, kCompute);
  each_parameter([&](const std::string& name, const Shape& shape) {
    rooted(builder,
           request(Operation::kReduce, Algorithm::kStar, static_cast<std::size_t>(shape.numel())),
           sequence++, Builder::tensor(name + ".grad", shape),
           Builder::tensor(name + ".grad", shape));
  });

  builder.at(0, Phase::kUpdate).wait(0, kCompute, builder.last(0, kCommunication));
  update(builder, 0, layers);
  note_memory(builder, run.parameter_bytes);
  return builder.finish();
}

Trace ddp_trace() {
  const std::vector<Layer> layers = {
      {"0", 64, 32, true}, {"2", 32, 32, true}, {"4", 32, 10, false}};
  constexpr std::int64_t kRows = 16;
  TraceRun run = run_facts("ddp", "mlp:64,32,32,10", layers);
  run.batch_size = kRows;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    run.buckets.push_back({layer->parameters() * 4, {layer->bias(), layer->weight()}});
  }
  Builder builder(run);

  for (int rank = 0; rank < kRanks; ++rank) {
    load(builder, rank, kRows);
    builder.at(0, Phase::kForward);
    forward(builder, rank, layers, kRows);
    builder.at(0, Phase::kLoss);
    loss(builder, rank, kRows);
    int bucket = 0;
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer, ++bucket) {
      builder.at(0, Phase::kBackward);
      layer_backward(builder, rank, *layer, layer->path == "0", kRows);
      builder.at(0, Phase::kAllReduce, "main", bucket);
      builder.wait(rank, kCommunication, builder.last(rank, kCompute));
      const std::string name = "bucket " + std::to_string(bucket);
      const Shape shape = {static_cast<std::int64_t>(layer->parameters())};
      builder.collective(rank,
                         request(Operation::kAllReduce, Algorithm::kRing, layer->parameters()),
                         ReduceOp::kAvg, bucket, {Builder::tensor(name, shape)},
                         {Builder::written(name, shape)}, name);
    }
    builder.at(0, Phase::kFinalize);
    builder.wait(rank, kCompute, builder.last(rank, kCommunication));
    builder.at(0, Phase::kUpdate);
    update(builder, rank, layers);
    builder.memory(rank, MemoryKind::kBuckets, run.parameter_bytes, run.parameter_bytes);
  }
  return builder.finish();
}

Trace overlap_trace() {
  constexpr int kLayers = 10;
  constexpr std::size_t kLayerBytes = 4 * 1024 * 1024;
  TraceRun run;
  run.strategy = "ddp";
  run.backend = "sim";
  run.model = "10 x Linear(1024, 1024)";
  run.data = "random";
  run.devices = kRanks;
  run.parameters = kLayers * kLayerBytes / 4;
  run.parameter_bytes = kLayers * kLayerBytes;
  const std::vector<int> last_layer_of_bucket = {9, 2, 0};
  for (int layer = kLayers - 1, bucket = 0; layer >= 0; --layer) {
    if (run.buckets.size() == static_cast<std::size_t>(bucket)) run.buckets.emplace_back();
    run.buckets.back().bytes += kLayerBytes;
    run.buckets.back().parameters.push_back(std::to_string(layer) + ".weight");
    if (layer == last_layer_of_bucket[static_cast<std::size_t>(bucket)]) ++bucket;
  }
  Builder builder(run);
  for (int rank = 0; rank < kRanks; ++rank) {
    builder.at(0, Phase::kForward);
    for (int layer = 0; layer < kLayers; ++layer) {
      builder.compute(rank, "linear", std::to_string(layer), 0.5e9, {}, {});
    }
    int bucket = 0;
    for (int layer = kLayers - 1; layer >= 0; --layer) {
      builder.at(0, Phase::kBackward);
      builder.compute(rank, "linear-backward-weight", std::to_string(layer), 1e9, {}, {});
      if (layer != last_layer_of_bucket[static_cast<std::size_t>(bucket)]) continue;
      builder.at(0, Phase::kAllReduce, "main", bucket);
      builder.wait(rank, kCommunication, builder.last(rank, kCompute));
      const std::size_t count = run.buckets[static_cast<std::size_t>(bucket)].bytes / 4;
      builder.collective(rank, request(Operation::kAllReduce, Algorithm::kRing, count),
                         ReduceOp::kAvg, bucket, {}, {}, "bucket " + std::to_string(bucket));
      ++bucket;
    }
    builder.at(0, Phase::kFinalize);
    builder.wait(rank, kCompute, builder.last(rank, kCommunication));
    builder.at(0, Phase::kUpdate);
    builder.compute(rank, "sgd", "", 0.7e9, {}, {});
  }
  return builder.finish();
}

Rates overlap_rates() {
  Rates rates;
  rates.name = "example: 10 GB/s ring, rank 2 computes 10 % slower";
  rates.flops_per_second = 1e12;
  rates.compute_overhead = 0;
  rates.link_bytes_per_second = 10e9;
  rates.link_latency = 0.05e-3 / (2 * (kRanks - 1));
  rates.rank_slowdown = {1, 1, 1.1, 1};
  return rates;
}

Trace collective_trace(int ranks, std::size_t count) {
  TraceRun run;
  run.strategy = "collective";
  run.backend = "sim";
  run.devices = ranks;
  Builder builder(run);
  builder.at(0, Phase::kAllReduce);
  ScheduleRequest what = request(Operation::kAllReduce, Algorithm::kRing, count);
  what.ranks = ranks;
  const Shape shape = {static_cast<std::int64_t>(count)};
  for (int rank = 0; rank < ranks; ++rank) {
    builder.collective(rank, what, ReduceOp::kSum, 0, {Builder::tensor("data", shape)},
                       {Builder::written("data", shape)});
  }
  return builder.finish();
}

}  // namespace ringside::test
