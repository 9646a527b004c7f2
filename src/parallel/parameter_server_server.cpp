// A server's device: adds up the pushes of its workers and answers their pulls. Its lead has the
// sum of all devices, and with variant b the weights and the optimiser.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/counted.h"
#include "parallel/parameter_server.h"
#include "parallel/parameter_server_order.h"
#include "parallel/parameter_server_state.h"
#include "parallel/peer_messages.h"
#include "parallel/step_scope.h"
#include "ringside/error.h"

namespace ringside {
namespace {

class ParameterServer : public Strategy {
 public:
  ParameterServer(std::shared_ptr<Module> module, Rank& rank,
                  const ParameterServerOptions& options);

  std::string_view name() const override { return "ps"; }
  StepResult train_step(const Batch& batch, int step, const StepDirectives& directives) override;
  Tensor evaluate(const Batch& batch) override;
  Device& input_device() override { return rank_.device; }
  std::vector<NamedTensor> state_dict() const override { return pieces_; }
  Module& module() override { return *module_; }
  Optimizer& optimizer() override { return *optimizer_; }
  std::vector<NamedTensor> optimizer_state() override;
  void load_optimizer_state(const std::vector<NamedTensor>& state) override;
  bool takes_batches() const override { return false; }
  void begin_epoch(int epoch, int steps) override;
  void end_epoch() override {
    if (options_.server_updates) answer_pulls(workers_);
  }

 private:
  bool is_lead() const { return rank_.rank == lead_; }
  double factor() const { return options_.mean ? 1.0 / options_.replicas() : 1.0; }
  /// What a pull is answered with.
  Tensor& answer() { return options_.server_updates ? weights_ : sum_; }
  Tensor flat(MemoryKind kind, const std::string& name) const;
  std::vector<ServerPiece> pieces() const {
    return layout_.pieces(layout_.server_of(rank_.rank), trained_);
  }
  void make_pieces();
  void make_norms();
  void begin_with_the_parameters_of_worker_0();
  void synchronous_step();
  void asynchronous_step(int step);
  void answer_pulls(const std::vector<int>& workers);
  void receive_pushes(const std::vector<int>& workers);
  void aggregate();
  void update();
  void clip_gradients();
  void hand_on(Tensor& tensor);

  std::shared_ptr<Module> module_;    // names and shapes only
  std::vector<NamedTensor> trained_;  // its parameters of which servers keep a part
  Rank rank_;
  std::vector<Device*> devices_;
  ParameterServerOptions options_;
  ParameterServerLayout layout_;
  int lead_;
  std::vector<int> members_;          // of the lead: the server's other devices
  std::vector<int> workers_;          // the leads of the workers that this device serves
  Range range_;                       // of the flat parameters
  std::vector<Tensor> pushed_;        // one for each worker; asynchronous: one for all
  std::vector<Tensor> partial_sums_;  // of the lead: from the server's other devices
  Tensor sum_;
  Tensor weights_;
  std::vector<NamedTensor> pieces_;  // of the lead: the parameters that lie in `weights_`
  std::vector<Tensor> gradients_;    // theirs, which lie in `sum_`
  std::vector<Tensor> norms_;  // for clipping: of the own gradients; server 0: of all servers'
  Tensor total_norm_;          // for clipping: of all gradients
  std::unique_ptr<Optimizer> optimizer_ = std::make_unique<NoOptimizer>();

  std::optional<AsynchronousOrder> order_;  // asynchronous: of this epoch
  std::optional<ServerTurn> turn_;          // the next one
  std::optional<int> first_step_;           // of the epoch, in the run
};

ParameterServer::ParameterServer(std::shared_ptr<Module> module, Rank& rank,
                                 const ParameterServerOptions& options)
    : module_(std::move(module)),
      trained_(trained_parameters(*module_)),
      rank_(rank),
      devices_{&rank_.device},
      options_(options),
      layout_(options),
      lead_(layout_.server_lead(layout_.server_of(rank.rank))) {
  const int server = layout_.server_of(rank.rank);
  range_ = layout_.shard(server, element_count(trained_));
  for (const int worker : layout_.served_workers(rank.rank)) {
    workers_.push_back(layout_.worker_lead(worker));
    if (options.asynchronous && !pushed_.empty()) continue;
    pushed_.push_back(flat(MemoryKind::kBuckets, fmt::format("worker {}", worker)));
  }
  sum_ = flat(MemoryKind::kGradients, "sum");
  if (options.server_updates) weights_ = flat(MemoryKind::kParameters, "weights");
  if (is_lead()) {
    members_ = layout_.server_members(server);
    for (const int member : members_) {
      partial_sums_.push_back(flat(MemoryKind::kBuckets, fmt::format("sum of rank {}", member)));
    }
    if (options.server_updates) make_pieces();
  }
  begin_with_the_parameters_of_worker_0();
}

Tensor ParameterServer::flat(MemoryKind kind, const std::string& name) const {
  return Tensor::empty(rank_.device, Shape{static_cast<std::int64_t>(range_.size())},
                       trained_.front().tensor.dtype(), kind, name);
}

/// The parameters, or parts of them, that lie in the shard.
void ParameterServer::make_pieces() {
  std::size_t offset = 0;
  for (const ServerPiece& part : pieces()) {
    const Shape shape = part.whole ? trained_[part.parameter].tensor.shape()
                                   : Shape{static_cast<std::int64_t>(part.part.size())};
    const auto piece = [&](const Tensor& of, const std::string& name) {
      return Tensor::view(rank_.device, of.buffer(), offset, shape, of.dtype(), name);
    };
    Tensor parameter = piece(weights_, part.name);
    parameter.set_requires_grad(true);
    gradients_.push_back(piece(sum_, part.name + ".grad"));
    parameter.set_grad(gradients_.back());
    pieces_.push_back({part.name, parameter});
    offset += part.part.size() * size_of(weights_.dtype());
  }
  optimizer_ = options_.optimizer(pieces_);
  if (options_.clip_grad_norm != 0) make_norms();
}

void ParameterServer::make_norms() {
  const auto norm = [this](const std::string& name) {
    return Tensor::empty(rank_.device, Shape{1}, weights_.dtype(), MemoryKind::kWorkspace, name);
  };
  const int own = layout_.server_of(rank_.rank);
  const int last = own == 0 ? layout_.servers() - 1 : own;
  for (int server = own; server <= last; ++server) {
    norms_.push_back(norm(fmt::format("norm of server {}", server)));
  }
  total_norm_ = norm("total-norm");
}

std::vector<NamedTensor> ParameterServer::optimizer_state() {
  if (!pieces_.empty()) send_state(rank_, layout_.worker_lead(0), optimizer_->state_dict());
  return {};
}

void ParameterServer::load_optimizer_state(const std::vector<NamedTensor>& state) {
  if (pieces_.empty()) return;
  optimizer_->load_state_dict(state_of_pieces(state, pieces(), trained_));
}

void ParameterServer::begin_with_the_parameters_of_worker_0() {
  if (is_lead()) receive_from_peers(rank_, {{layout_.worker_lead(0), answer().array()}});
  hand_on(answer());
  if (!options_.server_updates) answer_pulls(workers_);
}

/// The lead's values on every device of the server.
void ParameterServer::hand_on(Tensor& tensor) {
  if (!is_lead()) {
    receive_from_peers(rank_, {{lead_, tensor.array()}});
    return;
  }
  std::vector<PeerMessage> messages;
  for (const int member : members_) messages.push_back({member, tensor.array()});
  send_to_peers(rank_, messages);
}

void ParameterServer::answer_pulls(const std::vector<int>& workers) {
  const StepScope phase(devices_, Phase::kPull);
  std::vector<PeerMessage> messages;
  for (const int worker : workers) messages.push_back({worker, answer().array()});
  send_to_peers(rank_, messages);
}

void ParameterServer::receive_pushes(const std::vector<int>& workers) {
  const StepScope phase(devices_, Phase::kPush);
  std::vector<PeerMessage> messages;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    messages.push_back({workers[i], pushed_[i].array()});
  }
  receive_from_peers(rank_, messages);
}

/// On the lead: the sum over all workers.
void ParameterServer::aggregate() {
  const StepScope phase(devices_, Phase::kAggregate);
  accumulate(sum_, pushed_, factor(), /*continues=*/false);
  if (!is_lead()) {
    send_to_peers(rank_, {{lead_, sum_.array()}});
    return;
  }
  std::vector<PeerMessage> messages;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    messages.push_back({members_[i], partial_sums_[i].array()});
  }
  receive_from_peers(rank_, messages);
  accumulate(sum_, partial_sums_, 1, /*continues=*/true);
}

void ParameterServer::update() {
  const StepScope phase(devices_, Phase::kUpdate);
  if (is_lead() && options_.clip_grad_norm != 0) clip_gradients();
  optimizer_->step();
}

/// By the norm over all servers: each tells the first one the norm of its own gradients, and gets
/// the norm of all.
void ParameterServer::clip_gradients() {
  const int first = layout_.server_lead(0);
  if (rank_.rank == first) {
    std::vector<PeerMessage> heard;
    std::vector<PeerMessage> told;
    for (int server = 1; server < layout_.servers(); ++server) {
      const auto index = static_cast<std::size_t>(server);
      heard.push_back({layout_.server_lead(server), norms_[index].array()});
      told.push_back({layout_.server_lead(server), total_norm_.array()});
    }
    total_norm(norms_.front(), gradients_);
    receive_from_peers(rank_, heard);
    total_norm(total_norm_, norms_);
    send_to_peers(rank_, told);
  } else {
    total_norm(norms_.front(), gradients_);
    send_to_peers(rank_, {{first, norms_.front().array()}});
    receive_from_peers(rank_, {{first, total_norm_.array()}});
  }
  clip_with_norm(gradients_, total_norm_, options_.clip_grad_norm);
}

void ParameterServer::synchronous_step() {
  if (options_.server_updates) answer_pulls(workers_);
  receive_pushes(workers_);
  aggregate();
  if (options_.server_updates) update();
  {
    const StepScope phase(devices_, Phase::kReplicate);
    hand_on(answer());
  }
  if (!options_.server_updates) answer_pulls(workers_);
}

// ---------------------------------------------------------------- asynchronous

void ParameterServer::begin_epoch(int epoch, int steps) {
  if (!options_.asynchronous) return;
  std::vector<int> of_worker(static_cast<std::size_t>(layout_.workers()), steps);
  for (std::size_t worker = 0; worker < options_.worker_steps.size(); ++worker) {
    of_worker[worker] = std::min(steps, options_.worker_steps[worker]);
  }
  order_.emplace(std::move(of_worker), options_.staleness,
                 options_.seed + static_cast<std::uint64_t>(epoch));
  turn_ = order_->next();
  first_step_.reset();
}

/// As many pushes as there are workers, and the pulls before the next one.
void ParameterServer::asynchronous_step(int step) {
  if (!first_step_) first_step_ = step;
  for (int pushes = 0; turn_; turn_ = order_->next()) {
    const ServerTurn turn = *turn_;
    const bool is_push = turn.kind == ServerTurn::Kind::kPush;
    if (is_push && pushes++ == layout_.workers()) break;
    const StepScope scope(devices_, *first_step_ + turn.step, Phase::kAggregate);
    if (is_push) {
      pushed_.front().set_name(fmt::format("worker {}, {} old", turn.worker,
                                           counted(static_cast<std::size_t>(turn.age), "update")));
      receive_pushes({layout_.worker_lead(turn.worker)});
      aggregate();
      update();
    } else {
      answer_pulls({layout_.worker_lead(turn.worker)});
    }
  }
}

StepResult ParameterServer::train_step(const Batch& /*batch*/, int step,
                                       const StepDirectives& /*directives*/) {
  const StepScope scope(devices_, step, Phase::kAggregate);
  if (options_.asynchronous) {
    asynchronous_step(step);
  } else {
    synchronous_step();
  }
  return {};
}

Tensor ParameterServer::evaluate(const Batch& /*batch*/) {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("rank {} is a server: it has no model to evaluate", rank_.rank),
              "evaluate on a worker");
}

}  // namespace

std::unique_ptr<Strategy> make_server(std::shared_ptr<Module> module, Rank& rank,
                                      const ParameterServerOptions& options) {
  return std::make_unique<ParameterServer>(std::move(module), rank, options);
}

}  // namespace ringside
