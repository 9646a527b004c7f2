#include <numeric>
#include <utility>

#include "support/trace_builder.h"
#include "views/step_traces.h"

namespace ringside::test {
namespace {

constexpr int kStep = 2;
constexpr std::size_t kParameters = 1'000'000;

class ParameterServerBuilder {
 public:
  explicit ParameterServerBuilder(const TraceRun::ParameterServer& who)
      : who_(who), builder_(facts(who)) {}

  Trace build() {
    builder_.at(kStep, Phase::kLoad);
    for (int rank = 0; rank < who_.workers; ++rank) {
      builder_.copy_from_host(rank, TraceBuilder::written("input", {16, 64}));
    }
    if (who_.server_updates) pull();
    for (int rank = 0; rank < who_.workers; ++rank) {
      const TraceTensor x = TraceBuilder::tensor("input", {16, 64});
      builder_.at(kStep, Phase::kForward).compute(rank, "linear", "0", 1e6, {x}, {});
      builder_.at(kStep, Phase::kLoss);
      builder_.compute(rank, "cross-entropy", "", 0, {}, {TraceBuilder::written("loss", {1})});
      builder_.at(kStep, Phase::kBackward).compute(rank, "linear-backward", "0", 1e6, {}, {});
    }
    builder_.at(kStep, Phase::kPush);
    for (int worker = 0; worker < who_.workers; ++worker) {
      for (int server = 0; server < who_.servers; ++server) {
        message(worker, who_.workers + server);
      }
    }
    builder_.at(kStep, Phase::kAggregate);
    for (int server = 0; server < who_.servers; ++server) {
      const std::string label = who_.asynchronous ? "worker 0, 0 updates old" : "worker 0";
      builder_.compute(who_.workers + server, "aggregate", label, 3e6, {}, {});
    }
    if (!who_.server_updates) pull();
    builder_.at(kStep, Phase::kUpdate);
    const int first = who_.server_updates ? who_.workers : 0;
    const int updating = who_.server_updates ? who_.servers : who_.workers;
    for (int i = 0; i < updating; ++i) builder_.compute(first + i, "sgd", "", 0, {}, {});
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
    builder_.at(kStep, Phase::kPull);
    for (int worker = 0; worker < who_.workers; ++worker) {
      for (int server = 0; server < who_.servers; ++server) {
        message(who_.workers + server, worker);
      }
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
  TraceBuilder builder_;
};

}  // namespace

Trace parameter_server_case(const TraceRun::ParameterServer& who) {
  return ParameterServerBuilder(who).build();
}

}  // namespace ringside::test
