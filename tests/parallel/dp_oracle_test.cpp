// DataParallel against its definition, computed by a real PyTorch (dp_reference.json): the training
// runs, as the strategy and as a script around the wrapper makes them, and the scattering of
// arguments.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "ringside/strategy.h"
#include "support/oracle.h"
#include "support/oracle_training.h"

namespace ringside::test {
namespace {

std::unique_ptr<World> world_of(int devices) {
  WorldOptions options;
  options.size = devices;
  return open_world("sim", options);
}

Tensor loss_of(const Tensor& output, const Tensor& targets) {
  return cross_entropy(output, targets);
}

/// What all trainings of one recorded run share.
struct RunFacts {
  explicit RunFacts(Record& run)
      : devices(run.get<int>("devices")),
        dtype(run.dtype()),
        batch(run.get<std::int64_t>("batch")),
        steps(run.get<std::size_t>("steps")),
        tolerance(training_tolerance(dtype)),
        model_spec(run["model"]) {
    const auto place = run.get<std::string>("loss_in");
    if (place != "gathered_output" && place != "module") {
      throw std::runtime_error("loss_in '" + place + "' is unknown");
    }
    loss_in = place == "module" ? LossPlace::kForward : LossPlace::kOutput;
  }

  std::shared_ptr<Module> model(Device& device) const {
    Record spec(model_spec, "model");
    return make_oracle_model(spec, device, dtype).module;
  }

  int devices;
  DType dtype;
  std::int64_t batch;
  std::size_t steps;
  Tolerance tolerance;
  const Json& model_spec;
  LossPlace loss_in = LossPlace::kOutput;
};

/// A run's steps, each of whose fields some training must look at.
class Steps {
 public:
  Steps(Record& run, std::string_view which, const RunFacts& facts)
      : record_(run[which], run.place() + " " + std::string(which)), facts_(facts) {
    if (record_["steps"].size() != facts.steps) {
      throw std::runtime_error("another number of steps");
    }
  }

  void check_init(const Module& module) {
    expect_tensors(module.named_parameters(), record_["init"], {}, "initial parameters");
  }
  template <typename Step>
  void for_each(const Step& step) {
    std::int64_t row = 0;
    int index = 0;
    record_.for_each("steps", [&](Record& expected) {
      SCOPED_TRACE("step " + std::to_string(index));
      step(index++, row, expected);
      row += facts_.batch;
    });
  }
  /// What the step has left: gradients, parameters, buffers.
  void check_module(const Module& module, Record& expected) const {
    expect_tensors(gradients_of(module), expected["grads"], facts_.tolerance, "gradients");
    expect_tensors(module.named_parameters(), expected["params"], facts_.tolerance, "parameters");
    if (!expected.has("buffers")) {
      EXPECT_TRUE(module.named_buffers().empty());
      return;
    }
    expect_tensors(module.named_buffers(), expected["buffers"], facts_.tolerance, "buffers");
  }
  void check_loss(const Tensor& loss, Record& expected) const {
    expect_values(host_values(loss), expected["loss"], facts_.dtype, facts_.tolerance, "loss");
  }

 private:
  Record record_;
  const RunFacts& facts_;
};

void train_single(Record& run, const RunFacts& facts, const OracleData& data,
                  const OracleOptimizer& optimizer) {
  const auto world = world_of(1);
  Steps steps(run, "single_run", facts);
  world->drive([&] {
    const auto single = make_single(facts.model(world->device(0)), *world, 0, {loss_of, optimizer});
    steps.check_init(single->module());
    steps.for_each([&](int step, std::int64_t row, Record& expected) {
      const Batch batch = data.batch(world->device(0), facts.dtype, row, facts.batch);
      steps.check_loss(single->train_step(batch, step).loss, expected);
      steps.check_module(single->module(), expected);
    });
  });
}

void train_strategy(Record& run, const RunFacts& facts, const OracleData& data,
                    const OracleOptimizer& optimizer) {
  const auto world = world_of(facts.devices);
  Steps steps(run, "dp_run", facts);
  world->drive([&] {
    const auto dp = make_data_parallel(facts.model(world->device(0)), *world, {},
                                       {loss_of, optimizer, facts.loss_in});
    steps.check_init(dp->module());
    steps.for_each([&](int step, std::int64_t row, Record& expected) {
      const Batch batch = data.batch(world->device(0), facts.dtype, row, facts.batch);
      steps.check_loss(dp->train_step(batch, step).loss, expected);
      steps.check_module(dp->module(), expected);
      expected.leave({"chunk_sizes", "replica_grads", "buffers_by_replica", "gathered_losses"});
    });
  });
}

/// The training script around the wrapper. With `detached`, replicas have parameters of their own,
/// so that each keeps its gradients.
class Script {
 public:
  Script(World& world, std::shared_ptr<Module> module, LossPlace loss_in, bool detached)
      : wrapper_(std::move(module), world, {}), loss_in_(loss_in), detached_(detached) {}

  Module& module() { return wrapper_.module(); }

  /// Forward, loss and backward.
  Tensor run(const Batch& batch) {
    replicas.clear();
    chunk_sizes.clear();
    const Value output = wrapper_.forward(
        {{batch.inputs, batch.targets}, {}},
        [this](Module& replica, const Arguments& call) { return call_replica(replica, call); });
    gathered = output.get<Tensor>();
    const bool has_losses = loss_in_ == LossPlace::kForward;
    Tensor loss = has_losses ? scale(sum(gathered), 1.0 / static_cast<double>(gathered.numel()))
                             : loss_of(gathered, batch.targets);
    backward(loss);
    return loss;
  }

  std::vector<std::shared_ptr<Module>> replicas;
  std::vector<std::int64_t> chunk_sizes;
  Tensor gathered;

 private:
  Value call_replica(Module& replica, const Arguments& call) {
    if (detached_) {
      std::vector<Tensor> own;
      for (const NamedTensor& entry : replica.named_parameters()) {
        own.push_back(entry.tensor.detach());
        own.back().set_requires_grad(true);
      }
      std::vector<Tensor> buffers;
      for (const NamedTensor& entry : replica.named_buffers()) buffers.push_back(entry.tensor);
      replica.replace_tensors(own, buffers);
    }
    replicas.push_back(replica.shallow_copy());
    const Tensor& inputs = call.positional.at(0).get<Tensor>();
    chunk_sizes.push_back(inputs.shape()[0]);
    const Tensor output = replica.forward(inputs);
    if (loss_in_ == LossPlace::kOutput) return output;
    return reshape(loss_of(output, call.positional.at(1).get<Tensor>()), Shape{});
  }

  DataParallel wrapper_;
  LossPlace loss_in_;
  bool detached_;
};

void check_replicas(Script& script, Record& expected, const RunFacts& facts) {
  EXPECT_EQ(script.chunk_sizes, expected.get<std::vector<std::int64_t>>("chunk_sizes"));
  if (facts.loss_in == LossPlace::kForward) {
    expect_values(host_values(script.gathered), expected["gathered_losses"], facts.dtype,
                  facts.tolerance, "gathered losses");
  }
  if (script.module().named_buffers().empty()) return;
  const Json& buffers = expected.list("buffers_by_replica", script.replicas.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    expect_tensors(script.replicas[i]->named_buffers(), buffers[i], facts.tolerance,
                   "buffers of replica " + std::to_string(i));
  }
}

/// Of a step that starts from the initial parameters.
void check_replica_gradients(const Json& expected, const RunFacts& facts, const Batch& batch,
                             World& world) {
  Script script(world, facts.model(world.device(0)), facts.loss_in, true);
  script.run(batch);
  list_of(script.replicas.size(), expected, "replica_grads");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expect_tensors(gradients_of(*script.replicas[i]), expected[i], facts.tolerance,
                   "gradients of replica " + std::to_string(i));
  }
}

void train_script(Record& run, const RunFacts& facts, const OracleData& data,
                  const OracleOptimizer& make_optimizer) {
  const auto world = world_of(facts.devices);
  Steps steps(run, "dp_run", facts);
  world->drive([&] {
    Script script(*world, facts.model(world->device(0)), facts.loss_in, false);
    const auto optimizer = make_optimizer(script.module().named_parameters());
    steps.check_init(script.module());
    steps.for_each([&](int step, std::int64_t row, Record& expected) {
      const Batch batch = data.batch(world->device(0), facts.dtype, row, facts.batch);
      optimizer->zero_grad();
      steps.check_loss(script.run(batch), expected);
      check_replicas(script, expected, facts);
      optimizer->step();
      steps.check_module(script.module(), expected);
      const Json& gradients = expected["replica_grads"];
      EXPECT_EQ(gradients.is_null(), step != 0) << "they are of the first step";
      if (!gradients.is_null()) check_replica_gradients(gradients, facts, batch, *world);
    });
  });
}

// ---------------------------------------------------------------- scatter

/// {"batch": n} is arange(n); the rest is what it is in Python.
Value value_of(const Json& json, Device& device) {
  if (json.is_object()) {
    Record tensor(json, "argument");
    std::vector<double> rows(tensor.get<std::size_t>("batch"));
    std::iota(rows.begin(), rows.end(), 0);
    return Tensor::from_host(device, Shape{static_cast<std::int64_t>(rows.size())}, DType::kInt64,
                             rows, MemoryKind::kInputs, "arange");
  }
  if (json.is_array()) {
    ListValue list;
    for (const Json& item : json) list.items.push_back(value_of(item, device));
    return list;
  }
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_null()) return {};
  return json.get<std::string>();
}

Json json_of(const Value& value) {
  if (value.is<Tensor>()) {
    std::vector<std::int64_t> rows;
    for (const double row : host_values(value.get<Tensor>())) {
      rows.push_back(static_cast<std::int64_t>(row));
    }
    return {{"rows", rows}};
  }
  if (value.is<ListValue>()) {
    Json list = Json::array();
    for (const Value& item : value.get<ListValue>().items) list.push_back(json_of(item));
    return list;
  }
  if (value.is<bool>()) return value.get<bool>();
  if (value.is<std::int64_t>()) return value.get<std::int64_t>();
  if (value.is<double>()) return value.get<double>();
  if (value.is<std::string>()) return value.get<std::string>();
  return nullptr;
}

void check_scatter(Record& example) {
  const auto world = world_of(example.get<int>("devices"));
  Json positional = Json::array();
  Json keywords = Json::array();
  world->drive([&] {
    Arguments arguments;
    for (const Json& json : example["args"]) {
      arguments.positional.push_back(value_of(json, world->device(0)));
    }
    for (const auto& [name, json] : example["kwargs"].items()) {
      arguments.keywords.emplace_back(name, value_of(json, world->device(0)));
    }
    DataParallel wrapper(make_tanh(), *world, {});
    wrapper.forward(arguments, [&](Module&, const Arguments& call) {
      Json own = Json::array();
      for (const Value& value : call.positional) own.push_back(json_of(value));
      positional.push_back(std::move(own));
      Json named = Json::object();
      for (const auto& [name, value] : call.keywords) named[name] = json_of(value);
      keywords.push_back(std::move(named));
      return Value();
    });
  });
  EXPECT_EQ(positional.size(), example.get<std::size_t>("replicas")) << example.place();
  EXPECT_EQ(positional, example["call_args"]) << example.place();
  EXPECT_EQ(keywords, example["call_kwargs"]) << example.place();
}

TEST(DataParallel, TrainsAsPyTorchDoes) {
  with_oracle("dp_reference.json", [](Record& file) {
    file.leave({"scatter"});
    file.for_each("runs", [](Record& run) {
      SCOPED_TRACE(run.get<std::string>("name"));
      const RunFacts facts(run);
      Record data_spec(run["data"], run.place() + " data");
      const OracleData data(data_spec, OracleData::Recorded::kAll);
      Record optimizer_spec(run["optimizer"], run.place() + " optimizer");
      const OracleOptimizer optimizer(optimizer_spec);
      train_single(run, facts, data, optimizer);
      train_strategy(run, facts, data, optimizer);
      train_script(run, facts, data, optimizer);
    });
  });
}

TEST(DataParallel, ScattersArgumentsAsPyTorchDoes) {
  with_oracle("dp_reference.json", [](Record& file) {
    file.leave({"runs"});
    file.for_each("scatter", check_scatter);
  });
}

}  // namespace
}  // namespace ringside::test
