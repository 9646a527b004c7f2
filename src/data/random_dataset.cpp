// A data set from a seed alone: every class has a prototype, every sample is its class's prototype
// with noise, so that there is something to learn.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/whole_number.h"
#include "data/datasets.h"
#include "ringside/error.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

constexpr double kNoise = 0.25;  // half the width of the noise; prototypes lie in [0, 1]
constexpr std::int64_t kTestPart = 6;

struct RandomSpec {
  std::int64_t size = 0;
  Shape sample_shape;
  std::int64_t classes = 0;
};

[[noreturn]] void fail(std::string_view parameters, const std::string& fault) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("data 'random:{}': {}", parameters, fault),
              "the form is random:N:SHAPE:CLASSES, as in random:6000:1x28x28:10");
}

/// Takes the text up to `separator` (or to the end) off `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return part;
}

std::int64_t parse_size(std::string_view parameters, std::string_view text, const char* what,
                        std::int64_t least) {
  const auto value = whole_number<std::int64_t>(text);
  if (!value || *value < least || *value > kMaxDatasetValues) {
    fail(parameters, fmt::format("{} '{}' must be a whole number from {} to {}", what, text, least,
                                 kMaxDatasetValues));
  }
  return *value;
}

Shape parse_shape(std::string_view parameters, std::string_view text) {
  std::vector<std::int64_t> sizes;
  std::int64_t values = 1;
  for (std::string_view rest = text; !rest.empty() || sizes.empty();) {
    sizes.push_back(parse_size(parameters, take(rest, 'x'), "size", 1));
    if (sizes.back() > kMaxDatasetValues / values) {
      fail(parameters, fmt::format("a sample of shape '{}' is too large: at most {} values", text,
                                   kMaxDatasetValues));
    }
    values *= sizes.back();
  }
  if (text.ends_with('x')) fail(parameters, fmt::format("shape '{}' ends with an x", text));
  if (sizes.size() >= Shape::kMaxRank) {  // one dimension is the batch's
    fail(parameters, fmt::format("shape '{}' has {} dimensions: at most {}", text, sizes.size(),
                                 Shape::kMaxRank - 1));
  }
  return Shape(std::span<const std::int64_t>(sizes));
}

RandomSpec parse_spec(std::string_view parameters) {
  if (std::count(parameters.begin(), parameters.end(), ':') != 2) {
    fail(parameters, "must have three parts");
  }
  std::string_view rest = parameters;
  RandomSpec spec;
  spec.size = parse_size(parameters, take(rest, ':'), "N", 2);
  spec.sample_shape = parse_shape(parameters, take(rest, ':'));
  spec.classes = parse_size(parameters, take(rest, ':'), "CLASSES", 2);
  const std::int64_t values = spec.sample_shape.numel();
  if (spec.size > kMaxDatasetValues / values || spec.classes > kMaxDatasetValues / values) {
    fail(parameters, fmt::format("{} samples and {} prototypes of {} values are too many: at most "
                                 "{} values of each",
                                 spec.size, spec.classes, values, kMaxDatasetValues));
  }
  return spec;
}

}  // namespace

TrainTest make_random_dataset(std::string_view parameters, std::uint64_t seed) {
  const RandomSpec spec = parse_spec(parameters);
  const auto values = static_cast<std::size_t>(spec.sample_shape.numel());
  Generator generator(seed);
  std::vector<double> prototypes(values * static_cast<std::size_t>(spec.classes));
  for (double& value : prototypes) value = generator.uniform(0, 1, DType::kFloat32);

  TrainTest data;
  data.train = data.test = Dataset{"random", spec.sample_shape, spec.classes, {}, {}};
  const std::int64_t test_size = std::max<std::int64_t>(1, spec.size / kTestPart);
  for (std::int64_t i = 0; i < spec.size; ++i) {
    Dataset& part = i < spec.size - test_size ? data.train : data.test;
    const std::int64_t target = i % spec.classes;
    const double* prototype = &prototypes[values * static_cast<std::size_t>(target)];
    for (std::size_t j = 0; j < values; ++j) {
      const double noisy = prototype[j] + generator.uniform(-kNoise, kNoise, DType::kFloat32);
      part.samples.push_back(static_cast<float>(std::clamp(noisy, 0.0, 1.0)));
    }
    part.targets.push_back(target);
  }
  return data;
}

}  // namespace ringside
