// The generator and the layers' first values against PyTorch's, bit for bit (init.json): of kernels
// with AVX2, and of those without ("plain").

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include "core/whole_number.h"
#include "ringside/nn.h"
#include "support/inline_device.h"
#include "support/oracle_training.h"

namespace ringside::test {
namespace {

using Values = std::vector<double>;

constexpr std::uint32_t kLow24 = 0xffffff;

Values as_doubles(const std::vector<std::int64_t>& integers) {
  return {integers.begin(), integers.end()};
}

Values uniforms(Generator& generator, std::size_t n, double from, double to, DType dtype) {
  Values values(n);
  for (double& value : values) value = generator.uniform(from, to, dtype);
  return values;
}

Values integers(Generator& generator, std::size_t n, std::int64_t low, std::int64_t high) {
  Values values(n);
  for (double& value : values) value = static_cast<double>(generator.randint(low, high));
  return values;
}

struct Draw {
  Values values;
  DType dtype;  ///< of the tensor in PyTorch
};

/// "rand", "randn", "rand_f64", "randn_f64", "randperm", "randint_HIGH".
Draw draw(Generator& generator, const std::string& call, std::size_t n) {
  if (call == "rand") return {uniforms(generator, n, 0, 1, DType::kFloat32), DType::kFloat32};
  if (call == "rand_f64") return {uniforms(generator, n, 0, 1, DType::kFloat64), DType::kFloat64};
  if (call == "randn") return {generator.randn(n, DType::kFloat32), DType::kFloat32};
  if (call == "randn_f64") return {generator.randn(n, DType::kFloat64), DType::kFloat64};
  if (call == "randperm") {
    return {as_doubles(generator.randperm(static_cast<std::int64_t>(n))), DType::kInt64};
  }
  const std::string randint = "randint_";
  if (!call.starts_with(randint)) throw std::runtime_error("'" + call + "' is an unknown call");
  const auto high = whole_number<std::int64_t>(call.substr(randint.size()));
  if (!high) throw std::runtime_error("'" + call + "' is an unknown call");
  return {integers(generator, n, 0, *high), DType::kInt64};
}

/// "5", "-3.5", "2**40".
double number_of(const std::string& text) {
  const std::size_t power = text.find("**");
  if (power == std::string::npos) return std::stod(text);
  return std::pow(std::stod(text.substr(0, power)), std::stod(text.substr(power + 2)));
}

/// "randn(3)", "uniform_(-3,5) x4", "randint(0,2**40) x3" and the like.
Draw call(Generator& generator, const std::string& text) {
  static const std::string number = R"((-?\d+(?:\.\d+)?(?:\*\*\d+)?))";
  static const std::regex pattern(R"((\w+)\()" + number + "(?:," + number + R"()?\)(?: x(\d+))?)");
  std::smatch parts;
  if (!std::regex_match(text, parts, pattern) || parts[3].matched != parts[4].matched) {
    throw std::runtime_error("call '" + text + "' is unknown");
  }
  const std::string name = parts[1];
  if (!parts[4].matched) return draw(generator, name, std::stoul(parts[2]));
  const double first = number_of(parts[2]);
  const double second = number_of(parts[3]);
  const std::size_t n = std::stoul(parts[4]);
  if (name == "uniform_") {
    return {uniforms(generator, n, first, second, DType::kFloat32), DType::kFloat32};
  }
  if (name == "normal_") {
    return {generator.normal(n, first, second, DType::kFloat32), DType::kFloat32};
  }
  if (name != "randint") throw std::runtime_error("'" + name + "' is an unknown call");
  return {
      integers(generator, n, static_cast<std::int64_t>(first), static_cast<std::int64_t>(second)),
      DType::kInt64};
}

void compare_samples(Record& file, const char* section, CpuCapability capability) {
  file.for_each(section, [&](Record& record) {
    const std::uint64_t seed = record.seed("seed");
    const auto n = record.get<std::size_t>("n");
    for (const std::string& name : record.fields()) {
      if (name == "seed" || name == "n" || name.ends_with("_next_u24")) continue;
      Generator generator(seed, capability);
      const Draw drawn = draw(generator, name, n);
      expect_values(drawn.values, record[name], drawn.dtype, {}, name);
      EXPECT_EQ(generator.next_u32() & kLow24, record.get<std::uint32_t>(name + "_next_u24"))
          << "draws that " << name << " used";
    }
  });
}

void compare_models(Record& file, const char* section, CpuCapability capability) {
  file.for_each(section, [&](Record& record) {
    // Of more elements than this a file has a digest.
    const auto listed = record.get_or<std::int64_t>("full_up_to", 400);
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      InlineDevice device;
      OracleModel model = make_oracle_model(record, device, dtype, capability);
      const Json& expected = record["params"];
      const auto parameters = model.module->named_parameters();
      EXPECT_EQ(parameters.size(), expected.size());
      for (const NamedTensor& entry : parameters) {
        const Json& values = expected.at(entry.name);
        EXPECT_EQ(values.is_array(), entry.tensor.numel() <= listed) << entry.name;
        // Drawn in float32 and cast, so float32's decimals also say what float64's value is.
        expect_values(host_values(entry.tensor), values, DType::kFloat32, {}, entry.name);
      }
      const Values next = uniforms(model.generator, 2, 0, 1, DType::kFloat32);
      expect_values(next, record["next_rand"], DType::kFloat32, {}, "next_rand");
    }
  });
}

/// Of the kernels that drew all but the plain_ sections, by PyTorch's own words
/// (at::used_cpu_capability). Wider vectors than AVX2's draw other normal numbers.
CpuCapability capability_of(Record& file) {
  const auto text = file.get<std::string>("cpu_capability");
  if (text == "CPU capability usage: AVX2") return CpuCapability::kAvx2;
  if (text == "CPU capability usage: NO AVX") return CpuCapability::kDefault;
  throw std::runtime_error("cpu_capability '" + text + "' is unknown");
}

void with_init(const char* section, const std::function<void(Record&, CpuCapability)>& check) {
  with_oracle("init.json", [&](Record& file) {
    file.leave({"seed_folding", "models", "samples", "sequences", "plain_models", "plain_samples"});
    ASSERT_TRUE(file.has(section));
    check(file, capability_of(file));
  });
}

/// A seed as torch.manual_seed takes it; negative ones stand for 2^64 less.
std::uint64_t seed_of(const std::string& text) {
  if (const auto seed = whole_number<std::uint64_t>(text)) return *seed;
  if (const auto seed = whole_number<std::int64_t>(text)) return static_cast<std::uint64_t>(*seed);
  throw std::runtime_error("seed '" + text + "' is not a 64-bit number");
}

TEST(InitOracle, FoldsSeedsTo32Bits) {
  with_init("seed_folding", [](Record& file, CpuCapability) {
    const Json& rows = file["seed_folding"];
    ASSERT_FALSE(rows.empty());
    for (const Json& row : rows) {
      list_of(2, row, "seed_folding " + row.dump());
      const auto text = exactly<std::string>(row[0]);
      Generator generator(seed_of(text));
      for (const Json& expected : list_of(4, row[1], "draws of seed " + text)) {
        EXPECT_EQ(generator.next_u32() & kLow24, exactly<std::uint32_t>(expected)) << text;
      }
    }
  });
}

TEST(InitOracle, DrawsWhatPyTorchDraws) {
  with_init("samples", [](Record& file, CpuCapability capability) {
    compare_samples(file, "samples", capability);
  });
}

TEST(InitOracle, DrawsWhatPyTorchDrawsWithoutAvx2) {
  with_init("plain_samples", [](Record& file, CpuCapability) {
    compare_samples(file, "plain_samples", CpuCapability::kDefault);
  });
}

TEST(InitOracle, KeepsItsStateBetweenCalls) {
  with_init("sequences", [](Record& file, CpuCapability capability) {
    file.for_each("sequences", [&](Record& record) {
      Generator generator(record.seed("seed"), capability);
      const Json& calls = record["calls"];
      ASSERT_FALSE(calls.empty());
      for (const Json& step : calls) {
        list_of(2, step, "call " + step.dump());
        const auto text = exactly<std::string>(step[0]);
        const Draw drawn = call(generator, text);
        expect_values(drawn.values, step[1], drawn.dtype, {}, text);
      }
    });
  });
}

TEST(InitOracle, LayersStartAsPyTorchsDo) {
  with_init("models", [](Record& file, CpuCapability capability) {
    compare_models(file, "models", capability);
  });
}

TEST(InitOracle, LayersStartAsPyTorchsDoWithoutAvx2) {
  with_init("plain_models", [](Record& file, CpuCapability) {
    compare_models(file, "plain_models", CpuCapability::kDefault);
  });
}

}  // namespace
}  // namespace ringside::test
