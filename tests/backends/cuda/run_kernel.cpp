#include "backends/cuda/run_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>

#include "ringside/error.h"

namespace ringside::test {
namespace {

std::vector<double> values_of(const Argument& argument, std::mt19937& engine) {
  std::vector<double> values(static_cast<std::size_t>(argument.shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double unit = static_cast<double>(engine()) / 4294967296.0;
    switch (argument.content) {
      case Content::kRandom:
        values[i] = 2 * unit - 1;
        break;
      case Content::kPositive:
        values[i] = 0.5 + unit;
        break;
      case Content::kZeros:
        break;
      case Content::kIndices:
        values[i] = std::floor(unit * static_cast<double>(argument.limit));
        if (argument.odd_one != Argument::kNoOddOne && i % 4 == 1) {
          values[i] = static_cast<double>(argument.odd_one);
        }
        break;
    }
  }
  return values;
}

std::vector<std::byte> to_bytes(DType dtype, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(dtype));
  visit_dtype(dtype, [&]<typename T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = static_cast<T>(values[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return bytes;
}

std::vector<double> from_bytes(DType dtype, const std::vector<std::byte>& bytes) {
  std::vector<double> values(bytes.size() / size_of(dtype));
  visit_dtype(dtype, [&]<typename T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<double>(value);
    }
  });
  return values;
}

}  // namespace

Results run_kernel(Device& device, const KernelCase& kernel_case, DType dtype, std::uint32_t seed,
                   bool skewed) {
  std::mt19937 engine(seed);
  std::vector<DeviceArray> arrays;
  std::vector<std::vector<std::byte>> contents;
  for (const Argument& argument : kernel_case.arguments) {
    const DType own = argument.content == Content::kIndices ? DType::kInt64 : dtype;
    contents.push_back(to_bytes(own, values_of(argument, engine)));
    const std::size_t offset = skewed ? size_of(own) : 0;
    arrays.push_back(device.allocate(contents.back().size() + offset, MemoryKind::kWorkspace)
                         .array(own, argument.shape, offset));
  }
  device.compute().enqueue([&](LaunchContext& context) {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      context.kernels.copy_from_host(context, arrays[i], contents[i].data());
    }
    kernel_case.call(context.kernels, context, arrays);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      context.kernels.copy_to_host(context, contents[i].data(), arrays[i]);
    }
  });
  device.compute().synchronize();
  Results results;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    results.push_back(from_bytes(arrays[i].dtype, contents[i]));
  }
  return results;
}

std::string differences(const KernelCase& kernel_case, DType dtype, const Results& expected,
                        const Results& results) {
  const double tolerance = kernel_case.tolerance.of(dtype);
  std::string found;
  for (std::size_t array = 0; array < expected.size(); ++array) {
    for (std::size_t i = 0; i < expected[array].size(); ++i) {
      const double wanted = expected[array][i];
      const double got = results[array][i];
      if (std::isnan(wanted) && std::isnan(got)) continue;
      if (wanted == got) continue;
      if (std::fabs(wanted - got) <= tolerance * std::max(1.0, std::fabs(wanted))) continue;
      found +=
          fmt::format("{} ({}) {}: argument {}[{}] is {:.17g}, not {:.17g}\n", kernel_case.kernel,
                      kernel_case.name, to_string(dtype), array, i, got, wanted);
      break;  // one of an array says enough
    }
  }
  return found;
}

}  // namespace ringside::test
