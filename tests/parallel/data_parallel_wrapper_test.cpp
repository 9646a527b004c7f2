// The wrapper DataParallel: its constructor's warnings and moves, the check at every forward,
// containers of arguments and of outputs, what lives and dies with a replica.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "nn/layer_base.h"
#include "ringside/data_parallel.h"
#include "ringside/error.h"
#include "support/error_text.h"
#include "toy.h"

namespace ringside::test {
namespace {

Tensor rows_of(Device& device, std::int64_t rows, std::int64_t columns = 1) {
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  std::iota(values.begin(), values.end(), 0.0);
  return Tensor::from_host(device, Shape{rows, columns}, DType::kFloat64, values,
                           MemoryKind::kInputs, "x");
}

std::vector<double> numbers(const Value& value) { return host_values(value.get<Tensor>()); }

/// The kind and the message of the Error that `body` throws in a driven world.
struct Refusal {
  ErrorKind kind = ErrorKind::kIo;
  std::string message = "no error";
};
Refusal refusal_of(World& world, const std::function<void()>& body) {
  Refusal refusal;
  try {
    world.drive(body);
  } catch (const Error& error) {
    refusal = {error.kind(), error.what()};
  }
  return refusal;
}

// ---------------------------------------------------------------- constructor

std::vector<std::string> warnings_for(const std::vector<std::size_t>& memory,
                                      std::vector<int> device_ids = {}) {
  WorldOptions world_options;
  world_options.size = static_cast<int>(memory.size());
  world_options.memory_capacities = memory;
  const auto world = open_world("sim", world_options);
  std::vector<std::string> warnings;
  world->drive([&] {
    DataParallelOptions options;
    options.device_ids = std::move(device_ids);
    options.warn = [&](const std::string& text) { warnings.push_back(text); };
    const DataParallel wrapper(make_tanh(), *world, options);
  });
  return warnings;
}

TEST(DataParallelWrapper, WarnsOfADeviceWithLessThanThreeQuarters) {
  const std::vector<std::string> warnings = warnings_for({12'000'000, 1'000'000});
  ASSERT_EQ(warnings.size(), 1U);
  for (const std::string words : {"There is an imbalance between your GPUs", "exclude GPU 1",
                                  "less than 75% of the memory or cores of GPU 0", "device_ids",
                                  "CUDA_VISIBLE_DEVICES", "1.000 MB", "12.0 MB"}) {
    EXPECT_NE(warnings.front().find(words), std::string::npos) << words << warnings.front();
  }
  EXPECT_NE(warnings_for({9'000'000, 1'000'000, 9'000'000}).at(0).find("of GPU 0."),
            std::string::npos);
  EXPECT_EQ(warnings_for({1'000'000, 0}).size(), 1U) << "0 is no limit";
  EXPECT_TRUE(warnings_for({24'000'000, 20'000'000}).empty());
  EXPECT_TRUE(warnings_for({1'000'000, 750'000}).empty()) << "strictly less";
  EXPECT_TRUE(warnings_for({0, 0}).empty());
  EXPECT_TRUE(warnings_for({12'000'000, 1'000'000, 12'000'000}, {0, 2}).empty());
}

TEST(DataParallelWrapper, MovesTheModuleToItsOnlyDeviceAndLeavesItAloneWithSeveral) {
  const auto world = sim_world(2);
  world->drive([&] {
    DataParallelOptions options;
    options.device_ids = {1};
    options.output_device = 0;
    DataParallel one(toy_model(world->device(0), 3), *world, options);
    const Tensor weight = one.module().named_parameters().front().tensor;
    EXPECT_EQ(&weight.device(), &world->device(1));
    EXPECT_TRUE(weight.requires_grad());
    const Value output = one.forward({{rows_of(world->device(0), 3)}, {}});
    EXPECT_EQ(numbers(output), (std::vector<double>{0, 3, 6}));
    EXPECT_EQ(&output.get<Tensor>().device(), &world->device(1)) << "one device gathers nothing";

    options.device_ids = {1, 0};
    const DataParallel several(toy_model(world->device(0)), *world, options);
    EXPECT_EQ(&several.module().named_parameters().front().tensor.device(), &world->device(0));
  });
}

TEST(DataParallelWrapper, ChecksAtEveryForwardThatTheModuleIsHome) {
  const auto world = sim_world(2);
  const Refusal refusal = refusal_of(*world, [&] {
    DataParallel wrapper(toy_model(world->device(0)), *world, {});
    const Arguments arguments{{rows_of(world->device(0), 4)}, {}};
    wrapper.forward(arguments);
    wrapper.module().replace_tensor(
        "weight",
        Tensor::full(world->device(1), Shape{1, 1}, DType::kFloat64, 1, MemoryKind::kParameters));
    wrapper.forward(arguments);
  });
  EXPECT_EQ(refusal.kind, ErrorKind::kTrainingFailed);
  EXPECT_EQ(refusal.message,
            "module must have its parameters and buffers on device 0 (device_ids[0]) but found one "
            "of them on device 1: weight");
}

// ---------------------------------------------------------------- arguments

TEST(DataParallelWrapper, TakesNestedContainersApart) {
  const auto world = sim_world(4);
  world->drive([&] {
    DataParallel wrapper(make_tanh(), *world, {});
    const Tensor five = rows_of(world->device(0), 5);
    const Tensor eight = rows_of(world->device(0), 8);
    const auto object = std::make_shared<int>(7);
    const std::vector<Arguments> calls = wrapper.scatter(
        {{TupleValue{{five, "label"}}, DictValue{{{"a", ListValue{{eight, {}}}}, {"n", 3}}}},
         {{"named", NamedTupleValue{"Pair", {{"x", eight}, {"o", ObjectValue{object}}}}},
          {"empty", ListValue{}}}});
    // 3 of the tuple with 5 rows, 4 of the keywords: the last one has no positional arguments.
    ASSERT_EQ(calls.size(), 4U);
    EXPECT_TRUE(calls[3].positional.empty());
    ASSERT_EQ(calls[2].positional.size(), 2U);
    const auto& tuple = calls[2].positional[0].get<TupleValue>().items;
    EXPECT_EQ(numbers(tuple[0]), (std::vector<double>{4}));
    EXPECT_EQ(tuple[1].get<std::string>(), "label");
    const auto& dict = calls[2].positional[1].get<DictValue>().entries;
    EXPECT_EQ(dict[0].first, "a");
    const auto& list = dict[0].second.get<ListValue>().items;
    EXPECT_EQ(numbers(list[0]), (std::vector<double>{4, 5}));
    EXPECT_TRUE(list[1].is_none());
    EXPECT_EQ(dict[1].second.get<std::int64_t>(), 3);
    for (int i = 0; i < 4; ++i) {
      const auto& keywords = calls[static_cast<std::size_t>(i)].keywords;
      ASSERT_EQ(keywords.size(), 2U);
      const auto& pair = keywords[0].second.get<NamedTupleValue>();
      EXPECT_EQ(pair.type, "Pair");
      EXPECT_EQ(numbers(pair.fields[0].second), (std::vector<double>{2.0 * i, 2.0 * i + 1}));
      EXPECT_EQ(&pair.fields[0].second.get<Tensor>().device(), &world->device(i));
      EXPECT_EQ(pair.fields[1].second.get<ObjectValue>().object, object) << "the same object";
      EXPECT_TRUE(keywords[1].second.is<ListValue>());
    }
  });
}

TEST(DataParallelWrapper, TensorsMayLieAnywhere) {
  const auto world = sim_world(4);
  world->drive([&] {
    DataParallelOptions options;
    options.device_ids = {0, 1};
    DataParallel wrapper(make_tanh(), *world, options);
    for (const int device : {0, 1, 3}) {
      const std::vector<Arguments> calls =
          wrapper.scatter({{rows_of(world->device(device), 3)}, {}});
      ASSERT_EQ(calls.size(), 2U);
      EXPECT_EQ(numbers(calls[0].positional[0]), (std::vector<double>{0, 1})) << device;
      EXPECT_EQ(numbers(calls[1].positional[0]), (std::vector<double>{2})) << device;
    }
  });
}

TEST(DataParallelWrapper, AKeywordCallsTheIdleReplicaWithoutItsInput) {
  const auto world = sim_world(4);
  const Refusal refusal = refusal_of(*world, [&] {
    DataParallel wrapper(toy_model(world->device(0)), *world, {});
    std::vector<int> ran;
    const auto call = [&](Module& module, const Arguments& arguments) {
      ran.push_back(static_cast<int>(ran.size()));
      return module.call({arguments.positional, {}});
    };
    const Tensor five = rows_of(world->device(0), 5);
    EXPECT_EQ(numbers(wrapper.forward({{five}, {}}, call)).size(), 5U);
    EXPECT_EQ(ran.size(), 3U) << "a device without rows gets no replica";
    wrapper.forward({{five}, {{"flag", true}}}, call);
  });
  EXPECT_EQ(refusal.message,
            "in replica 3 on device 3: forward() missing 1 required positional argument: 'input'");
}

TEST(DataParallelWrapper, TellsTheFirstErrorAfterAllReplicasHaveRun) {
  const auto world = sim_world(3);
  int ran = 0;
  const Refusal refusal = refusal_of(*world, [&] {
    DataParallel wrapper(make_tanh(), *world, {});
    wrapper.forward({{rows_of(world->device(0), 3)}, {}}, [&](Module&, const Arguments&) -> Value {
      const int replica = ran++;
      if (replica > 0) {
        throw Error(ErrorKind::kTrainingFailed, "of replica " + std::to_string(replica));
      }
      return {};
    });
  });
  EXPECT_EQ(refusal.message, "in replica 1 on device 1: of replica 1");
  EXPECT_EQ(ran, 3);
}

TEST(DataParallelWrapper, WaitsForAllReplicasWhateverOneThrows) {
  const auto world = sim_world(3);
  int ran = 0;
  const Refusal refusal = refusal_of(*world, [&] {
    DataParallel wrapper(make_tanh(), *world, {});
    wrapper.forward({{rows_of(world->device(0), 3)}, {}}, [&](Module&, const Arguments&) -> Value {
      if (ran++ == 0) throw std::out_of_range("no such row");
      return {};
    });
  });
  EXPECT_EQ(refusal.kind, ErrorKind::kTrainingFailed);
  EXPECT_EQ(refusal.message, "in replica 0 on device 0: no such row");
  EXPECT_EQ(ran, 3);
}

TEST(DataParallelWrapper, StepsRefuseWhatDoesNotFit) {
  const auto world = sim_world(2);
  const auto message = [&](const std::function<void(DataParallel&)>& step) {
    const Refusal refusal = refusal_of(*world, [&] {
      DataParallel wrapper(toy_model(world->device(0)), *world, {});
      step(wrapper);
    });
    EXPECT_EQ(refusal.kind, ErrorKind::kInvalidArgument);
    return refusal.message;
  };
  EXPECT_EQ(message([](DataParallel& dp) { dp.replicate(3); }),
            "replicate: 3 copies for 2 device ids: must be from 1 to 2");
  EXPECT_EQ(message([](DataParallel& dp) { dp.replicate(0); }),
            "replicate: 0 copies for 2 device ids: must be from 1 to 2");
  EXPECT_EQ(message([](DataParallel& dp) { dp.parallel_apply(dp.replicate(2), {{}}); }),
            "parallel_apply: 2 replicas for 1 calls: each needs one");
  EXPECT_EQ(message([](DataParallel& dp) {
              auto replicas = dp.replicate(2);
              replicas.push_back(replicas.front());
              dp.parallel_apply(replicas, {{}, {}, {}});
            }),
            "parallel_apply: 3 replicas for 2 device ids: at most one for each");
  EXPECT_EQ(message([](DataParallel& dp) { dp.gather({}); }),
            "gather: there are no outputs, must be at least one");
}

TEST(DataParallelWrapper, AValueOfAnotherTypeIsNamed) {
  const auto message = [](const std::function<void()>& get) {
    return error_text(ErrorKind::kInvalidArgument, get);
  };
  const Value tuple = TupleValue{{1, 2}};
  EXPECT_EQ(message([&] { tuple.get<Tensor>(); }), "a value is of type tuple, must be Tensor");
  EXPECT_EQ(message([&] { Value().get<DictValue>(); }),
            "a value is of type NoneType, must be dict");
  EXPECT_EQ(message([&] { tuple.get<NamedTupleValue>(); }),
            "a value is of type tuple, must be namedtuple");
  EXPECT_EQ(tuple.get<TupleValue>().items.size(), 2U);
}

TEST(DataParallelWrapper, CallsRefuseWhatAModuleDoesNotTake) {
  const auto world = sim_world(1);
  const auto message = [&](const Arguments& arguments) {
    return refusal_of(*world, [&] { make_tanh()->call(arguments); }).message;
  };
  const Tensor x = rows_of(world->device(0), 2);
  EXPECT_EQ(message({{x, x}, {}}), "forward() takes 1 positional argument but 2 were given");
  EXPECT_EQ(message({{x}, {{"flag", true}}}),
            "forward() got an unexpected keyword argument 'flag'");
  EXPECT_EQ(message({{x}, {{"input", x}}}), "forward() got multiple values for argument 'input'");
  EXPECT_EQ(message({{"text"}, {}}), "forward() input must be a Tensor, not str");
  EXPECT_EQ(message({{}, {{"input", x}}}), "no error");
}

// ---------------------------------------------------------------- outputs

/// Gathers what `make(device)` gives on each device of a world of two.
Value gathered(World& world, const std::function<Value(Device&)>& make,
               std::vector<std::string>* warnings = nullptr) {
  DataParallelOptions options;
  options.output_device = 1;
  options.warn = [&](const std::string& text) {
    if (warnings != nullptr) warnings->push_back(text);
  };
  DataParallel wrapper(make_tanh(), world, options);
  std::vector<Value> outputs;
  for (int device = 0; device < world.size(); ++device)
    outputs.push_back(make(world.device(device)));
  return wrapper.gather(outputs);
}

TEST(DataParallelWrapper, JoinsContainersItemByItem) {
  const auto world = sim_world(2);
  world->drive([&] {
    const Value value = gathered(*world, [](Device& device) -> Value {
      const Tensor x = rows_of(device, 2);
      return DictValue{{{"none", {}},
                        {"list", ListValue{{x, TupleValue{{x, {}}}}}},
                        {"named", NamedTupleValue{"Output", {{"logits", x}}}}}};
    });
    const auto& entries = value.get<DictValue>().entries;
    EXPECT_TRUE(entries[0].second.is_none());
    const auto& list = entries[1].second.get<ListValue>().items;
    const std::vector<double> joined{0, 1, 0, 1};
    EXPECT_EQ(numbers(list[0]), joined);
    EXPECT_EQ(&list[0].get<Tensor>().device(), &world->device(1));
    EXPECT_EQ(numbers(list[1].get<TupleValue>().items[0]), joined);
    EXPECT_TRUE(list[1].get<TupleValue>().items[1].is_none());
    const auto& named = entries[2].second.get<NamedTupleValue>();
    EXPECT_EQ(named.type, "Output");
    EXPECT_EQ(named.fields[0].first, "logits");
    EXPECT_EQ(numbers(named.fields[0].second), joined);
  });
}

TEST(DataParallelWrapper, ScalarsBecomeAVectorWithPyTorchsWarningOnce) {
  const auto world = sim_world(3);
  world->drive([&] {
    std::vector<std::string> warnings;
    DataParallelOptions options;
    options.warn = [&](const std::string& text) { warnings.push_back(text); };
    DataParallel wrapper(make_tanh(), *world, options);
    for (int again = 0; again < 2; ++again) {
      const Value losses = wrapper.forward(
          {{rows_of(world->device(0), 5)}, {}}, [](Module&, const Arguments& call) -> Value {
            return reshape(sum(call.positional[0].get<Tensor>()), Shape{});
          });
      EXPECT_EQ(losses.get<Tensor>().shape(), Shape{3});
      EXPECT_EQ(numbers(losses), (std::vector<double>{1, 5, 4}));
    }
    EXPECT_EQ(warnings,
              (std::vector<std::string>{
                  "Was asked to gather along dimension 0, but all input tensors were scalars; will "
                  "instead unsqueeze and return a vector."}));
  });
}

TEST(DataParallelWrapper, RefusesOutputsThatCannotBeJoined) {
  const auto world = sim_world(2);
  const auto message = [&](const std::function<Value(Device&)>& make) {
    const Refusal refusal = refusal_of(*world, [&] { gathered(*world, make); });
    EXPECT_EQ(refusal.kind, ErrorKind::kTrainingFailed);
    return refusal.message;
  };
  EXPECT_EQ(message([](Device& device) -> Value {
              const Shape shape{2, device.rank() == 0 ? 2 : 1, 20, 8};
              return Tensor::full(device, shape, DType::kFloat64, 0, MemoryKind::kOutputs);
            }),
            "gather: Input tensor at index 1 has invalid shape [2, 1, 20, 8], but expected [2, 2, "
            "20, 8]: dimension 1 differs: 1 on device 1, 2 on device 0");
  EXPECT_EQ(message([](Device&) -> Value { return 0.5; }),
            "gather: 'float' object is not iterable");
  EXPECT_EQ(
      message([](Device& device) -> Value {
        DictValue dict{{{"a", rows_of(device, 1)}}};
        if (device.rank() == 1) dict.entries.emplace_back("b", Value());
        return dict;
      }),
      "gather: All dicts must have the same number of keys: replica 1 returned 2, replica 0 1");
  EXPECT_EQ(message([](Device& device) -> Value {
              return DictValue{{{device.rank() == 0 ? "a" : "b", rows_of(device, 1)}}};
            }),
            "gather: KeyError: replica 1 returned no 'a'");
  EXPECT_EQ(message([](Device& device) -> Value {
              if (device.rank() == 0) return rows_of(device, 1);
              return TupleValue{};
            }),
            "gather: replica 1 returned a tuple, replica 0 a Tensor");
}

// ---------------------------------------------------------------- replicas

/// Counts its forwards in a plain member, and in a buffer that it changes in place.
class Counter final : public LayerBase<Counter> {
 public:
  explicit Counter(Device& device) {
    register_buffer("seen",
                    Tensor::full(device, Shape{1}, DType::kFloat64, 0, MemoryKind::kParameters));
  }
  Tensor forward(const Tensor& input) override {
    ++calls;
    Tensor seen = buffer(0);
    add_in_place(seen, Tensor::full(input.device(), Shape{1}, DType::kFloat64,
                                    1.0 + input.device().rank(), MemoryKind::kWorkspace));
    return tanh(input);
  }
  std::string describe() const override { return "Counter()"; }

  int calls = 0;
};

TEST(DataParallelWrapper, OnlyTheFirstReplicasBuffersOutliveAForward) {
  const auto world = sim_world(2);
  world->drive([&] {
    const auto counter = std::make_shared<Counter>(world->device(0));
    DataParallel wrapper(counter, *world, {});
    for (int step = 0; step < 10; ++step) wrapper.forward({{rows_of(world->device(0), 4)}, {}});
    EXPECT_EQ(counter->calls, 0);
    EXPECT_EQ(host_value(counter->named_buffers().front().tensor, 0), 10);
    counter->forward(rows_of(world->device(0), 4));
    EXPECT_EQ(counter->calls, 1);
  });
}

}  // namespace
}  // namespace ringside::test
