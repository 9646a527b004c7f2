// ringside calc: buckets, memory and traffic.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "calculators/bucket_plan.h"
#include "calculators/costs.h"
#include "cli/calc_inputs.h"
#include "cli/calc_report.h"
#include "core/counted.h"
#include "core/format_bytes.h"
#include "ringside/error.h"
#include "scenario/values.h"

namespace ringside::cli {
namespace {

constexpr std::int64_t kMostDevices = 16384;

/// Bytes of a number of MiB, which may have a fraction.
std::size_t mebibytes(const Arguments& arguments, std::string_view option,
                      std::string_view fallback) {
  const std::string name = fmt::format("--{}", option);
  const double value = parse_number(name, arguments.value(option, fallback));
  constexpr double kMost = 1 << 20;  // a TiB
  if (value >= 0 && value <= kMost) return static_cast<std::size_t>(std::floor(value * (1 << 20)));
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} {:g}: must be from 0 to {:.0f}", name, value, kMost));
}

std::vector<std::int64_t> numbers_of(const std::vector<std::size_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

void add_buckets(CalcReport& report, const std::string& when,
                 const std::vector<PlannedBucket>& buckets,
                 const std::vector<ModelTensor>& parameters) {
  std::int64_t number = 0;
  for (const PlannedBucket& bucket : buckets) {
    report.rows.push_back(
        {when, number++, static_cast<std::int64_t>(bucket.parameters.size()),
         static_cast<std::int64_t>(bucket.bytes), parameters[bucket.parameters.front()].named.name,
         parameters[bucket.parameters.back()].named.name, numbers_of(bucket.parameters)});
  }
}

std::vector<std::int64_t> bytes_of(const std::vector<PlannedBucket>& buckets) {
  std::vector<std::int64_t> bytes;
  for (const PlannedBucket& bucket : buckets) {
    bytes.push_back(static_cast<std::int64_t>(bucket.bytes));
  }
  return bytes;
}

std::string_view order_note(ParameterOrder order) {
  switch (order) {
    case ParameterOrder::kRegistration:
      break;
    case ParameterOrder::kFile:
      return "The file does not tell the order of registration, on which buckets depend. Taken "
             "for it: the order of the file's bytes, which its writer chose.";
    case ParameterOrder::kNames:
      return "The file is sorted by name, as the safetensors library writes: the order of "
             "registration, on which buckets depend, is lost. Taken for it: by layers, numbers by "
             "value, a weight before its bias; so a Sequential is, others may not be.";
  }
  return {};
}

CalcReport buckets(const Arguments& arguments) {
  const std::string model = calc_required(arguments, "model");
  const ModelParameters read = read_parameters(model);
  const std::vector<ModelTensor>& parameters = read.tensors;
  BucketPlanRequest request;
  request.cap_bytes = mebibytes(arguments, "bucket-cap-mb", "25");
  request.first_bytes = mebibytes(arguments, "first-bucket-mb", "1");
  request.find_unused_parameters = arguments.flag("find-unused-parameters");
  const BucketPlan plan = plan_buckets(parameters, request);
  CalcReport report;
  report.title =
      fmt::format("{}: {} in {}; buckets of at least {} bytes, the first of {}", model,
                  counted(elements_of(parameters), "parameter"),
                  counted(parameters.size(), "tensor"), request.cap_bytes, request.first_bytes);
  report.columns = {{"iteration", "iteration"}, {"bucket", "bucket"}, {"tensors", "tensors"},
                    {"bytes", "bytes"},         {"first", "from"},    {"last", "to"},
                    {"parameters", ""}};
  add_buckets(report, request.find_unused_parameters ? "all" : "first", plan.first_iteration,
              parameters);
  if (!request.find_unused_parameters) add_buckets(report, "later", plan.later, parameters);
  report.results = {
      {"total_parameters", static_cast<std::int64_t>(elements_of(parameters)), "parameters"},
      {"first_iteration_bytes", bytes_of(plan.first_iteration), "bytes in the first iteration"},
      {"bucket_bytes", bytes_of(plan.later), "bytes from the second iteration on"},
      {"order", std::string(to_string(read.order)), "order of the parameters"}};
  report.notes = read.left_out;
  if (const std::string_view note = order_note(read.order); !note.empty()) {
    report.notes.emplace_back(note);
  }
  report.notes.emplace_back(
      "A bucket closes once it holds at least its limit, so it may exceed it by a tensor; no "
      "tensor "
      "is split.");
  report.notes.emplace_back(
      request.find_unused_parameters
          ? "With find_unused_parameters buckets follow the order of registration, the list is "
            "reversed, and nothing is rebuilt."
          : "Later buckets follow the order in which gradients got ready; taken here: the reverse "
            "of "
            "registration. A real order may differ inside a layer.");
  return report;
}

/// How many, and the bytes of all where --model tells them.
struct ParameterCount {
  std::size_t elements = 0;
  std::optional<std::size_t> bytes;
  std::vector<std::string> left_out;
};

/// --params, or those of --model.
ParameterCount parameters_of(const Arguments& arguments) {
  if (!arguments.has("model")) {
    const std::int64_t elements =
        calc_integer(arguments, "params", 1, static_cast<std::int64_t>(kMostParameters));
    return {static_cast<std::size_t>(elements), std::nullopt, {}};
  }
  if (arguments.has("params")) {
    throw Error(ErrorKind::kInvalidArgument, "--params and --model: only one may be given",
                "leave one of them out");
  }
  ModelParameters read = read_parameters(arguments.value("model"));
  return {elements_of(read.tensors), bytes_of(read.tensors), std::move(read.left_out)};
}

CalcReport memory(const Arguments& arguments) {
  const ParameterCount count = parameters_of(arguments);
  const std::size_t parameters = count.elements;
  const auto gpus = static_cast<std::size_t>(calc_integer(arguments, "gpus", 1, kMostDevices));
  const std::string optimizer = arguments.value("optimizer", "adam");
  const std::string precision = arguments.value("precision", "mixed");
  const BytesPerParameter bytes = bytes_per_parameter(optimizer, parse_precision(precision));
  CalcReport report;
  report.title = fmt::format("{} parameters, {}, {} precision, {}: bytes on one device", parameters,
                             optimizer, precision, counted(gpus, "GPU"));
  report.columns = {{"strategy", "strategy"},
                    {"weights", "weights", true},
                    {"gradients", "gradients", true},
                    {"optimizer", "optimizer", true},
                    {"total", "total", true}};
  for (const MemoryShare& share : memory_shares(parameters, bytes, gpus)) {
    report.rows.push_back({share.strategy, static_cast<std::int64_t>(share.weights),
                           static_cast<std::int64_t>(share.gradients),
                           static_cast<std::int64_t>(share.optimizer),
                           static_cast<std::int64_t>(share.total())});
  }
  report.results = {{"bytes_per_parameter",
                     static_cast<std::int64_t>(bytes.weight + bytes.gradient + bytes.optimizer),
                     "bytes per parameter, nothing cut"},
                    {"ddp_buckets", static_cast<std::int64_t>(parameters * bytes.gradient),
                     "DDP's buckets on top, unless gradient_as_bucket_view", true}};
  report.notes = count.left_out;
  report.notes.push_back(fmt::format(
      "Per parameter: weight {}, gradient {}, optimizer {}{}.", bytes.weight, bytes.gradient,
      bytes.optimizer, precision == "mixed" ? " (4 of them the float32 weight)" : ""));
  report.notes.emplace_back(
      "ZeRO-1 cuts the optimizer's part, ZeRO-2 gradients too, ZeRO-3 everything. Activations are "
      "not in it.");
  return report;
}

/// Of --bytes-per-param, else of the model's dtypes, else of float32.
std::size_t parameter_bytes(const Arguments& arguments, const ParameterCount& count) {
  if (count.bytes && !arguments.has("bytes-per-param")) return *count.bytes;
  return count.elements *
         static_cast<std::size_t>(calc_integer(arguments, "bytes-per-param", 1, 8, "4"));
}

CalcReport traffic(const Arguments& arguments) {
  const ParameterCount count = parameters_of(arguments);
  const auto gpus = static_cast<std::size_t>(calc_integer(arguments, "gpus", 1, kMostDevices));
  const auto servers =
      static_cast<std::size_t>(calc_integer(arguments, "servers", 1, kMostDevices, "1"));
  constexpr std::int64_t kMostBytes = 1'000'000'000'000'000;
  const auto bytes_option = [&](std::string_view option) {
    return static_cast<std::size_t>(calc_integer(arguments, option, 0, kMostBytes, "0"));
  };
  const std::size_t bytes = parameter_bytes(arguments, count);
  const DataParallelTraffic dp =
      data_parallel_traffic(bytes, bytes_option("input-bytes"), bytes_option("output-bytes"), gpus);
  CalcReport report;
  report.title = fmt::format("{} parameters, S = {}, N = {}, M = {}: a step at the busiest device",
                             count.elements, format_bytes(bytes), gpus, servers);
  report.columns = {{"strategy", "strategy"},
                    {"device", "busiest"},
                    {"bytes_in", "in", true},
                    {"bytes_out", "out", true},
                    {"formula", "formula"}};
  for (const BusiestDevice& row : busiest_devices(bytes, dp, gpus, servers)) {
    report.rows.push_back({row.strategy, row.device, static_cast<std::int64_t>(row.in),
                           static_cast<std::int64_t>(row.out), row.formula});
  }
  const auto part = [](std::string_view key, std::size_t value, std::string_view words) {
    return CalcResult{key, static_cast<std::int64_t>(value), words, true};
  };
  report.results = {part("parameter_bytes", bytes, "S"),
                    part("dp_scatter", dp.scatter, "DP scatters inputs"),
                    part("dp_replicate", dp.replicate, "DP replicates parameters"),
                    part("dp_gather", dp.gather, "DP gathers outputs"),
                    part("dp_scatter_gradient", dp.scatter_gradient, "DP scatters their gradient"),
                    part("dp_reduce", dp.reduce, "DP reduces gradients"),
                    part("dp_total", dp.in() + dp.out(), "DP in all")};
  report.notes = count.left_out;
  report.notes.emplace_back(
      "S: bytes of the parameters. PS: N workers and M servers, which share the parameters "
      "equally, "
      "S/M each. DDP and ZeRO-1, 2: reduce-scatter and all-gather, (N-1)/N S "
      "each; ZeRO-3 gathers parameters a second time in backward.");
  return report;
}

}  // namespace

std::vector<Calculator> cost_calculators() {
  return {
      {"buckets", "model bucket-cap-mb first-bucket-mb find-unused-parameters", buckets},
      {"memory", "params model optimizer precision gpus", memory},
      {"traffic", "params model gpus servers bytes-per-param input-bytes output-bytes", traffic}};
}

}  // namespace ringside::cli
