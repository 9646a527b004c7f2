#include "backends/cuda/kernel_case.h"

namespace ringside::test {
namespace {

// Nothing, one, less than a vector, a vector and a rest, more than a block, more than all threads.
constexpr std::int64_t kCounts[] = {0, 1, 3, 17, 1000, 1'100'003};

using Call = std::function<void(Kernels&, LaunchContext&, Arrays)>;

/// The kernel at every count, with `inputs` arrays behind the output.
void at_all_counts(std::vector<KernelCase>& cases, const std::string& kernel,
                   const std::string& name, int inputs, const Call& call,
                   Tolerance tolerance = kExact) {
  for (const std::int64_t count : kCounts) {
    std::vector<Argument> arguments(static_cast<std::size_t>(inputs) + 1, random({count}));
    cases.push_back(
        {kernel, name + " of " + std::to_string(count), std::move(arguments), call, tolerance});
  }
}

}  // namespace

std::vector<KernelCase> elementwise_cases() {
  std::vector<KernelCase> cases;
  at_all_counts(cases, "fill", "a third", 0,
                [](Kernels& k, LaunchContext& c, Arrays a) { k.fill(c, a[0], 1.0 / 3); });
  at_all_counts(cases, "copy", "whole", 1,
                [](Kernels& k, LaunchContext& c, Arrays a) { k.copy(c, a[0], a[1]); });
  at_all_counts(cases, "add", "two arrays", 2, [](Kernels& k, LaunchContext& c, Arrays a) {
    k.add(c, a[0], 0.1, a[1], -3, a[2]);
  });
  at_all_counts(cases, "add", "in place", 1, [](Kernels& k, LaunchContext& c, Arrays a) {
    k.add(c, a[0], 0.9, a[0], 1.0 / 3, a[1]);
  });
  at_all_counts(cases, "scale", "in place", 0,
                [](Kernels& k, LaunchContext& c, Arrays a) { k.scale(c, a[0], a[0], 1.0 / 3); });
  at_all_counts(cases, "divide", "by three", 1,
                [](Kernels& k, LaunchContext& c, Arrays a) { k.divide(c, a[0], a[1], 3); });
  at_all_counts(cases, "convert", "to itself", 1,
                [](Kernels& k, LaunchContext& c, Arrays a) { k.convert(c, a[0], a[1]); });
  at_all_counts(cases, "relu", "", 1,
                [](Kernels& k, LaunchContext& c, Arrays a) { k.relu(c, a[0], a[1]); });
  at_all_counts(cases, "relu_backward", "", 2, [](Kernels& k, LaunchContext& c, Arrays a) {
    k.relu_backward(c, a[0], a[1], a[2]);
  });
  at_all_counts(cases, "tanh", "", 1,
                [](Kernels& k, LaunchContext& c, Arrays a) { k.tanh(c, a[0], a[1]); });
  at_all_counts(cases, "tanh_backward", "", 2, [](Kernels& k, LaunchContext& c, Arrays a) {
    k.tanh_backward(c, a[0], a[1], a[2]);
  });
  at_all_counts(
      cases, "gelu", "", 1, [](Kernels& k, LaunchContext& c, Arrays a) { k.gelu(c, a[0], a[1]); },
      kRounding);
  at_all_counts(
      cases, "gelu_backward", "", 2,
      [](Kernels& k, LaunchContext& c, Arrays a) { k.gelu_backward(c, a[0], a[1], a[2]); },
      kRounding);
  for (const double p : {0.0, 0.1, 0.5, 1.0}) {
    at_all_counts(cases, "dropout", "p " + std::to_string(p), 1,
                  [p](Kernels& k, LaunchContext& c, Arrays a) {
                    k.dropout(c, a[0], a[1], p, {0x123456789abcdefULL, 3, 7, 2});
                  });
  }
  cases.push_back({"copy_rows",
                   "the middle columns",
                   {random({5, 4}), random({5, 9})},
                   [](Kernels& k, LaunchContext& c, Arrays a) {
                     const std::size_t bytes = size_of(a[0].dtype);
                     k.copy_rows(c, a[0], 0, 4 * bytes, a[1], 3 * bytes, 9 * bytes, 4 * bytes, 5);
                   }});
  cases.push_back({"copy_rows",
                   "one row",
                   {random({4}), random({9})},
                   [](Kernels& k, LaunchContext& c, Arrays a) {
                     const std::size_t bytes = size_of(a[0].dtype);
                     k.copy_rows(c, a[0], bytes, 0, a[1], 2 * bytes, 0, 2 * bytes, 1);
                   }});
  return cases;
}

std::vector<KernelCase> all_kernel_cases() {
  std::vector<KernelCase> cases = elementwise_cases();
  for (const auto& more : {image_cases(), token_cases(), training_cases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace ringside::test
