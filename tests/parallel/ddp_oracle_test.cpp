// DistributedDataParallel's training steps against recorded runs of a real PyTorch (ddp_steps.json:
// gloo, one process a rank).
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "ddp_oracle.h"

namespace ringside::test {
namespace {

std::vector<NamedTensor> buffers_of(const Module& module) { return module.named_buffers(); }

/// `field`, or this rank's part of `field`_by_rank where the ranks differ.
const Json& of_rank(Record& record, const std::string& field, const Rank& rank) {
  const std::string by_rank = field + "_by_rank";
  if (!record.has(by_rank)) return record[field];
  return record.list(by_rank, static_cast<std::size_t>(rank.communicator.size()))
      .at(static_cast<std::size_t>(rank.rank));
}

// ---------------------------------------------------------------- training

/// A scenario of training steps; read before the ranks start.
struct Training {
  explicit Training(Record& record)
      : place(record.place()),
        model(record["model"]),
        optimizer(record["optimizer"]),
        dtype(record.dtype()),
        steps(record.get<std::size_t>("steps")),
        rank_sizes(record.get<std::vector<std::int64_t>>("rank_sizes")),
        rows_per_step(record.get<std::int64_t>("batch_per_step")),
        micro_batches(record.get_or<std::int64_t>("micro_batches", 1)),
        no_sync(record.get_or("no_sync", true)),
        scaled_by(record.get_or<std::string>("scale_loss_by", "")),
        rank_dependent_init(record.get_or("rank_dependent_init", false)),
        detail(record.get<std::string>("detail")),
        data(data_of(record, OracleData::Recorded::kBySize)) {
    record.leave({"name"});
    if (model.contains("branchy")) read_use_of_b(record);
    if (record.has("ddp")) read_options(record);
    if (std::accumulate(rank_sizes.begin(), rank_sizes.end(), std::int64_t{0}) != rows_per_step) {
      throw std::runtime_error(place + ": rank_sizes are not batch_per_step");
    }
    if (detail != "full" && detail != "digest") {
      throw std::runtime_error(place + ": detail '" + detail + "' is unknown");
    }
    if (record.has("hook")) options.communication_hook = hook(record.get<std::string>("hook"));
    if (!scaled_by.empty() && scaled_by != "1/micro_batches" && scaled_by != "world*local/global") {
      throw std::runtime_error(place + ": scale_loss_by '" + scaled_by + "' is unknown");
    }
  }

  void read_use_of_b(Record& record) {
    for (const Json& ranks : record.list("use_b", steps)) {
      list_of(rank_sizes.size(), ranks, place + " use_b " + ranks.dump());
      use_b.push_back(exactly<std::vector<bool>>(ranks));
    }
  }

  void read_options(Record& record) {
    Record ddp(record["ddp"], place + " ddp");
    options.broadcast_buffers = ddp.get_or("broadcast_buffers", true);
    options.find_unused_parameters = ddp.get_or("find_unused_parameters", false);
    options.gradient_as_bucket_view = ddp.get_or("gradient_as_bucket_view", false);
    options.static_graph = ddp.get_or("static_graph", false);
    const double cap = ddp.get_or("bucket_cap_mb", 25.0);
    options.bucket_cap_bytes = static_cast<std::size_t>(cap * 1024 * 1024);
  }

  CommunicationHook hook(const std::string& name) const {
    if (name == "allreduce") return all_reduce_hook();
    if (name == "fp16_compress") return fp16_compress_hook();
    if (name == "bf16_compress") return bf16_compress_hook();
    throw std::runtime_error(place + ": hook '" + name + "' is unknown");
  }

  /// Whether `tensors` are digests, where the file does not have them in full.
  void expect_detail(const Json& tensors, bool always_full) const {
    for (const auto& [name, tensor] : tensors.items()) {
      if (tensor.is_null()) continue;
      EXPECT_EQ(tensor.is_array(), always_full || detail == "full") << place << ' ' << name;
    }
  }

  double loss_factor(std::int64_t rows) const {
    if (scaled_by == "1/micro_batches") return 1 / static_cast<double>(micro_batches);
    if (scaled_by.empty()) return 1;
    return static_cast<double>(rank_sizes.size()) * static_cast<double>(rows) /
           static_cast<double>(rows_per_step);
  }

  std::string place;
  const Json& model;
  const Json& optimizer;
  DType dtype;
  std::size_t steps;
  std::vector<std::int64_t> rank_sizes;
  std::int64_t rows_per_step;
  std::int64_t micro_batches;
  bool no_sync;
  std::string scaled_by;
  bool rank_dependent_init;
  std::vector<std::vector<bool>> use_b;  // per step and rank; empty: always
  std::string detail;
  DdpWrapperOptions options;
  OracleData data;
};

class TrainingRank {
 public:
  TrainingRank(const Training& training, Rank& rank)
      : training_(training),
        rank_(rank),
        own_(static_cast<std::size_t>(rank.rank)),
        module_(model_of(training.model, training.place, rank.device, training.dtype)),
        ddp_(with_own_init(), rank, training.options),
        trained_(trained_on(module_, training.optimizer, training.place, training.dtype)),
        rows_(training.rank_sizes[own_]),
        first_(std::accumulate(training.rank_sizes.begin(), training.rank_sizes.begin() + rank.rank,
                               std::int64_t{0})) {}

  void run(const Json& recorded) {
    Record record(recorded, training_.place + " ddp_run, rank " + std::to_string(own_));
    trained_.expect_initial(record["init"]);
    training_.expect_detail(record["init"], false);
    const Json& steps = record.list("steps", training_.steps);
    for (std::size_t step = 0; step < training_.steps; ++step) {
      Record expected(steps.at(step), record.place() + ", step " + std::to_string(step));
      SCOPED_TRACE(expected.place());
      run_step(step, expected);
    }
  }

 private:
  const std::shared_ptr<Module>& with_own_init() {
    if (!training_.rank_dependent_init) return module_;
    for (const NamedTensor& entry : module_->named_parameters()) {
      Tensor parameter = entry.tensor;
      add_in_place(parameter, Tensor::full(rank_.device, parameter.shape(), parameter.dtype(),
                                           rank_.rank, MemoryKind::kWorkspace));
    }
    return module_;
  }

  void run_step(std::size_t step, Record& expected) {
    trained_.optimizer->zero_grad();
    if (!training_.use_b.empty()) module_->use_second_head(training_.use_b[step][own_]);
    const Json& losses = expected.list("loss", training_.rank_sizes.size()).at(own_);
    if (training_.micro_batches > 1) {
      list_of(static_cast<std::size_t>(training_.micro_batches), losses, "losses");
    }
    for (std::int64_t micro = 0; micro < training_.micro_batches; ++micro) {
      const Tensor loss = run_micro_batch(step, micro);
      trained_.expect_loss(
          loss, training_.micro_batches > 1 ? losses[static_cast<std::size_t>(micro)] : losses);
    }
    const Json& gradients = of_rank(expected, "grads", rank_);
    trained_.expect_gradients(gradients);
    training_.expect_detail(gradients, step == 0);
    trained_.optimizer->step();
    const Json& parameters = of_rank(expected, "params", rank_);
    trained_.expect_parameters(parameters);
    training_.expect_detail(parameters, step + 1 == training_.steps);
    if (buffers_of(*module_).empty()) return;
    expect_tensors(buffers_of(*module_), of_rank(expected, "buffers", rank_), trained_.tolerance,
                   "buffers");
  }

  Tensor run_micro_batch(std::size_t step, std::int64_t micro) {
    const bool last = micro + 1 == training_.micro_batches;
    std::optional<DistributedDataParallel::NoSync> no_sync;
    if (!last && training_.no_sync) no_sync.emplace(ddp_);
    const std::int64_t index = static_cast<std::int64_t>(step) * training_.micro_batches + micro;
    const Batch batch = training_.data.batch(rank_.device, training_.dtype,
                                             index * training_.rows_per_step + first_, rows_);
    Tensor loss = cross_entropy(ddp_.forward(batch.inputs), batch.targets);
    const double factor = training_.loss_factor(rows_);
    ddp_.backward(factor == 1 ? loss : scale(loss, factor));
    return loss;
  }

  const Training& training_;
  Rank& rank_;
  std::size_t own_;
  std::shared_ptr<Module> module_;
  DistributedDataParallel ddp_;
  Trained trained_;
  std::int64_t rows_, first_;
};

/// The same rows in one process without DDP.
void run_single(const Training& training, const Json& recorded) {
  const auto world = world_of(1);
  world->drive([&] {
    Device& device = world->device(0);
    const auto module = model_of(training.model, training.place, device, training.dtype);
    const Trained trained = trained_on(module, training.optimizer, training.place, training.dtype);
    Record record(recorded, training.place + " single_run");
    trained.expect_initial(record["init"]);
    training.expect_detail(record["init"], false);
    const Json& steps = record.list("steps", training.steps);
    const std::int64_t rows = training.rows_per_step * training.micro_batches;
    for (std::size_t step = 0; step < training.steps; ++step) {
      Record expected(steps.at(step), record.place() + ", step " + std::to_string(step));
      SCOPED_TRACE(expected.place());
      const Batch batch =
          training.data.batch(device, training.dtype, static_cast<std::int64_t>(step) * rows, rows);
      trained.optimizer->zero_grad();
      const Tensor loss = cross_entropy(module->forward(batch.inputs), batch.targets);
      backward(loss);
      trained.expect_loss(loss, expected["loss"]);
      trained.expect_gradients(expected["grads"]);
      training.expect_detail(expected["grads"], step == 0);
      trained.optimizer->step();
      trained.expect_parameters(expected["params"]);
      training.expect_detail(expected["params"], step + 1 == training.steps);
      if (buffers_of(*module).empty()) continue;
      expect_tensors(buffers_of(*module), expected["buffers"], trained.tolerance, "buffers");
    }
  });
}

TEST(Ddp, TrainsAsPyTorchDoes) {
  with_oracle("ddp_steps.json", [](Record& file) {
    file.leave({"join", "epochs", "division"});
    file.for_each("scenarios", [](Record& record) {
      SCOPED_TRACE(record.get<std::string>("name"));
      const Training training(record);
      const Json& recorded = record["ddp_run"];
      world_of(training.rank_sizes.size())->run([&](Rank& rank) {
        TrainingRank(training, rank).run(recorded);
      });
      if (record.get_or("with_single", false)) run_single(training, record["single_run"]);
    });
  });
}

}  // namespace
}  // namespace ringside::test
