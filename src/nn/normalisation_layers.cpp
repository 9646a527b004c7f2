// BatchNorm1d, BatchNorm2d, LayerNorm and Dropout.

#include <fmt/format.h>

#include <string>

#include "nn/initialise.h"
#include "nn/layer_base.h"
#include "ringside/error.h"
#include "ringside/nn.h"

namespace ringside {
namespace {

/// BatchNorm1d and BatchNorm2d, which differ in the inputs that they take.
struct BatchNormKind {
  std::string_view name;
  std::size_t lowest_rank, highest_rank;
  std::string_view input;
};
constexpr BatchNormKind kBatchNorm1d{"BatchNorm1d", 2, 3,
                                     "[batch, channels] or one dimension more"};
constexpr BatchNormKind kBatchNorm2d{"BatchNorm2d", 4, 4, "[batch, channels, height, width]"};

class BatchNorm final : public LayerBase<BatchNorm> {
 public:
  BatchNorm(const BatchNormKind& kind, const ModuleContext& context, std::int64_t channels,
            double momentum, double epsilon)
      : kind_(kind), channels_(channels), momentum_(momentum), epsilon_(epsilon) {
    check_positive(kind.name, "channels", channels);
    const Shape per_channel{channels};
    const DType dtype = context.dtype;
    register_parameter("weight", constant(context, per_channel, dtype, 1, "weight"));
    register_parameter("bias", constant(context, per_channel, dtype, 0, "bias"));
    register_buffer("running_mean", constant(context, per_channel, dtype, 0, "running_mean"));
    register_buffer("running_var", constant(context, per_channel, dtype, 1, "running_var"));
    register_buffer("num_batches_tracked",
                    constant(context, Shape{}, DType::kInt64, 0, "num_batches_tracked"));
  }
  Tensor forward(const Tensor& input) override {
    check_input(input.shape());
    Tensor output = exchange_ && training()
                        ? sync_batch_norm(input, parameter(0), parameter(1), buffer(0), buffer(1),
                                          momentum_, epsilon_, exchange_)
                        : batch_norm(input, parameter(0), parameter(1), buffer(0), buffer(1),
                                     training(), momentum_, epsilon_);
    if (training()) count_batch();
    return output;
  }
  std::string describe() const override {
    return fmt::format("{}({}, momentum {}, epsilon {})", exchange_ ? "SyncBatchNorm" : kind_.name,
                       channels_, momentum_, epsilon_);
  }
  int synchronise_batch_norm(const std::shared_ptr<const RankExchange>& exchange) override {
    exchange_ = exchange;
    return 1;
  }

 private:
  void check_input(const Shape& input) const {
    if (input.rank() >= kind_.lowest_rank && input.rank() <= kind_.highest_rank) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: input {} must be {}", kind_.name, to_string(input), kind_.input));
  }

  void count_batch() {
    const Tensor& count = buffer(2);
    Device& device = count.device();
    const DeviceArray one =
        device.allocate(count.bytes(), MemoryKind::kWorkspace).array(DType::kInt64, Shape{});
    const TensorRef reference{count.name(), &count.array()};
    const std::string_view name = count.name();
    OpInfo info;
    info.name = "count-batch";
    info.label = name.substr(0, name.rfind('.'));
    info.flops = 1;
    info.reads = {&reference, 1};
    info.writes = {&reference, 1};
    device.compute().submit(info, [tally = count.array(), one](LaunchContext& context) {
      context.kernels.fill(context, one, 1);
      context.kernels.add(context, tally, 1, tally, 1, one);
    });
  }

  const BatchNormKind& kind_;
  std::int64_t channels_;
  double momentum_, epsilon_;
  std::shared_ptr<const RankExchange> exchange_;  // null: this rank's batch alone
};

/// Over the last dimension.
class LayerNorm final : public LayerBase<LayerNorm> {
 public:
  LayerNorm(const ModuleContext& context, std::int64_t width, double epsilon)
      : width_(width), epsilon_(epsilon) {
    check_positive("LayerNorm", "width", width);
    register_parameter("weight", constant(context, Shape{width}, context.dtype, 1, "weight"));
    register_parameter("bias", constant(context, Shape{width}, context.dtype, 0, "bias"));
  }
  Tensor forward(const Tensor& input) override {
    return layer_norm(input, parameter(0), parameter(1), epsilon_);
  }
  std::string describe() const override {
    return fmt::format("LayerNorm({}, epsilon {})", width_, epsilon_);
  }

 private:
  std::int64_t width_;
  double epsilon_;
};

/// Draws from its device, so that replicas on other devices drop other elements.
class Dropout final : public LayerBase<Dropout> {
 public:
  explicit Dropout(double p) : p_(p) {
    if (p >= 0 && p <= 1) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("Dropout: probability {}: must be from 0 to 1", p));
  }
  Tensor forward(const Tensor& input) override {
    if (!training() || p_ == 0) return input;
    return dropout(input, p_, input.device().next_random_key());
  }
  std::string describe() const override { return fmt::format("Dropout({})", p_); }

 private:
  double p_;
};

}  // namespace

std::shared_ptr<Module> make_batch_norm1d(const ModuleContext& context, std::int64_t channels,
                                          double momentum, double epsilon) {
  return std::make_shared<BatchNorm>(kBatchNorm1d, context, channels, momentum, epsilon);
}

std::shared_ptr<Module> make_batch_norm2d(const ModuleContext& context, std::int64_t channels,
                                          double momentum, double epsilon) {
  return std::make_shared<BatchNorm>(kBatchNorm2d, context, channels, momentum, epsilon);
}

std::shared_ptr<Module> make_layer_norm(const ModuleContext& context, std::int64_t width,
                                        double epsilon) {
  return std::make_shared<LayerNorm>(context, width, epsilon);
}

std::shared_ptr<Module> make_dropout(double p) { return std::make_shared<Dropout>(p); }

}  // namespace ringside
