// DataParallel against its definition computed by PyTorch: chunks of every kind, float32 and
// float64, BatchNorm.
#include "oracle_models.h"
#include "parallel/chunks.h"
#include "ringside/world.h"

namespace ringside::test {
namespace {

void train(const nlohmann::json& run, World& world) {
  const DType dtype = parse_dtype(run["dtype"].get<std::string>());
  const OracleData data(run["data"]);
  DataParallelOptions options;
  options.loss = [](const Tensor& output, const Tensor& targets) {
    return cross_entropy(output, targets);
  };
  options.optimizer = sgd_of(run);
  const auto dp = make_data_parallel(
      model_of(run["layers"], run["init_seed"], world.device(0), dtype), world, options);
  const std::int64_t rows = run["batch"];
  EXPECT_EQ(chunk_sizes(rows, run["devices"]), run["chunk_sizes"].get<std::vector<std::int64_t>>());
  for (std::size_t step = 0; step < run["loss"].size(); ++step) {
    const StepResult result = dp->train_step(
        data.batch(world.device(0), dtype, static_cast<std::int64_t>(step) * rows, rows),
        static_cast<int>(step));
    expect_close(host_value(result.loss, 0), run["loss"][step], dtype, "loss");
    if (step == 0) {
      expect_tensors(gradients_of(dp->module()), run["first_grads"], dtype, "gradients");
    }
  }
  expect_tensors(dp->module().named_parameters(), run["params"], dtype, "parameters");
  if (run.contains("buffers")) {
    expect_tensors(dp->module().named_buffers(), run["buffers"], dtype, "buffers");
  }
}

TEST(DpOracle, TrainsAsPyTorchDoes) {
  int compared = 0;
  for (const nlohmann::json& run : oracle_json("recorded_dp_steps.json")) {
    SCOPED_TRACE(run["name"].get<std::string>());
    WorldOptions options;
    options.size = run["devices"];
    const auto world = open_world("sim", options);
    world->drive([&] { train(run, *world); });
    ++compared;
  }
  EXPECT_EQ(compared, 14);
}

}  // namespace
}  // namespace ringside::test
