#include "parallel/bucket_operations.h"

namespace ringside {
namespace {

/// An op of one pass over `to` that reads `from`.
void submit_pass(Stream& stream, std::string_view name, std::string_view label, const Tensor& to,
                 const Tensor& from, Launch&& launch) {
  const TensorRef reads[] = {{from.name(), &from.array()}};
  const TensorRef writes[] = {{to.name(), &to.array()}};
  OpInfo info;
  info.name = name;
  info.label = label;
  info.flops = static_cast<double>(to.numel());
  info.bytes = to.bytes();
  info.reads = reads;
  info.writes = writes;
  stream.submit(info, std::move(launch));
}

}  // namespace

bool lies_in(const Tensor& view, const Tensor& gradient) {
  return gradient.defined() && gradient.buffer().storage() == view.buffer().storage() &&
         gradient.array().offset == view.array().offset;
}

void copy_to_bucket(const Tensor& view, const Tensor& gradient, double factor) {
  submit_pass(view.device().compute(), "copy-to-bucket", view.name(), view, gradient,
              [to = view.array(), from = gradient.array(), factor](LaunchContext& launch) {
                launch.kernels.scale(launch, to, from, factor);
              });
}

void divide_in_place(const Tensor& values, double divisor) {
  submit_pass(values.device().compute(), "divide", values.name(), values, values,
              [all = values.array(), divisor](LaunchContext& launch) {
                launch.kernels.divide(launch, all, all, divisor);
              });
}

void convert(const Tensor& to, const Tensor& from, Stream& stream) {
  submit_pass(stream, "convert", from.name(), to, from,
              [out = to.array(), in = from.array()](LaunchContext& launch) {
                launch.kernels.convert(launch, out, in);
              });
}

FlatBuffer zeros_like(Device& device, const FlatBuffer& bucket) {
  FlatBuffer zeros(device, bucket.views, MemoryKind::kBuckets, bucket.flat.name());
  fill_in_place(zeros.flat, 0);
  return zeros;
}

}  // namespace ringside
