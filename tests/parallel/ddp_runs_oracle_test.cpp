// DistributedDataParallel against recorded runs of a real PyTorch (ddp_steps.json): uneven inputs,
// epochs of a sampler, the rounding of the division.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "ddp_oracle.h"

namespace ringside::test {
namespace {

// ---------------------------------------------------------------- uneven inputs

TEST(Ddp, JoinsUnevenInputsAsPyTorchDoes) {
  with_oracle("ddp_steps.json", [](Record& file) {
    file.leave({"scenarios", "epochs", "division"});
    file.for_each("join", [](Record& record) {
      SCOPED_TRACE(record.get<std::string>("name"));
      const auto batches = record.get<std::vector<std::size_t>>("batches_by_rank");
      const auto rows = record.get<std::int64_t>("batch");
      const DType dtype = record.dtype();
      const OracleData data = data_of(record, OracleData::Recorded::kNothing);
      const Json& model = record["model"];
      const Json& optimizer = record["optimizer"];
      const Json& by_rank = record.list("by_rank", batches.size());
      JoinOptions join;
      join.divide_by_initial_world_size = record.get<bool>("divide_by_initial_world_size");
      world_of(batches.size())->run([&](Rank& rank) {
        const auto own = static_cast<std::size_t>(rank.rank);
        Record expected(by_rank.at(own), record.place() + ", rank " + std::to_string(own));
        const Json& steps = expected.list("steps", batches[own]);
        const auto module = model_of(model, record.place(), rank.device, dtype);
        DistributedDataParallel ddp(module, rank);
        const Trained trained = trained_on(module, optimizer, record.place(), dtype);
        ddp.begin_join(join);
        for (std::size_t step = 0; step < batches[own]; ++step) {
          Record of_step(steps.at(step), expected.place() + ", step " + std::to_string(step));
          const std::size_t index = step * batches.size() + own;
          const Batch batch =
              data.batch(rank.device, dtype, static_cast<std::int64_t>(index) * rows, rows);
          trained.optimizer->zero_grad();
          const Tensor loss = cross_entropy(ddp.forward(batch.inputs), batch.targets);
          ddp.backward(loss);
          trained.expect_loss(loss, of_step["loss"]);
          trained.expect_gradients(of_step["grads"]);
          trained.optimizer->step();
          trained.expect_parameters(of_step["params"]);
        }
        ddp.end_join();
        trained.expect_parameters(expected["final_params"]);
      });
    });
  });
}

// ---------------------------------------------------------------- epochs

TEST(Ddp, TrainsOnASamplersEpochsAsPyTorchDoes) {
  with_oracle("ddp_steps.json", [](Record& file) {
    file.leave({"scenarios", "join", "division"});
    file.for_each("epochs", [](Record& record) {
      SCOPED_TRACE(record.get<std::string>("name"));
      const auto ranks = record.get<std::size_t>("world");
      const auto epochs = record.get<std::size_t>("epochs");
      const auto rows = record.get<std::size_t>("batch");
      const DType dtype = record.dtype();
      const OracleData data = data_of(record, OracleData::Recorded::kNothing);
      const Json& model = record["model"];
      const Json& optimizer = record["optimizer"];
      const Json& by_rank = record.list("by_rank", ranks);
      SamplerOptions sampling;
      sampling.shuffle = true;
      sampling.seed = record.seed("sampler_seed");
      sampling.drop_last = record.get<bool>("drop_last");
      world_of(ranks)->run([&](Rank& rank) {
        const Json& expected =
            list_of(epochs, by_rank.at(static_cast<std::size_t>(rank.rank)), "epochs of a rank");
        const auto module = model_of(model, record.place(), rank.device, dtype);
        DistributedDataParallel ddp(module, rank);
        const Trained trained = trained_on(module, optimizer, record.place(), dtype);
        for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
          Record of_epoch(expected.at(epoch), record.place() + ", rank " +
                                                  std::to_string(rank.rank) + ", epoch " +
                                                  std::to_string(epoch));
          const std::vector<std::int64_t> indices = distributed_sampler(
              data.rows(), static_cast<int>(ranks), rank.rank, static_cast<int>(epoch), sampling);
          EXPECT_EQ(indices, of_epoch.get<std::vector<std::int64_t>>("indices"));
          const Json& losses = of_epoch.list("losses", (indices.size() + rows - 1) / rows);
          for (std::size_t begin = 0; begin < indices.size(); begin += rows) {
            const std::size_t count = std::min(rows, indices.size() - begin);
            const Batch batch =
                data.batch(rank.device, dtype, std::span(indices).subspan(begin, count));
            trained.optimizer->zero_grad();
            const Tensor loss = cross_entropy(ddp.forward(batch.inputs), batch.targets);
            ddp.backward(loss);
            trained.optimizer->step();
            trained.expect_loss(loss, losses.at(begin / rows));
          }
          trained.expect_parameters(of_epoch["params"]);
        }
      });
    });
  });
}

// ---------------------------------------------------------------- division

/// The gradient after each of `iterations`, in which rank 0 alone has one: `values`.
std::vector<std::vector<double>> divided(const std::vector<double>& values, std::size_t ranks,
                                         bool as_bucket_view, std::size_t iterations) {
  std::vector<std::vector<double>> gradients;
  world_of(ranks)->run([&](Rank& rank) {
    Generator generator(0);
    const auto count = static_cast<std::int64_t>(values.size());
    const auto module = make_linear({rank.device, DType::kFloat32, generator}, count, 1, false);
    DdpWrapperOptions options;
    options.gradient_as_bucket_view = as_bucket_view;
    DistributedDataParallel ddp(module, rank, options);
    const Tensor weight = module->named_parameters().front().tensor;
    for (std::size_t iteration = 0; iteration < iterations; ++iteration) {
      Tensor gradient = weight.grad();
      if (gradient) fill_in_place(gradient, 0);
      ddp.backward(ddp.forward(Tensor::from_host(
          rank.device, Shape{1, count}, DType::kFloat32,
          rank.rank == 0 ? values : std::vector<double>(values.size(), 0), MemoryKind::kInputs)));
      if (rank.rank == 0) gradients.push_back(host_values(weight.grad()));
    }
  });
  return gradients;
}

TEST(Ddp, RoundsTheDivisionAsPyTorchDoes) {
  with_oracle("ddp_steps.json", [](Record& file) {
    file.leave({"scenarios", "join", "epochs"});
    file.for_each("division", [](Record& record) {
      constexpr std::size_t kIterations = 3;
      const auto ranks = record.get<std::size_t>("world");
      const std::vector<double> values = oracle_values(record["values"], DType::kFloat32);
      Record result(record["result"], record.place() + " result");
      for (const bool view : {false, true}) {
        const Json& rows = result.list(
            std::string("gradient_as_bucket_view=") + (view ? "True" : "False"), kIterations);
        const auto gradients = divided(values, ranks, view, kIterations);
        for (std::size_t i = 0; i < kIterations; ++i) {
          expect_values(gradients[i], rows[i], DType::kFloat32, {},
                        "iteration " + std::to_string(i));
        }
      }
      std::vector<double> multiplied, quotients;
      for (const double value : values) {
        multiplied.push_back(static_cast<float>(value) *
                             static_cast<float>(1 / static_cast<double>(ranks)));
        quotients.push_back(static_cast<float>(value) / static_cast<float>(ranks));
      }
      expect_values(multiplied, result["grad * float32(1/world)"], DType::kFloat32, {}, "product");
      expect_values(quotients, result["grad / world"], DType::kFloat32, {}, "quotient");
    });
  });
}

}  // namespace
}  // namespace ringside::test
