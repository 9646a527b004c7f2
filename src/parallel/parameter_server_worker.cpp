// A worker's device: a full replica and its own rows. Its lead talks to the servers.
#include <fmt/format.h>

#include <utility>

#include "parallel/coalesce.h"
#include "parallel/parameter_server.h"
#include "parallel/parameter_server_state.h"
#include "parallel/peer_messages.h"
#include "parallel/step_scope.h"
#include "parallel/tensors_of.h"

namespace ringside {
namespace {

class ParameterServerWorker : public Strategy {
 public:
  ParameterServerWorker(std::shared_ptr<Module> module, Rank& rank,
                        const ParameterServerOptions& options);

  std::string_view name() const override { return "ps"; }
  StepResult train_step(const Batch& batch, int step, const StepDirectives& directives) override;
  Tensor evaluate(const Batch& batch) override;
  Device& input_device() override { return rank_.device; }
  std::vector<NamedTensor> state_dict() const override { return module_->state_dict(); }
  Module& module() override { return *module_; }
  Optimizer& optimizer() override { return *optimizer_; }
  std::vector<NamedTensor> optimizer_state() override;
  void end_epoch() override {
    if (options_.server_updates) pull_weights();
  }

 private:
  bool is_lead() const { return rank_.rank == lead_; }
  /// What goes to and comes from each server: a range of the flat buffer.
  std::vector<PeerMessage> shards() const;
  std::vector<PeerMessage> to_members(const DeviceArray& data) const;
  void begin_with_the_parameters_of_worker_0();
  template <typename Use>
  void pull(const Use& use);
  void pull_weights();
  void pull_gradients();
  void reduce_gradients();

  std::shared_ptr<Module> module_;
  Rank rank_;
  std::vector<Device*> devices_;
  ParameterServerOptions options_;
  ParameterServerLayout layout_;
  int worker_;
  int lead_;
  std::vector<int> members_;  // of the lead: the worker's other devices
  std::vector<NamedTensor> trained_;
  std::vector<Tensor> parameters_;  // those of trained_
  FlatBuffer flat_;                 // what is pushed, and then what is pulled
  std::vector<Tensor> arrived_;     // of the lead: the gradients of the other devices
  std::unique_ptr<Optimizer> optimizer_;
};

ParameterServerWorker::ParameterServerWorker(std::shared_ptr<Module> module, Rank& rank,
                                             const ParameterServerOptions& options)
    : module_(std::move(module)),
      rank_(rank),
      devices_{&rank_.device},
      options_(options),
      layout_(options),
      worker_(layout_.worker_of(rank.rank)),
      lead_(layout_.worker_lead(worker_)),
      trained_(trained_parameters(*module_)),
      parameters_(tensors_of(trained_)),
      flat_(rank_.device, parameters_, MemoryKind::kBuckets, "flat") {
  if (options.server_updates) {
    optimizer_ = std::make_unique<NoOptimizer>();
  } else {
    optimizer_ = options.optimizer(trained_);
  }
  if (is_lead()) members_ = layout_.worker_members(worker_);
  for (const int member : members_) {
    arrived_.push_back(Tensor::empty(rank_.device, flat_.flat.shape(), flat_.flat.dtype(),
                                     MemoryKind::kBuckets, fmt::format("from rank {}", member)));
  }
  begin_with_the_parameters_of_worker_0();
}

std::vector<PeerMessage> ParameterServerWorker::shards() const {
  std::vector<PeerMessage> messages;
  const DeviceArray& flat = flat_.flat.array();
  for (int server = 0; server < layout_.servers(); ++server) {
    const Range range = layout_.shard(server, flat.count());
    messages.push_back(
        {layout_.serving_rank(worker_, server), flat.slice(range.begin, range.size())});
  }
  return messages;
}

std::vector<PeerMessage> ParameterServerWorker::to_members(const DeviceArray& data) const {
  std::vector<PeerMessage> messages;
  for (const int member : members_) messages.push_back({member, data});
  return messages;
}

/// As KVStore.init: worker 0 tells the servers, of which the others learn.
void ParameterServerWorker::begin_with_the_parameters_of_worker_0() {
  if (rank_.rank == 0) {
    flat_.copy_in(parameters_);
    send_to_peers(rank_, shards());
  }
  if (!options_.server_updates) pull_weights();
}

/// The servers' weights or gradients, on every device of the worker; `use` is called with them
/// there.
template <typename Use>
void ParameterServerWorker::pull(const Use& use) {
  if (is_lead()) {
    {
      const StepScope phase(devices_, Phase::kPull);
      receive_from_peers(rank_, shards());
      use();
    }
    const StepScope phase(devices_, Phase::kReplicate);
    send_to_peers(rank_, to_members(flat_.flat.array()));
  } else {
    const StepScope phase(devices_, Phase::kReplicate);
    receive_from_peers(rank_, {{lead_, flat_.flat.array()}});
    use();
  }
}

void ParameterServerWorker::pull_weights() {
  pull([this] { flat_.copy_out(parameters_); });
}

/// The pulled sum stands for every parameter's gradient, also of those that had none here.
void ParameterServerWorker::pull_gradients() {
  pull([this] {
    for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].set_grad(flat_.views[i]);
  });
}

/// On the lead: the sum over the worker's devices.
void ParameterServerWorker::reduce_gradients() {
  const StepScope phase(devices_,
                        members_.empty() && is_lead() ? Phase::kPush : Phase::kReduceGrad);
  std::vector<Tensor> gradients;
  for (Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
  flat_.copy_in(gradients);
  if (!is_lead()) {
    send_to_peers(rank_, {{lead_, flat_.flat.array()}});
    return;
  }
  std::vector<PeerMessage> messages;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    messages.push_back({members_[i], arrived_[i].array()});
  }
  receive_from_peers(rank_, messages);
  accumulate(flat_.flat, arrived_, 1, /*continues=*/true);
}

/// Where the servers update, they tell worker 0.
std::vector<NamedTensor> ParameterServerWorker::optimizer_state() {
  if (!options_.server_updates) return optimizer_->state_dict();
  if (rank_.rank != 0) return {};
  std::vector<std::vector<StateValues>> parts;
  for (int server = 0; server < layout_.servers(); ++server) {
    parts.push_back(receive_state(rank_, layout_.server_lead(server)));
  }
  return joined_state(parts, layout_, trained_);
}

StepResult ParameterServerWorker::train_step(const Batch& batch, int step,
                                             const StepDirectives& directives) {
  const StepScope scope(devices_, step, Phase::kForward);
  module_->train();
  for (Tensor& parameter : parameters_) parameter.set_grad({});
  if (options_.server_updates) pull_weights();
  for (int i = 0; i < directives.extra_forwards; ++i) module_->forward(batch.inputs);
  const Tensor output = module_->forward(batch.inputs);
  const Tensor loss = [&] {
    const StepScope phase(devices_, Phase::kLoss);
    return options_.loss(output, batch.targets);
  }();
  {
    const StepScope phase(devices_, Phase::kBackward);
    backward(loss);
  }
  reduce_gradients();
  if (is_lead()) {
    const StepScope phase(devices_, Phase::kPush);
    send_to_peers(rank_, shards());
  }
  if (!options_.server_updates) {
    pull_gradients();
    const StepScope phase(devices_, Phase::kUpdate);
    optimizer_->step();
  }
  return {loss.detach(), batch.rows()};
}

Tensor ParameterServerWorker::evaluate(const Batch& batch) {
  const StepScope phase(devices_, Phase::kEvaluate);
  const NoGradScope no_grad(rank_.device);
  module_->train(false);
  return module_->forward(batch.inputs);
}

}  // namespace

std::unique_ptr<Strategy> make_worker(std::shared_ptr<Module> module, Rank& rank,
                                      const ParameterServerOptions& options) {
  return std::make_unique<ParameterServerWorker>(std::move(module), rank, options);
}

}  // namespace ringside
