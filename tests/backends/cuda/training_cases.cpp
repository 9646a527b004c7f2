#include "backends/cuda/kernel_case.h"

namespace ringside::test {
namespace {

using Reduction = CrossEntropyOptions::Reduction;

void losses(std::vector<KernelCase>& cases) {
  const Shape sizes[] = {{1, 2}, {7, 10}, {64, 10}, {33, 65}, {300, 3}, {5, 1000}};
  for (const Shape& x : sizes) {
    for (const Reduction reduction : {Reduction::kMean, Reduction::kSum, Reduction::kNone}) {
      CrossEntropyOptions options;
      options.reduction = reduction;
      options.label_smoothing = reduction == Reduction::kSum ? 0.1 : 0;
      const Shape loss{reduction == Reduction::kNone ? x[0] : 1};
      const Argument targets =
          x[0] > 1 ? indices({x[0]}, x[1], options.ignore_index) : indices({x[0]}, x[1]);
      const std::string name =
          to_string(x) + " reduction " + std::to_string(static_cast<int>(reduction));
      cases.push_back({"cross_entropy",
                       name,
                       {random(loss), random(x), random(x), targets},
                       [options](Kernels& k, LaunchContext& c, Arrays a) {
                         k.cross_entropy(c, a[0], a[1], a[2], a[3], options);
                       },
                       kSum});
      cases.push_back({"cross_entropy_backward",
                       name,
                       {random(x), random(loss), positive(x), targets},
                       [options](Kernels& k, LaunchContext& c, Arrays a) {
                         k.cross_entropy_backward(c, a[0], a[1], a[2], a[3], options);
                       }});
    }
    cases.push_back(
        {"count_correct",
         to_string(x),
         {indices({1}, 1), random(x), indices({x[0]}, x[1])},
         [](Kernels& k, LaunchContext& c, Arrays a) { k.count_correct(c, a[0], a[1], a[2]); }});
    cases.push_back(
        {"count_correct",
         to_string(x) + " of equals",
         {indices({1}, 1), zeros(x), indices({x[0]}, x[1])},
         [](Kernels& k, LaunchContext& c, Arrays a) { k.count_correct(c, a[0], a[1], a[2]); }});
    cases.push_back({"mse",
                     to_string(x),
                     {random({1}), random(x), random(x)},
                     [](Kernels& k, LaunchContext& c, Arrays a) { k.mse(c, a[0], a[1], a[2]); },
                     kSum});
    cases.push_back({"mse_backward",
                     to_string(x),
                     {random(x), random({1}), random(x), random(x)},
                     [](Kernels& k, LaunchContext& c, Arrays a) {
                       k.mse_backward(c, a[0], a[1], a[2], a[3]);
                     }});
  }
}

void optimisers(std::vector<KernelCase>& cases) {
  SgdOptions plain;
  SgdOptions momentum;
  momentum.momentum = 0.9;
  momentum.dampening = 0.1;
  momentum.weight_decay = 1e-2;
  SgdOptions nesterov = momentum;
  nesterov.dampening = 0;
  nesterov.nesterov = true;
  nesterov.maximize = true;
  AdamOptions adam;
  adam.weight_decay = 1e-2;
  AdamOptions amsgrad = adam;
  amsgrad.amsgrad = true;
  AdamOptions decoupled = adam;
  decoupled.decoupled = true;
  decoupled.maximize = true;
  for (const std::int64_t count : {1, 7, 1000, 70'001}) {
    const Argument values = random({count});
    for (const auto& options : {plain, momentum, nesterov}) {
      for (const bool first : {true, false}) {
        cases.push_back({"sgd",
                         std::to_string(count) + (first ? " first" : " later"),
                         {values, values, values},
                         [options, first](Kernels& k, LaunchContext& c, Arrays a) {
                           k.sgd(c, a[0], a[1], options.momentum != 0 ? a[2] : DeviceArray{}, first,
                                 options);
                         }});
      }
    }
    for (const auto& options : {adam, amsgrad, decoupled}) {
      cases.push_back({"adam",
                       std::to_string(count),
                       {values, values, values, positive({count}), positive({count})},
                       [options](Kernels& k, LaunchContext& c, Arrays a) {
                         k.adam(c, a[0], a[1], a[2], a[3], options.amsgrad ? a[4] : DeviceArray{},
                                3, options);
                       }});
    }
  }
  cases.push_back(
      {"total_norm",
       "of several arrays",
       {random({1}), random({5, 3}), random({0}), random({70'001})},
       [](Kernels& k, LaunchContext& c, Arrays a) { k.total_norm(c, a[0], a.subspan(1)); },
       kRounding});
  for (const double max_norm : {0.01, 1000.0}) {
    cases.push_back({"clip_with_norm",
                     "to " + std::to_string(max_norm),
                     {random({1}), random({5, 3}), random({1}), random({0}), random({70'001})},
                     [max_norm](Kernels& k, LaunchContext& c, Arrays a) {
                       k.total_norm(c, a[0], a.subspan(1));
                       k.clip_with_norm(c, a.subspan(1), a[0], max_norm);
                     },
                     kRounding});
    cases.push_back({"clip_with_norm", "of many arrays to " + std::to_string(max_norm),
                     std::vector<Argument>(300, random({11})),
                     [max_norm](Kernels& k, LaunchContext& c, Arrays a) {
                       const DeviceArray total = a[0].slice(0, 1);
                       k.total_norm(c, total, a.subspan(1));
                       k.clip_with_norm(c, a.subspan(1), total, max_norm);
                     },
                     kRounding});
  }
}

}  // namespace

std::vector<KernelCase> training_cases() {
  std::vector<KernelCase> cases;
  losses(cases);
  optimisers(cases);
  return cases;
}

}  // namespace ringside::test
