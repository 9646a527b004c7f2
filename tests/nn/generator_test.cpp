// The generator against PyTorch's draws, bit for bit.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ringside/error.h"
#include "ringside/nn.h"
#include "support/oracle_file.h"

namespace ringside {
namespace {

using test::OracleLine;

constexpr std::uint32_t kLow24 = 0xffffff;

// Seeds in the oracle file may be negative: -1 stands for 2^64 - 1.
std::uint64_t seed_of(const std::string& text) {
  return text[0] == '-' ? static_cast<std::uint64_t>(std::stoll(text)) : std::stoull(text);
}

std::vector<double> as_doubles(const std::vector<std::int64_t>& integers) {
  return {integers.begin(), integers.end()};
}

std::vector<double> uniforms(Generator& generator, std::size_t n, double from, double to,
                             DType dtype) {
  std::vector<double> values(n);
  for (double& value : values) value = generator.uniform(from, to, dtype);
  return values;
}

std::vector<double> integers(Generator& generator, std::size_t n, std::int64_t low,
                             std::int64_t high) {
  std::vector<double> values(n);
  for (double& value : values) value = static_cast<double>(generator.randint(low, high));
  return values;
}

std::vector<double> sample(Generator& generator, const std::string& call, std::size_t n) {
  if (call == "rand") return uniforms(generator, n, 0, 1, DType::kFloat32);
  if (call == "rand_f64") return uniforms(generator, n, 0, 1, DType::kFloat64);
  if (call == "randn") return generator.randn(n, DType::kFloat32);
  if (call == "randn_f64") return generator.randn(n, DType::kFloat64);
  if (call == "randperm") return as_doubles(generator.randperm(static_cast<std::int64_t>(n)));
  EXPECT_EQ(call, "randint_1000");
  return integers(generator, n, 0, 1000);
}

// "randn(3)" and the like, as in a sequence of the oracle file.
std::vector<double> call(Generator& generator, const std::string& name) {
  if (name == "uniform_(-3,5)x4") return uniforms(generator, 4, -3, 5, DType::kFloat32);
  if (name == "randint(-5,6)x8") return integers(generator, 8, -5, 6);
  if (name == "randint(0,2**40)x3") return integers(generator, 3, 0, std::int64_t{1} << 40);
  if (name == "normal_(2,0.5)x5") {  // below 16 elements the last rounding is to the tensor's type
    std::vector<double> values = generator.randn(5, DType::kFloat64);
    for (double& value : values) value = static_cast<float>(value * 0.5 + 2);
    return values;
  }
  const std::size_t open = name.find('(');
  return sample(generator, name.substr(0, open), std::stoul(name.substr(open + 1)));
}

TEST(Generator, FoldsSeedsTo32Bits) {
  int checked = 0;
  for (const OracleLine& line : test::oracle_lines("init.txt")) {
    if (line[0] != "seed") continue;
    Generator generator(seed_of(line[1]));
    for (std::int64_t expected : test::oracle_integers(line, 2)) {
      EXPECT_EQ(generator.next_u32() & kLow24, static_cast<std::uint32_t>(expected)) << line[1];
    }
    ++checked;
  }
  EXPECT_EQ(checked, 8);
}

TEST(Generator, JoinsTwoDrawsTo64BitsHighHalfFirst) {
  Generator words(0);
  Generator doubles(0);
  const std::uint64_t high = words.next_u32();
  const std::uint64_t low = words.next_u32();
  EXPECT_EQ(high, 2357136044U);
  EXPECT_EQ(doubles.next_u64(), high << 32 | low);
}

TEST(Generator, DrawsWhatPyTorchDraws) {
  int checked = 0;
  for (const OracleLine& line : test::oracle_lines("init.txt")) {
    if (line[0] != "sample") continue;
    SCOPED_TRACE("seed " + line[1] + ", " + line[3] + " of " + line[2]);
    Generator generator(seed_of(line[1]));
    const bool float32 = line[3] == "rand" || line[3] == "randn";
    const std::vector<double> values = sample(generator, line[3], std::stoul(line[2]));
    EXPECT_EQ(test::compare_with_oracle(values, line, 5, float32), "");
    EXPECT_EQ(generator.next_u32() & kLow24, std::stoul(line[4])) << "draws used";
    ++checked;
  }
  EXPECT_EQ(checked, 3 * 10 * 6);
}

TEST(Generator, KeepsItsStateBetweenCalls) {
  int checked = 0;
  Generator generator(0);
  for (const OracleLine& line : test::oracle_lines("init.txt")) {
    if (line[0] == "sequence") generator = Generator(seed_of(line[1]));
    if (line[0] != "call") continue;
    SCOPED_TRACE(line[1]);
    const bool float32 = line[1].find("rand(") == 0 || line[1].find("randn(") == 0 ||
                         line[1].find("uniform_") == 0 || line[1].find("normal_") == 0;
    EXPECT_EQ(call(generator, line[1]), test::oracle_numbers(line, 2, float32));
    ++checked;
  }
  EXPECT_EQ(checked, 3 * 11);
}

TEST(Generator, RefusesEmptyRanges) {
  Generator generator(0);
  EXPECT_THROW(generator.randint(3, 3), Error);
  EXPECT_THROW(generator.randperm(-1), Error);
  EXPECT_TRUE(generator.randperm(0).empty());
}

}  // namespace
}  // namespace ringside
