#include "views/parameter_server_pushes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "views/step_diagram.h"
#include "views/text.h"
#include "views/update_rule.h"

namespace ringside {
namespace {

constexpr std::size_t kMostRows = 8;  // of pushes; more: those in the middle share a row

std::vector<int> ages_of(const std::vector<ParameterServerPush>& pushes) {
  std::vector<int> ages;
  for (const ParameterServerPush& push : pushes) {
    if (push.age) ages.push_back(*push.age);
  }
  return ages;
}

// "0 to 7 updates old"; empty where the trace does not say.
std::string age_range(const std::vector<ParameterServerPush>& pushes) {
  const std::vector<int> ages = ages_of(pushes);
  if (ages.empty()) return "";
  const auto [least, most] = std::minmax_element(ages.begin(), ages.end());
  if (*least == *most) return counted(static_cast<std::size_t>(*least), "update") + " old";
  return fmt::format("{} to {} updates old", *least, *most);
}

// "0 to 7 updates old, 2.5 on average".
std::string ages_text(const std::vector<ParameterServerPush>& pushes) {
  const std::vector<int> ages = ages_of(pushes);
  std::string range = age_range(pushes);
  if (std::adjacent_find(ages.begin(), ages.end(), std::not_equal_to<>()) == ages.end()) {
    return range;
  }
  const double sum = std::accumulate(ages.begin(), ages.end(), 0.0);
  return fmt::format("{}, {} on average", range,
                     short_number(sum / static_cast<double>(ages.size())));
}

// Pushes [first, end) of the step, in one row.
class PushRow {
 public:
  PushRow(const Trace& trace, int step, const ParameterServerFacts& who,
          const std::vector<ParameterServerPush>& pushes, std::size_t first, std::size_t end)
      : trace_(trace), step_(step), who_(who), pushes_(pushes), first_(first), end_(end) {}

  FlowRow make() const;

 private:
  bool is_one() const { return end_ == first_ + 1; }
  const ParameterServerPush& push() const { return pushes_[first_]; }
  bool has(int worker) const {
    return std::any_of(pushes_.begin() + static_cast<std::ptrdiff_t>(first_),
                       pushes_.begin() + static_cast<std::ptrdiff_t>(end_),
                       [worker](const ParameterServerPush& one) { return one.worker == worker; });
  }
  /// The messages from the row's workers.
  PhaseFacts facts() const;
  std::string caption(std::size_t bytes) const;
  std::string ages_range() const {
    return age_range({pushes_.begin() + static_cast<std::ptrdiff_t>(first_),
                      pushes_.begin() + static_cast<std::ptrdiff_t>(end_)});
  }
  FlowBox box_of(int rank, const PhaseFacts& facts) const;
  FlowBox worker_box(int rank) const;
  FlowBox server_box(int rank) const;

  const Trace& trace_;
  int step_;
  const ParameterServerFacts& who_;
  const std::vector<ParameterServerPush>& pushes_;
  std::size_t first_;
  std::size_t end_;
};

PhaseFacts PushRow::facts() const {
  PhaseFacts facts = who_.facts(Phase::kPush);
  std::erase_if(facts.sent, [&](const auto& item) {
    return !who_.is_worker(item.first.first) || !has(who_.number(item.first.first));
  });
  std::erase_if(facts.ops, [&](const TraceOp* op) {
    return who_.is_worker(op->rank) && !has(who_.number(op->rank));
  });
  return facts;
}

FlowBox PushRow::worker_box(int rank) const {
  if (has(who_.number(rank))) {
    if (!who_.is_lead(rank)) return idle_box(who_.name(rank));
    FlowBox sends = who_.push_box(rank);
    sends.follows = false;  // the box above is of another time
    return sends;
  }
  if (!who_.takes_part(rank)) return idle_box(who_.name(rank));
  if (!is_one()) return idle_box(who_.name(rank), "…");
  switch (push().workers[static_cast<std::size_t>(who_.number(rank))]) {
    case ParameterServerPush::Other::kHasNotPulled:
      return idle_box(who_.name(rank), "pulls later");
    case ParameterServerPush::Other::kComputes:
      return idle_box(who_.name(rank), "computes");
    case ParameterServerPush::Other::kHasPushed:
      break;
  }
  return idle_box(who_.name(rank), "next step");
}

FlowBox PushRow::server_box(int rank) const {
  const UpdateRule rule = update_rule(trace_, step_);
  const std::string gradients = is_one() ? who_.gradients_of(push().worker) : "dWᵢ";
  if (is_one() && !push().is_applied) {
    return box(BoxClass::kComm, gradients, fmt::format("push: on {}", who_.name(rank)));
  }
  const bool divides = who_.ps().mean && who_.replicas() > 1;
  const bool is_sum = divides && is_one() && who_.ps().worker_devices > 1;
  std::string text = fmt::format("g = {}{}{}{}", is_sum ? "(" : "", gradients, is_sum ? ")" : "",
                                 divides ? fmt::format(" / {}", who_.replicas()) : "");
  if (!is_one()) text += fmt::format(", {} times", end_ - first_);
  const std::string ages = ages_range();
  if (!ages.empty()) text += "\n" + ages;
  return box(BoxClass::kUpdate, text + "\n" + rule.text("g"),
             fmt::format("push, aggregate and update: on {}", who_.name(rank)));
}

FlowBox PushRow::box_of(int rank, const PhaseFacts& facts) const {
  if (!who_.is_recorded(rank)) return idle_box(who_.name(rank), "not recorded");
  if (who_.is_worker(rank)) return worker_box(rank);
  return facts.received_by(rank) > 0 ? server_box(rank) : idle_box(who_.name(rank));
}

std::string PushRow::caption(std::size_t bytes) const {
  if (!is_one()) {
    const std::string ages = ages_text({pushes_.begin() + static_cast<std::ptrdiff_t>(first_),
                                        pushes_.begin() + static_cast<std::ptrdiff_t>(end_)});
    return fmt::format("Pushes {} to {} of {}, each applied by itself as the others{}{}.",
                       first_ + 1, end_, pushes_.size(), ages.empty() ? "" : ": ", ages);
  }
  std::string text = fmt::format("Push {} of {} is applied by itself: {} from worker {}",
                                 first_ + 1, pushes_.size(), format_bytes(bytes), push().worker);
  if (!push().age) return text + ".";
  if (*push().age == 0) return text + ", computed with the weights as they still are.";
  return text + fmt::format(", computed with weights that {} changed since.",
                            *push().age == 1 ? "1 update has"
                                             : fmt::format("{} updates have", *push().age));
}

FlowRow PushRow::make() const {
  const PhaseFacts facts = this->facts();
  FlowRow row;
  row.phase = to_string(Phase::kPush);
  row.also = {std::string(to_string(Phase::kAggregate)), std::string(to_string(Phase::kUpdate))};
  const std::string numbers =
      is_one() ? std::to_string(first_ + 1) : fmt::format("{}-{}", first_ + 1, end_);
  row.name = fmt::format("{}-{}", row.phase, numbers);
  row.title = is_one() ? fmt::format("push {}, update", numbers)
                       : fmt::format("pushes {} to {}, updates", first_ + 1, end_);
  row.ports = ports_of(facts, trace_.run.devices, row.title, "rank");
  row.remark_is_bytes = row.has_transfer();
  row.remark = is_one() ? fmt::format("worker {}: {}", push().worker, format_bytes(facts.bytes()))
                        : format_bytes(facts.bytes());
  row.caption = may_be_cut_off(trace_, step_) ? cut_off_caption(facts, trace_.run.devices, "rank")
                                              : caption(facts.bytes());
  for (int rank = 0; rank < trace_.run.devices; ++rank) row.boxes.push_back(box_of(rank, facts));
  return row;
}

}  // namespace

std::string pushes_text(const std::vector<ParameterServerPush>& pushes) {
  const std::string ages = ages_text(pushes);
  const std::string who = pushes.size() == 1
                              ? "1 push is applied"
                              : fmt::format("{} pushes are applied one by one", pushes.size());
  return fmt::format("{}{}{}", who, ages.empty() ? "" : ", ", ages);
}

void add_push_rows(FlowDiagram& diagram, const Trace& trace, int step,
                   const ParameterServerFacts& who) {
  const std::vector<ParameterServerPush> pushes = who.pushes();
  const bool joins = pushes.size() > kMostRows;
  for (std::size_t first = 0; first < pushes.size();) {
    const bool joined = joins && first == kMostRows - 2;
    const std::size_t end = joined ? pushes.size() - 1 : first + 1;
    diagram.rows.push_back(PushRow(trace, step, who, pushes, first, end).make());
    first = end;
  }
}

}  // namespace ringside
