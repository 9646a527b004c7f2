// DistributedDataParallel against recorded runs of PyTorch's (gloo, 2 and 4 processes): even and
// unequal splits, scaled losses, gradient accumulation with and without no_sync, BatchNorm with and
// without broadcast_buffers.
#include "oracle_models.h"
#include "ringside/world.h"

namespace ringside::test {
namespace {

struct Recorded {
  explicit Recorded(const nlohmann::json& recorded_run)
      : run(recorded_run),
        dtype(parse_dtype(run["dtype"].get<std::string>())),
        micro_batches(run["micro_batches"]),
        data(run["data"]) {}

  double loss_factor(int rank) const {
    const std::string rule = run["scale_loss_by"];
    if (rule == "1/micro_batches") return 1.0 / micro_batches;
    if (rule == "world*local/global") {
      return static_cast<double>(run["rank_sizes"].size()) *
             run["rank_sizes"][static_cast<std::size_t>(rank)].get<double>() /
             run["batch_per_step"].get<double>();
    }
    return 1;
  }

  double loss(std::size_t step, std::size_t rank, std::size_t micro) const {
    const nlohmann::json& recorded = run["loss"][step][rank];
    return recorded.is_array() ? recorded[micro] : recorded;
  }

  nlohmann::json run;
  DType dtype;
  int micro_batches;
  OracleData data;
};

void train_rank(const Recorded& recorded, Rank& rank) {
  const nlohmann::json& run = recorded.run;
  const double factor = recorded.loss_factor(rank.rank);
  DdpOptions options;
  options.broadcast_buffers = run["broadcast_buffers"];
  options.optimizer = sgd_of(run);
  options.loss = [factor](const Tensor& output, const Tensor& targets) {
    const Tensor loss = cross_entropy(output, targets);
    return factor == 1 ? loss : scale(loss, factor);
  };
  // Rank 0's weights must win, whatever the others start from.
  const std::uint64_t seed =
      run["init_seed"].get<std::uint64_t>() + static_cast<std::uint64_t>(rank.rank);
  const auto ddp =
      make_ddp(model_of(run["layers"], seed, rank.device, recorded.dtype), rank, options);

  std::int64_t first = 0;
  for (int other = 0; other < rank.rank; ++other) {
    first += run["rank_sizes"][static_cast<std::size_t>(other)].get<std::int64_t>();
  }
  const std::int64_t rows = run["rank_sizes"][static_cast<std::size_t>(rank.rank)];
  for (std::size_t step = 0; step < run["loss"].size(); ++step) {
    for (int micro = 0; micro < recorded.micro_batches; ++micro) {
      const auto index = static_cast<std::int64_t>(step) * recorded.micro_batches + micro;
      const std::int64_t begin = index * run["batch_per_step"].get<std::int64_t>() + first;
      StepDirectives directives;
      directives.no_sync = run["no_sync"].get<bool>() && micro + 1 < recorded.micro_batches;
      const StepResult result =
          ddp->train_step(recorded.data.batch(rank.device, recorded.dtype, begin, rows),
                          static_cast<int>(step), directives);
      expect_close(
          host_value(result.loss, 0) / factor,
          recorded.loss(step, static_cast<std::size_t>(rank.rank), static_cast<std::size_t>(micro)),
          recorded.dtype, "loss");
    }
    if (step == 0) {
      expect_tensors(gradients_of(ddp->module()), run["first_grads"], recorded.dtype, "gradients");
    }
  }
  expect_tensors(ddp->module().named_parameters(), run["params"], recorded.dtype, "parameters");
  if (run.contains("buffers_by_rank")) {
    expect_tensors(ddp->module().named_buffers(),
                   run["buffers_by_rank"][static_cast<std::size_t>(rank.rank)], recorded.dtype,
                   "buffers");
  }
}

/// Runs that synchronise every micro batch need an update only after the last one, which train_step
/// does not express.
bool expressible(const nlohmann::json& run) {
  return run["micro_batches"] == 1 || run["no_sync"].get<bool>();
}

TEST(DdpOracle, TrainsAsPyTorchDoes) {
  int compared = 0;
  for (const nlohmann::json& run : oracle_json("recorded_ddp_steps.json")) {
    if (!expressible(run)) continue;
    SCOPED_TRACE(run["name"].get<std::string>());
    const Recorded recorded(run);
    WorldOptions options;
    options.size = static_cast<int>(run["rank_sizes"].size());
    const auto world = open_world("sim", options);
    world->run([&](Rank& rank) { train_rank(recorded, rank); });
    ++compared;
  }
  EXPECT_EQ(compared, 18);
}

}  // namespace
}  // namespace ringside::test
