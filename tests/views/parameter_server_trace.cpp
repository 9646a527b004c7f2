#include <string>
#include <utility>
#include <vector>

#include "support/trace_builder.h"
#include "views/step_traces.h"

namespace ringside::test {
namespace {

class ParameterServerBuilder {
 public:
  ParameterServerBuilder(const TraceRun::ParameterServer& who, std::string optimizer, int absent)
      : who_(who), optimizer_(std::move(optimizer)), absent_(absent), builder_(facts(who)) {}

  Trace build() {
    if (absent_ >= 0) {
      builder_.at(kStep - 1, Phase::kForward).compute(absent_, "linear", "0", 1e6, {}, {});
    }
    builder_.at(kStep, Phase::kLoad);
    for (int rank = 0; rank < who_.workers; ++rank) {
      if (rank == absent_) continue;
      builder_.copy_from_host(rank, TraceBuilder::written("input", {16, 64}));
    }
    if (who_.server_updates && !who_.asynchronous) pull();
    for (int rank = 0; rank < who_.workers; ++rank) {
      if (rank == absent_) continue;
      const TraceTensor x = TraceBuilder::tensor("input", {16, 64});
      builder_.at(kStep, Phase::kForward).compute(rank, "linear", "0", 1e6, {x}, {});
      builder_.at(kStep, Phase::kLoss);
      builder_.compute(rank, "cross-entropy", "", 0, {}, {TraceBuilder::written("loss", {1})});
      builder_.at(kStep, Phase::kBackward).compute(rank, "linear-backward", "0", 1e6, {}, {});
    }
    if (who_.asynchronous) {
      serve_one_by_one();
      return builder_.finish();
    }
    builder_.at(kStep, Phase::kPush);
    for (int worker = 0; worker < who_.workers; ++worker) {
      for (int server = 0; server < who_.servers; ++server) {
        message(worker, who_.workers + server);
      }
    }
    builder_.at(kStep, Phase::kAggregate);
    for (int server = 0; server < who_.servers; ++server) {
      builder_.compute(who_.workers + server, "aggregate", "worker 0", 3e6, {}, {});
    }
    if (!who_.server_updates) pull();
    builder_.at(kStep, Phase::kUpdate);
    const int first = who_.server_updates ? who_.workers : 0;
    const int updating = who_.server_updates ? who_.servers : who_.workers;
    for (int i = 0; i < updating; ++i) update(first + i);
    return builder_.finish();
  }

 private:
  static TraceRun facts(const TraceRun::ParameterServer& who) {
    TraceRun run;
    run.strategy = "ps";
    run.backend = "sim";
    run.model = "linear";
    run.devices = who.workers + who.servers;
    run.batch_size = 16;
    run.parameters = kParameters;
    run.parameter_bytes = kParameters * 4;
    run.parameter_server = who;
    return run;
  }

  void pull() {
    for (int worker = 0; worker < who_.workers; ++worker) pull(worker);
  }

  void pull(int worker) {
    builder_.at(kStep, Phase::kPull);
    for (int server = 0; server < who_.servers; ++server) message(who_.workers + server, worker);
  }

  void update(int rank) {
    std::vector<TraceTensor> writes = {TraceBuilder::tensor("0.weight", {16, 64})};
    if (optimizer_ == "momentum") {
      writes.push_back(TraceBuilder::tensor("0.weight.momentum_buffer", {16, 64}));
    }
    builder_.compute(rank, optimizer_ == "momentum" ? "sgd" : optimizer_, "0.weight", 0, {},
                     writes);
  }

  // The last worker pulls and pushes first; then the others have pulled, and push from the last to
  // the first: worker w of n is n - 2 - w updates old.
  void serve_one_by_one() {
    const int last = who_.workers - 1;
    pull(last);
    push(last, 0);
    for (int worker = 0; worker < last; ++worker) {
      if (worker != absent_) pull(worker);
    }
    for (int worker = last - 1; worker >= 0; --worker) {
      if (worker != absent_) push(worker, last - 1 - worker);
    }
  }

  void push(int worker, int age) {
    for (int server = 0; server < who_.servers; ++server) {
      const int rank = who_.workers + server;
      builder_.at(kStep, Phase::kPush);
      message(worker, rank);
      builder_.at(kStep, Phase::kAggregate);
      const std::string old = age == 1 ? "1 update old" : std::to_string(age) + " updates old";
      builder_.compute(rank, "aggregate", "worker " + std::to_string(worker) + ", " + old, 3e6, {},
                       {});
      builder_.at(kStep, Phase::kUpdate);
      update(rank);
    }
  }

  void message(int from, int to) {
    ScheduleRequest request;
    request.operation = Operation::kSend;
    request.algorithm = Algorithm::kStar;
    request.ranks = who_.workers + who_.servers;
    request.root = from;
    request.peer = to;
    request.count = kParameters / static_cast<std::size_t>(who_.servers);
    builder_.collective(from, request, ReduceOp::kSum, 0, {}, {});
    request.operation = Operation::kRecv;
    builder_.collective(to, request, ReduceOp::kSum, 0, {}, {});
  }

  TraceRun::ParameterServer who_;
  std::string optimizer_;
  int absent_;
  TraceBuilder builder_;
};

}  // namespace

Trace parameter_server_case(const TraceRun::ParameterServer& who, const std::string& optimizer,
                            int absent_worker) {
  return ParameterServerBuilder(who, optimizer, absent_worker).build();
}

}  // namespace ringside::test
