#include "parallel/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "parallel/exchange.h"
#include "parallel/logits.h"
#include "parallel/rehearsal.h"
#include "parallel/state_checksum.h"
#include "parallel/step_scope.h"
#include "parallel/unrecorded.h"
#include "parallel/verification.h"
#include "ringside/error.h"

namespace ringside {
namespace {

/// Leaves the model's second head out of the forwards of a scope.
class UnusedHead {
 public:
  UnusedHead(Module& module, bool unused) : module_(module), unused_(unused) {
    if (unused_) module_.use_second_head(false);
  }
  ~UnusedHead() {
    if (unused_) module_.use_second_head(true);
  }
  UnusedHead(const UnusedHead&) = delete;
  UnusedHead& operator=(const UnusedHead&) = delete;

 private:
  Module& module_;
  bool unused_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string text_of(std::uint64_t checksum) { return fmt::format("{:016x}", checksum); }

std::string not_finite_hint(const TrainingPlan& plan, int step) {
  for (const ScenarioEvent& event : plan.scenario.events) {
    if (event.kind != ScenarioEvent::Kind::kPerturb || event.step > step) continue;
    return fmt::format("rank {}'s {} was perturbed by {} before step {}: take a smaller amount",
                       event.rank, event.parameter, event.amount, event.step);
  }
  if (plan.start && step == plan.first().step) {
    return fmt::format("it is the first step: has {} values that are not finite?",
                       plan.start->path);
  }
  return fmt::format("try a smaller --lr than {}", plan.scenario.lr);
}

std::optional<CountedCalls> counted_calls(const Module& module) {
  if (!module.calls()) return std::nullopt;
  return CountedCalls{*module.calls(),
                      std::llround(host_value(module.named_buffers().front().tensor, 0))};
}

constexpr std::int64_t kEvaluationBatch = 256;

}  // namespace

Trainer::Trainer(const TrainingPlan& plan, Strategy& strategy, const std::vector<Device*>& devices,
                 Rank* rank, TrainingResult& result)
    : plan_(plan),
      strategy_(strategy),
      devices_(devices),
      rank_(rank),
      result_(result),
      step_(static_cast<int>(plan.first().step)),
      asked_until_(step_),
      epoch_(static_cast<int>(plan.first().epoch)) {
  result_.step_losses.resize(static_cast<std::size_t>(plan.total_steps), 0);
  result_.steps = step_;
  steps_taken_.resize(result_.step_losses.size(), 0);
}

void Trainer::run() {
  try {
    train();
  } catch (...) {
    result_.buckets = strategy_.buckets();
    throw;
  }
}

void Trainer::train() {
  restore();
  for (int epoch = epoch_; epoch < plan_.epochs; ++epoch) {
    const auto begin = std::chrono::steady_clock::now();
    if (!run_epoch(epoch)) return;  // a rank that stops asks nothing of others
    finish_epoch(epoch, seconds_since(begin));
  }
  const Unrecorded unrecorded(devices_);
  result_.step_losses = summed_over_ranks(result_.step_losses);
  steps_taken_ = summed_over_ranks(steps_taken_);
  for (int step = 0; step < step_; ++step) {
    const auto index = static_cast<std::size_t>(step);
    result_.step_losses[index] /= std::max(steps_taken_[index], 1.0);
  }
  result_.step_losses.resize(static_cast<std::size_t>(step_));
  result_.step_losses.erase(result_.step_losses.begin(),
                            result_.step_losses.begin() + plan_.first().step);
  result_.buckets = strategy_.buckets();
  if (devices_.front()->executes() && strategy_.takes_batches()) {
    result_.checksum = text_of(state_checksum(strategy_.state_dict()));
    result_.parameter_checksum = text_of(state_checksum(strategy_.module().named_parameters()));
    result_.counted_calls = counted_calls(strategy_.module());
  }
}

std::vector<std::int64_t> Trainer::indices_of_epoch(int epoch) const {
  SamplerOptions sampling;
  sampling.shuffle = plan_.scenario.shuffle;
  sampling.seed = plan_.scenario.seed;
  std::vector<std::int64_t> indices =
      distributed_sampler(plan_.data.train.size(), plan_.replicas, own_rank(), epoch, sampling);
  const std::size_t trained = static_cast<std::size_t>(batches_ * plan_.scenario.batch_size);
  indices.erase(indices.begin(),
                indices.begin() + static_cast<std::ptrdiff_t>(std::min(trained, indices.size())));
  return indices;
}

/// Null for a rank that takes no batches.
std::unique_ptr<Loader> Trainer::open_loader(int epoch) const {
  if (!strategy_.takes_batches()) return nullptr;
  const Scenario& scenario = plan_.scenario;
  LoaderOptions loading;
  loading.batch_size = scenario.batch_size;
  loading.workers = scenario.loader_workers;
  loading.pin_memory = scenario.pin_memory;
  loading.non_blocking = scenario.non_blocking;
  loading.dtype = scenario.dtype;
  return make_loader(plan_.data.train, indices_of_epoch(epoch), strategy_.input_device(), loading);
}

bool Trainer::run_epoch(int epoch) {
  epoch_ = epoch;
  result_.out_of_batches = false;
  batches_ = epoch == plan_.first().epoch ? plan_.first().batches : 0;
  const std::unique_ptr<Loader> loader = open_loader(epoch);
  epoch_loss_ = 0;
  epoch_rows_ = 0;
  Batch batch;
  const std::int64_t batches = (loader ? loader->batches() : plan_.batches_per_epoch - batches_) -
                               batches_left_out(plan_.scenario, own_rank());
  const std::int64_t accumulate = plan_.scenario.accumulate;
  const std::int64_t steps =
      std::min<std::int64_t>((batches + accumulate - 1) / accumulate, plan_.total_steps - step_);
  const int end = end_of_longest();
  strategy_.begin_epoch(epoch, static_cast<int>(std::max<std::int64_t>(steps, 0)));
  for (std::int64_t done = 0; done < steps; ++done) {
    result_.stopped = happens_here(ScenarioEvent::Kind::kStop);
    if (result_.stopped) return false;
    for (Device* device : devices_) device->context().step = step_;
    if (loader && !loader->next(batch)) break;
    const std::int64_t micro_batches = std::min(batches - done * accumulate, accumulate);
    run_step(batch, loader.get(), micro_batches);
    batches_ += micro_batches;
    save_if_due(/*all_ranks_have_ended=*/false);
    for (Device* device : devices_) device->context().step = -1;
  }
  result_.out_of_batches = true;
  const int shadowed = strategy_.inputs_exhausted(step_);
  step_ += shadowed;
  batches_ += shadowed;               // of the others: inside join each of their steps has one
  if (plan_.scenario.asynchronous) {  // the others have gone on
    batches_ += end - step_;
    step_ = end;
  }
  result_.steps = step_;
  if (plan_.scenario.verify && plan_.scenario.join != "off") {
    result_.verification.steps += shadowed;  // the others have verified them
    std::vector<int> all(static_cast<std::size_t>(plan_.replicas));
    std::iota(all.begin(), all.end(), 0);
    verify(all, step_ - 1);
  }
  save_if_due(/*all_ranks_have_ended=*/true);
  return true;
}

void Trainer::run_step(Batch batch, Loader* loader, std::int64_t micro_batches) {
  StepDirectives directives = apply_events();
  if (plan_.scenario.divide_loss) directives.loss_factor = 1 / static_cast<double>(micro_batches);
  double loss = 0;
  for (std::int64_t left = micro_batches; left > 0; --left) {
    StepDirectives of_batch = directives;
    of_batch.accumulate = left > 1;
    of_batch.no_sync = directives.no_sync || (left > 1 && plan_.scenario.no_sync);
    loss += run_micro_batch(batch, of_batch) / static_cast<double>(micro_batches);
    directives.extra_forwards = 0;  // before the step, not before each of its batches
    directives.no_grad_forwards = 0;
    directives.register_hook = false;
    if (left > 1 && !loader->next(batch)) break;
  }
  if (plan_.recorder) {
    for (const Device* device : devices_) plan_.recorder->note_memory(*device);
  }
  if (plan_.scenario.verify) {
    verify(ranks_at_work(), step_);
    ++result_.verification.steps;
  }
  if (step_ == plan_.first().step) result_.first_step_seconds = seconds_since(plan_.started);
  result_.step_losses[static_cast<std::size_t>(step_)] = loss;
  steps_taken_[static_cast<std::size_t>(step_)] = strategy_.takes_batches() ? 1 : 0;
  result_.steps = ++step_;
  if (own_rank() == 0 && plan_.observer.step) plan_.observer.step(step_, plan_.total_steps, loss);
}

double Trainer::run_micro_batch(const Batch& batch, const StepDirectives& directives) {
  const StepResult step = [&] {
    const UnusedHead scope(strategy_.module(), happens_here(ScenarioEvent::Kind::kUnusedHead));
    return strategy_.train_step(batch, step_, directives);
  }();
  const double loss = loss_of(step);
  if (!std::isfinite(loss)) {
    throw Error(ErrorKind::kNotFinite,
                fmt::format("step {}: the loss is {}: training has diverged", step_,
                            std::isnan(loss) ? "nan" : "infinite"),
                not_finite_hint(plan_, step_));
  }
  epoch_loss_ += loss * static_cast<double>(step.rows);
  epoch_rows_ += static_cast<double>(step.rows);
  return loss;
}

/// Waits for the step. 0 of a rank without a loss.
double Trainer::loss_of(const StepResult& step) {
  if (!step.loss.defined()) {
    for (Device* device : devices_) device->synchronize();
    return 0;
  }
  const StepScope phase(devices_, Phase::kLoss);
  return host_value(step.loss, 0);
}

/// The step after the epoch of the rank that has most batches, as it begins.
int Trainer::end_of_longest() const {
  const int any_server = plan_.replicas;
  const std::int64_t batches =
      plan_.batches_per_epoch - batches_ - batches_left_out(plan_.scenario, any_server);
  return static_cast<int>(std::min<std::int64_t>(step_ + batches, plan_.total_steps));
}

/// Of the ranks that take batches, those with a batch for this step.
std::vector<int> Trainer::ranks_at_work() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < plan_.replicas; ++rank) {
    const std::int64_t own = plan_.batches_per_epoch - batches_left_out(plan_.scenario, rank);
    if (batches_ < own) ranks.push_back(rank);
  }
  return ranks;
}

void Trainer::verify(const std::vector<int>& ranks, int step) {
  const Unrecorded unrecorded(devices_);
  strategy_.end_epoch();  // weights that lie on servers come to where they can be compared
  if (!strategy_.takes_batches()) return;
  if (rank_) verify_ranks(*rank_, ranks, strategy_, step);
  if (own_rank() == 0) {
    verify_single_device(plan_, strategy_.module(), step, result_.verification);
  }
}

// ---------------------------------------------------------------- metrics

std::vector<double> Trainer::summed_over_ranks(const std::vector<double>& own) {
  if (!rank_ || own.empty()) return own;
  const StepScope phase(devices_, Phase::kEvaluate);
  return sum_of_all(*rank_, own);
}

void Trainer::finish_epoch(int epoch, double seconds) {
  const Unrecorded unrecorded(devices_);
  strategy_.end_epoch();
  const std::vector<double> sums = summed_over_ranks({epoch_loss_, epoch_rows_});
  if (sums[1] == 0 && plan_.total_steps > 0 && step_ == plan_.total_steps) return;
  EpochReport report;
  report.epoch = epoch;
  report.loss = sums[1] > 0 ? sums[0] / sums[1] : 0;
  report.seconds = seconds;
  if (own_rank() == 0 && devices_.front()->executes()) evaluate(report);
  result_.epochs.push_back(report);
  if (own_rank() == 0 && plan_.observer.epoch) plan_.observer.epoch(report);
}

void Trainer::evaluate(EpochReport& report) {
  const Dataset& test = plan_.data.test;
  if (test.size() == 0) return;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(test.size()));
  std::iota(indices.begin(), indices.end(), 0);
  LoaderOptions loading;
  loading.batch_size = kEvaluationBatch;
  loading.dtype = plan_.scenario.dtype;
  const std::unique_ptr<Loader> loader =
      make_loader(test, indices, strategy_.input_device(), loading);
  double loss = 0;
  double correct = 0;
  Batch batch;
  while (loader->next(batch)) {
    const Tensor output = strategy_.evaluate(batch);
    const Tensor targets =
        &output.device() == &batch.targets.device()
            ? batch.targets
            : Tensor::from_host(output.device(), batch.targets.shape(), DType::kInt64,
                                host_values(batch.targets), MemoryKind::kInputs, "targets");
    const Tensor logits = logit_rows(output.detach());
    const Tensor answers = target_rows(targets);
    loss += host_value(cross_entropy(logits, answers), 0) * static_cast<double>(batch.rows());
    correct += host_value(count_correct(logits, answers), 0);
  }
  report.test_loss = loss / static_cast<double>(test.size());
  report.test_accuracy = correct / static_cast<double>(test.size() * test.targets_per_sample());
}

}  // namespace ringside
