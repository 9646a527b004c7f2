#include "backends/cuda/kernel_case.h"

namespace ringside::test {
namespace {

struct Image {
  std::int64_t batch, in_channels, out_channels, height, width, kernel_height, kernel_width;
  Conv2dOptions options;
};

// One pixel; LeNet's; strides and padding that leave a rest; kernels that are not square; more
// channels and positions than a tile has; a kernel that is read by no output at its edge.
const Image kImages[] = {
    {1, 1, 1, 1, 1, 1, 1, {1, 0}},    {3, 1, 6, 28, 28, 5, 5, {1, 2}},
    {2, 6, 16, 14, 14, 5, 5, {1, 0}}, {2, 3, 35, 11, 9, 3, 3, {2, 1}},
    {2, 5, 7, 10, 13, 2, 4, {3, 1}},  {1, 40, 33, 8, 8, 1, 1, {2, 0}},
    {33, 2, 3, 17, 15, 3, 3, {1, 1}},
};

std::string text(const Image& i) {
  return std::to_string(i.batch) + "x" + std::to_string(i.in_channels) + "x" +
         std::to_string(i.height) + "x" + std::to_string(i.width) + " stride " +
         std::to_string(i.options.stride) + " padding " + std::to_string(i.options.padding);
}

void convolutions(std::vector<KernelCase>& cases) {
  for (const Image& i : kImages) {
    const auto out = [&i](std::int64_t in, std::int64_t kernel) {
      return (in + 2 * i.options.padding - kernel) / i.options.stride + 1;
    };
    const Shape x{i.batch, i.in_channels, i.height, i.width};
    const Shape weight{i.out_channels, i.in_channels, i.kernel_height, i.kernel_width};
    const Shape y{i.batch, i.out_channels, out(i.height, i.kernel_height),
                  out(i.width, i.kernel_width)};
    const Shape bias{i.out_channels};
    const Conv2dOptions options = i.options;
    cases.push_back({"conv2d",
                     text(i),
                     {random(y), random(x), random(weight), random(bias)},
                     [options](Kernels& k, LaunchContext& c, Arrays a) {
                       k.conv2d(c, a[0], a[1], a[2], a[3], options);
                     },
                     kSum});
    cases.push_back({"conv2d",
                     text(i) + " without bias",
                     {random(y), random(x), random(weight)},
                     [options](Kernels& k, LaunchContext& c, Arrays a) {
                       k.conv2d(c, a[0], a[1], a[2], {}, options);
                     },
                     kSum});
    cases.push_back({"conv2d_backward_input",
                     text(i),
                     {random(x), random(y), random(weight)},
                     [options](Kernels& k, LaunchContext& c, Arrays a) {
                       k.conv2d_backward_input(c, a[0], a[1], a[2], options);
                     },
                     kSum});
    cases.push_back({"conv2d_backward_weight",
                     text(i),
                     {random(weight), random(y), random(x)},
                     [options](Kernels& k, LaunchContext& c, Arrays a) {
                       k.conv2d_backward_weight(c, a[0], a[1], a[2], options);
                     },
                     kSum});
    cases.push_back(
        {"conv2d_backward_bias",
         text(i),
         {random(bias), random(y)},
         [](Kernels& k, LaunchContext& c, Arrays a) { k.conv2d_backward_bias(c, a[0], a[1]); },
         kSum});
  }
}

void poolings(std::vector<KernelCase>& cases) {
  // Side by side, with a rest, overlapping, with gaps, wider than a block has threads.
  const struct {
    std::int64_t height, width;
    Pool2dOptions options;
  } windows[] = {{8, 6, {2, 2}}, {7, 9, {2, 2}},   {9, 11, {3, 2}},
                 {6, 7, {3, 1}}, {10, 11, {2, 3}}, {5, 700, {2, 2}}};
  for (const auto& w : windows) {
    const Pool2dOptions options = w.options;
    const auto out = [&](std::int64_t in) { return (in - options.kernel) / options.stride + 1; };
    const Shape x{2, 3, w.height, w.width};
    const Shape y{2, 3, out(w.height), out(w.width)};
    const Argument argmax = indices(y, 1);
    const std::string name = to_string(x) + " kernel " + std::to_string(options.kernel) +
                             " stride " + std::to_string(options.stride);
    cases.push_back({"max_pool2d",
                     name,
                     {random(y), argmax, random(x)},
                     [options](Kernels& k, LaunchContext& c, Arrays a) {
                       k.max_pool2d(c, a[0], a[1], a[2], options);
                     }});
    cases.push_back({"max_pool2d",
                     name + " of equals",
                     {random(y), argmax, zeros(x)},
                     [options](Kernels& k, LaunchContext& c, Arrays a) {
                       k.max_pool2d(c, a[0], a[1], a[2], options);
                     }});
    cases.push_back({"max_pool2d_backward",
                     name,
                     {random(x), random(y), argmax, random(x), random(y)},
                     [options](Kernels& k, LaunchContext& c, Arrays a) {
                       k.max_pool2d(c, a[4], a[2], a[3], options);
                       k.max_pool2d_backward(c, a[0], a[1], a[2]);
                     }});
    cases.push_back({"avg_pool2d",
                     name,
                     {random(y), random(x)},
                     [options](Kernels& k, LaunchContext& c, Arrays a) {
                       k.avg_pool2d(c, a[0], a[1], options);
                     }});
    cases.push_back({"avg_pool2d_backward",
                     name,
                     {random(x), random(y)},
                     [options](Kernels& k, LaunchContext& c, Arrays a) {
                       k.avg_pool2d_backward(c, a[0], a[1], options);
                     }});
  }
}

void batch_norms(std::vector<KernelCase>& cases) {
  for (const Shape& x : {Shape{2, 1}, Shape{33, 70}, Shape{3, 5, 7, 9}, Shape{4, 3, 40, 40}}) {
    const Shape channel{x[1]};
    const Argument factor = random(channel);
    const std::string name = to_string(x);
    cases.push_back(
        {"batch_norm",
         name,
         {random(x), factor, factor, factor, positive(channel), random(x), factor, factor},
         [](Kernels& k, LaunchContext& c, Arrays a) {
           k.batch_norm(c, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], 0.1, 1e-5);
         },
         kSum});
    cases.push_back({"batch_norm_evaluate",
                     name,
                     {random(x), random(x), factor, positive(channel), factor, factor},
                     [](Kernels& k, LaunchContext& c, Arrays a) {
                       k.batch_norm_evaluate(c, a[0], a[1], a[2], a[3], a[4], a[5], 1e-5);
                     },
                     kRounding});
    cases.push_back(
        {"batch_norm_backward",
         name,
         {random(x), factor, factor, random(x), random(x), factor, factor, positive(channel)},
         [](Kernels& k, LaunchContext& c, Arrays a) {
           k.batch_norm_backward(c, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
         },
         kSum});
    cases.push_back(
        {"batch_norm_evaluate_backward",
         name,
         {random(x), factor, factor, random(x), random(x), factor, factor, positive(channel)},
         [](Kernels& k, LaunchContext& c, Arrays a) {
           k.batch_norm_evaluate_backward(c, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], 1e-5);
         },
         kSum});
    const Shape statistics{3, 2 * x[1] + 1};
    cases.push_back(
        {"batch_norm_statistics",
         name,
         {random({2 * x[1] + 1}), random(x)},
         [](Kernels& k, LaunchContext& c, Arrays a) { k.batch_norm_statistics(c, a[0], a[1]); },
         kSum});
    cases.push_back({"batch_norm_merge",
                     name,
                     {factor, factor, random({1}), factor, positive(channel), positive(statistics)},
                     [](Kernels& k, LaunchContext& c, Arrays a) {
                       k.batch_norm_merge(c, a[0], a[1], a[2], a[3], a[4], a[5], 0.1, 1e-5);
                     },
                     kRounding});
    cases.push_back({"batch_norm_normalise",
                     name,
                     {random(x), random(x), factor, positive(channel), factor, factor},
                     [](Kernels& k, LaunchContext& c, Arrays a) {
                       k.batch_norm_normalise(c, a[0], a[1], a[2], a[3], a[4], a[5]);
                     }});
    cases.push_back({"batch_norm_backward_sums",
                     name,
                     {random({2 * x[1]}), random(x), random(x), factor, positive(channel)},
                     [](Kernels& k, LaunchContext& c, Arrays a) {
                       k.batch_norm_backward_sums(c, a[0], a[1], a[2], a[3], a[4]);
                     },
                     kSum});
    cases.push_back({"batch_norm_backward_elements",
                     name,
                     {random(x), random(x), random(x), factor, factor, positive(channel),
                      random({2 * x[1]}), positive({1})},
                     [](Kernels& k, LaunchContext& c, Arrays a) {
                       k.batch_norm_backward_elements(c, a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                                                      a[7]);
                     },
                     kRounding});
  }
}

}  // namespace

std::vector<KernelCase> image_cases() {
  std::vector<KernelCase> cases;
  convolutions(cases);
  poolings(cases);
  batch_norms(cases);
  return cases;
}

}  // namespace ringside::test
