// The trainer's events: what a scenario lets happen to a rank at a step.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

#include "parallel/exchange.h"
#include "parallel/rehearsal.h"
#include "parallel/trainer.h"
#include "ringside/comm.h"

namespace ringside {

StepDirectives Trainer::apply_events() {
  StepDirectives directives;
  for (const ScenarioEvent& event : plan_.scenario.events) {
    // What was registered before a checkpoint is registered again.
    const bool again = event.kind == ScenarioEvent::Kind::kRegisterHook && event.step < step_ &&
                       step_ == plan_.first().step;
    if (event.rank == own_rank() && (event.step == step_ || again)) apply(event, directives);
  }
  return directives;
}

void Trainer::apply(const ScenarioEvent& event, StepDirectives& directives) {
  switch (event.kind) {
    case ScenarioEvent::Kind::kPerturb: {
      const Tensor parameter = parameter_named(strategy_.module(), event.parameter);
      Tensor first = Tensor::view(parameter.device(), parameter.buffer(), parameter.array().offset,
                                  Shape{1}, parameter.dtype(), parameter.name());
      fill_in_place(first, host_value(first, 0) + event.amount);
      break;
    }
    case ScenarioEvent::Kind::kFreeze:
      parameter_named(strategy_.module(), event.parameter).set_requires_grad(false);
      break;
    case ScenarioEvent::Kind::kSlow:
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(event.amount));
      break;
    case ScenarioEvent::Kind::kOtherCollective: {
      const Tensor one = Tensor::full(rank_->device, Shape{rank_->communicator.size()},
                                      DType::kFloat32, 1, MemoryKind::kWorkspace, "other");
      CollectiveCall call;
      call.operation = event.operation;
      call.count = event.operation == Operation::kBarrier ? 0 : 1;
      call.send = has_blocks(event.operation) && event.operation != Operation::kReduceScatter &&
                          event.operation != Operation::kScatter
                      ? one.array().slice(static_cast<std::size_t>(own_rank()), 1)
                      : one.array();
      call.recv = call.send;
      enqueue_collective(*rank_, std::move(call)).wait(rank_->device.compute());
      break;
    }
    case ScenarioEvent::Kind::kReplace: {
      const Tensor old = parameter_named(strategy_.module(), event.parameter);
      Tensor fresh = Tensor::full(old.device(), old.shape(), old.dtype(), 0,
                                  MemoryKind::kParameters, old.name());
      fresh.set_requires_grad(true);
      strategy_.module().replace_tensor(event.parameter, fresh);
      break;
    }
    case ScenarioEvent::Kind::kBypass:
      directives.bypass = true;
      break;
    case ScenarioEvent::Kind::kNoSync:
      directives.no_sync = true;
      break;
    case ScenarioEvent::Kind::kNoSyncBackward:
      directives.no_sync_backward = true;
      break;
    case ScenarioEvent::Kind::kSecondBackward:
      directives.second_backward = true;
      break;
    case ScenarioEvent::Kind::kExtraForward:
      ++directives.extra_forwards;
      break;
    case ScenarioEvent::Kind::kFlagKeyword:
      directives.flag_keyword = true;
      break;
    case ScenarioEvent::Kind::kWrapOptimizer:
      directives.wrapped_optimizer = true;
      break;
    case ScenarioEvent::Kind::kKeywordTensor:
      directives.keyword_rows = static_cast<std::int64_t>(event.amount);
      break;
    case ScenarioEvent::Kind::kSecondTensor:
      directives.second_rows = static_cast<std::int64_t>(event.amount);
      break;
    case ScenarioEvent::Kind::kNoArguments:
      directives.no_arguments = true;
      break;
    case ScenarioEvent::Kind::kRegisterHook:
      directives.register_hook = true;
      break;
    case ScenarioEvent::Kind::kReplaceGradient:
      directives.replaced_gradients.push_back(event.parameter);
      break;
    case ScenarioEvent::Kind::kNoGradForward:
      ++directives.no_grad_forwards;
      break;
    case ScenarioEvent::Kind::kSummedLosses:
      directives.summed_losses = true;
      break;
    case ScenarioEvent::Kind::kOtherModel:  // build_model()
    case ScenarioEvent::Kind::kStop:
    case ScenarioEvent::Kind::kFewerBatches:
    case ScenarioEvent::Kind::kUnusedHead:
      break;  // not before the step: run_epoch(), run_step()
  }
}

bool Trainer::happens_here(ScenarioEvent::Kind kind) const {
  const auto& events = plan_.scenario.events;
  return std::any_of(events.begin(), events.end(), [&](const ScenarioEvent& event) {
    return event.kind == kind && event.rank == own_rank() && event.step == step_;
  });
}

}  // namespace ringside
