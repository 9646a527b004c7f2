// DistributedDataParallel's step: every rank has its own batch and a full replica; gradients are
// averaged bucket by bucket while backward still runs, and every rank makes the same update.
// Also the step on a single device, which is the same without its communication.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "views/buckets.h"
#include "views/collective_purpose.h"
#include "views/step_diagram.h"
#include "views/text.h"
#include "views/update_rule.h"

namespace ringside {
namespace {

// More buckets than this are drawn as the first ones, one row for those between, and the last.
constexpr std::size_t kMostBucketRows = 6;

// As many names as are set in `width` points, and how many more there are.
std::string first_names(const std::vector<std::string>& names, double width) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string longer = text + (i > 0 ? ", " : "") + clean_text(names[i]);
    const std::size_t left = names.size() - i - 1;
    const std::string end = left > 0 ? fmt::format(" and {} more", left) : "";
    if (i > 0 && text_width(longer + end, 10.5) > width) {
      return text + fmt::format(" and {} more", left + 1);
    }
    text = longer;
  }
  return fit_text(text, 10.5, width);
}

class ReplicatedDiagram {
 public:
  ReplicatedDiagram(const Trace& trace, int step)
      : trace_(trace),
        step_(step),
        is_single_(trace.run.strategy == "single"),
        who_(is_single_ ? device_word(trace) : "rank"),
        buckets_(buckets_of(trace, step)),
        waiting_(waiting_buckets(trace, step)) {}

  FlowDiagram make();

 private:
  PhaseFacts facts(Phase phase) const { return facts_of_phase(trace_, step_, phase); }
  std::string name(int rank) const { return fmt::format("{} {}", who_, rank); }
  bool is_recorded(int rank) const {
    return std::any_of(trace_.ops.begin(), trace_.ops.end(),
                       [&](const TraceOp& op) { return op.rank == rank; });
  }
  std::string part(std::string_view tensor, int rank) const {
    return is_single_ ? std::string(tensor) : fmt::format("{}{}", tensor, subscript(rank));
  }

  FlowRow row(Phase phase, const PhaseFacts& facts, std::string remark, std::string caption) const;
  template <typename Cell>
  void fill(FlowRow& row, const PhaseFacts& facts, const Cell& cell) const;

  void add_load(FlowDiagram& diagram) const;
  void add_sync_buffers(FlowDiagram& diagram) const;
  void add_forward_and_loss(FlowDiagram& diagram) const;
  void add_backward(FlowDiagram& diagram) const;
  void add_buckets(FlowDiagram& diagram) const;
  void add_bucket_rows(FlowDiagram& diagram, std::size_t first, std::size_t last) const;
  void add_waiting(FlowDiagram& diagram) const;
  std::string reason(const WaitingBucket& bucket) const;
  std::size_t sent_for(Phase phase, Purpose purpose) const {
    return bytes_for(trace_, step_, phase, purpose);
  }
  std::string backward_statistics() const;
  void add_finalize(FlowDiagram& diagram) const;
  void add_update(FlowDiagram& diagram) const;
  std::string caption() const;

  const Trace& trace_;
  int step_;
  bool is_single_;
  std::string who_;
  std::vector<StepBucket> buckets_;
  std::vector<WaitingBucket> waiting_;
};

FlowRow ReplicatedDiagram::row(Phase phase, const PhaseFacts& facts, std::string remark,
                               std::string caption) const {
  FlowRow row;
  row.phase = to_string(phase);
  row.name = row.phase;
  row.title = row.phase;
  row.remark = std::move(remark);
  row.caption = may_be_cut_off(trace_, step_) && !facts.ops.empty()
                    ? cut_off_caption(facts, trace_.run.devices, who_)
                    : std::move(caption);
  row.ports = ports_of(facts, trace_.run.devices, row.title, who_);
  row.remark_is_bytes = row.has_transfer();
  return row;
}

// `cell(rank)` for the ranks that do something in this phase, idle for the others. A rank in
// another process has no ops here at all.
template <typename Cell>
void ReplicatedDiagram::fill(FlowRow& row, const PhaseFacts& facts, const Cell& cell) const {
  for (int rank = 0; rank < trace_.run.devices; ++rank) {
    const bool active = facts.is_active(rank) && is_recorded(rank);
    row.boxes.push_back(active ? cell(rank)
                               : idle_box(name(rank), is_recorded(rank) ? "idle" : "not recorded"));
  }
}

void ReplicatedDiagram::add_load(FlowDiagram& diagram) const {
  const PhaseFacts load = facts(Phase::kLoad);
  FlowRow load_row =
      row(Phase::kLoad, load, is_single_ ? "batch and model" : "own rows, full replica",
          is_single_ ? "The batch and the model are on one device."
                     : "Every rank loads its own rows and has the whole model.");
  for (int rank = 0; rank < trace_.run.devices; ++rank) {
    if (may_be_cut_off(trace_, step_) && is_recorded(rank) && !load.is_active(rank)) {
      load_row.boxes.push_back(idle_box(name(rank), "not begun"));
      continue;
    }
    const TraceTensor* input = largest_arrival(load, rank);
    load_row.boxes.push_back(box(BoxClass::kData,
                                 fmt::format("{}\nW\u00A0 {}", tensor_text(part("x", rank), input),
                                             format_bytes(trace_.run.parameter_bytes)),
                                 fmt::format("load: batch and model of {}", name(rank))));
  }
  diagram.rows.push_back(std::move(load_row));
}

void ReplicatedDiagram::add_sync_buffers(FlowDiagram& diagram) const {
  const PhaseFacts sync = facts(Phase::kSyncBuffers);
  if (sync.collectives.empty()) return;
  const std::size_t count_bytes = sent_for(Phase::kSyncBuffers, Purpose::kActiveRanks);
  const std::size_t buffer_bytes = sent_for(Phase::kSyncBuffers, Purpose::kBuffers);
  std::vector<std::string> sentences;
  if (count_bytes > 0) {
    sentences.push_back(fmt::format("The ranks count who still has batches: {} in all.",
                                    format_bytes(count_bytes)));
  }
  if (buffer_bytes > 0 || sentences.empty()) {
    sentences.push_back(fmt::format("Rank 0's buffers overwrite those of the others: {} in all.",
                                    format_bytes(buffer_bytes)));
  }
  FlowRow sync_row = row(Phase::kSyncBuffers, sync, transfer_remark(sync),
                         fmt::format("{}", fmt::join(sentences, " ")));
  sync_row.title = buffer_bytes > 0 ? "sync-buffers (broadcast)" : "sync-buffers (all-reduce)";
  fill(sync_row, sync, [&](int rank) {
    if (buffer_bytes == 0 && count_bytes > 0) {
      return box(BoxClass::kComm, "active ranks", fmt::format("sync-buffers: on {}", name(rank)));
    }
    const bool is_root = sync.root() == rank;
    return box(is_root ? BoxClass::kData : BoxClass::kComm, is_root ? "buffers" : "buffers (copy)",
               fmt::format("sync-buffers: on {}", name(rank)));
  });
  diagram.rows.push_back(std::move(sync_row));
}

void ReplicatedDiagram::add_forward_and_loss(FlowDiagram& diagram) const {
  PhaseFacts forward = facts(Phase::kForward);
  // The few numbers that ranks exchange here are no data flow of the model.
  forward.sent.clear();
  if (!forward.ops.empty()) {
    std::vector<std::string> remarks;
    std::vector<std::string> parts;
    const auto tell = [&](Purpose purpose, std::string_view remark, std::string_view part) {
      const std::size_t sent = sent_for(Phase::kForward, purpose);
      if (sent == 0) return;
      remarks.push_back(fmt::format("{}: {}", remark, format_bytes(sent)));
      parts.push_back(fmt::format("{}, {} in all", part, format_bytes(sent)));
    };
    tell(Purpose::kBucketOrder, "bucket order",
         "the new order of the buckets goes from rank 0 to the others");
    tell(Purpose::kBatchStatistics, "statistics",
         "SyncBatchNorm gathers the statistics of all rows");
    tell(Purpose::kActiveRanks, "agreement", "the ranks agree whether they average this time");
    const std::string remark =
        remarks.empty() ? "nothing is sent" : fmt::format("{}", fmt::join(remarks, ", "));
    const std::string caption =
        fmt::format("Every rank computes on its own rows; {}{}.", parts.empty() ? "" : "only ",
                    parts.empty() ? "nothing is sent" : fmt::format("{}", fmt::join(parts, "; ")));
    FlowRow forward_row = row(Phase::kForward, forward, is_single_ ? "" : remark,
                              is_single_ ? "The network computes its outputs." : caption);
    fill(forward_row, forward, [&](int rank) {
      return box(BoxClass::kCompute, fmt::format("{} = f({})", part("y", rank), part("x", rank)),
                 fmt::format("forward: on {}", name(rank)));
    });
    diagram.rows.push_back(std::move(forward_row));
  }
  const PhaseFacts loss = facts(Phase::kLoss);
  if (loss.ops.empty()) return;
  FlowRow loss_row = row(Phase::kLoss, loss, is_single_ ? "" : "mean over the rank's rows",
                         is_single_ ? "The loss of the batch, and its gradient."
                                    : "Every rank has the loss of its own rows.");
  fill(loss_row, loss, [&](int rank) {
    const std::optional<double> value = scalar_result(loss, rank);
    return box(BoxClass::kLoss,
               fmt::format("{} = {}", part("L", rank),
                           value ? fixed(*value, 3) : fmt::format("loss({}, T)", part("y", rank))),
               fmt::format("loss: on {}", name(rank)));
  });
  diagram.rows.push_back(std::move(loss_row));
}

/// " SyncBatchNorm sums its gradients over the ranks: 1.536 kB in all."; empty without it.
std::string ReplicatedDiagram::backward_statistics() const {
  const std::size_t sent = sent_for(Phase::kBackward, Purpose::kBatchStatistics);
  if (sent == 0) return "";
  return fmt::format(" SyncBatchNorm sums gradients of its statistics over the ranks: {} in all.",
                     format_bytes(sent));
}

void ReplicatedDiagram::add_backward(FlowDiagram& diagram) const {
  const PhaseFacts backward = facts(Phase::kBackward);
  if (backward.ops.empty()) return;
  const bool plain = is_single_ || may_be_cut_off(trace_, step_);
  const std::string statistics = backward_statistics();
  FlowRow backward_row =
      row(Phase::kBackward, backward,
          plain                ? ""
          : statistics.empty() ? "nothing is sent"
                               : "no gradient is sent",
          plain ? "The gradients of the parameters."
                : "Every rank keeps its own gradients: nothing is synchronised in this step." +
                      statistics);
  fill(backward_row, backward, [&](int rank) {
    return box(BoxClass::kCompute, part("dW", rank), fmt::format("backward: on {}", name(rank)));
  });
  diagram.rows.push_back(std::move(backward_row));
}

void ReplicatedDiagram::add_bucket_rows(FlowDiagram& diagram, std::size_t first,
                                        std::size_t last) const {
  std::vector<const TraceOp*> ops;
  std::vector<std::string> parameters;
  std::size_t bytes = 0;
  for (std::size_t i = first; i <= last; ++i) {
    ops.insert(ops.end(), buckets_[i].ops.begin(), buckets_[i].ops.end());
    parameters.insert(parameters.end(), buckets_[i].parameters.begin(),
                      buckets_[i].parameters.end());
    bytes += buckets_[i].bytes;
  }
  const PhaseFacts all_reduce = gather_facts(ops);
  const std::string number =
      first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  const std::string bucket = fmt::format("{} {}", first == last ? "bucket" : "buckets", number);
  const std::string names = clean_text(fmt::format("{}", fmt::join(parameters, ", ")));

  const PhaseFacts backward = facts(Phase::kBackward);
  FlowRow backward_row = row(Phase::kBackward, {}, first_names(parameters, 150),
                             fmt::format("The gradients of {} are ready: {}.{}", bucket, names,
                                         first == 0 ? backward_statistics() : ""));
  backward_row.name = fmt::format("backward-{}", number);
  backward_row.follows = first == 0;  // backward does not wait for the average of the bucket before
  backward_row.title = fmt::format("backward, {}", bucket);
  fill(backward_row, backward, [&](int rank) {
    return box(BoxClass::kCompute,
               fmt::format("{} → {}\n{}", part("dW", rank), bucket, format_bytes(bytes)),
               fmt::format("backward: {} on {}: {}", bucket, name(rank), names));
  });
  diagram.rows.push_back(std::move(backward_row));

  const bool is_last = last + 1 == buckets_.size();
  const std::size_t map_bytes = sent_for(Phase::kAllReduce, Purpose::kUsedParameters);
  const std::string map =
      is_last && map_bytes > 0
          ? fmt::format(" The map of used parameters is summed, too: {} in all.",
                        format_bytes(map_bytes))
          : "";
  FlowRow reduce_row =
      row(Phase::kAllReduce, all_reduce, transfer_remark(all_reduce),
          fmt::format(
              "{} is averaged over all ranks{}: {} in all.{}",
              first == last ? fmt::format("Bucket {}", number) : fmt::format("Each of {}", bucket),
              is_last ? "; nothing is left to hide it behind" : " while backward goes on",
              format_bytes(all_reduce.bytes()), map));
  reduce_row.name = fmt::format("all-reduce-{}", number);
  reduce_row.title = fmt::format("all-reduce, {}", bucket);
  fill(reduce_row, all_reduce, [&](int rank) {
    return box(BoxClass::kComm, fmt::format("mean of {}", bucket),
               fmt::format("all-reduce: {} on {}", bucket, name(rank)));
  });
  diagram.rows.push_back(std::move(reduce_row));
}

void ReplicatedDiagram::add_buckets(FlowDiagram& diagram) const {
  const std::size_t count = buckets_.size();
  if (count <= kMostBucketRows) {
    for (std::size_t i = 0; i < count; ++i) add_bucket_rows(diagram, i, i);
    return;
  }
  const std::size_t first_hidden = kMostBucketRows - 2;
  for (std::size_t i = 0; i < first_hidden; ++i) add_bucket_rows(diagram, i, i);
  add_bucket_rows(diagram, first_hidden, count - 2);
  add_bucket_rows(diagram, count - 1, count - 1);
}

// What it waits for: "second.bias, second.weight", or "bucket 0", because buckets leave in order.
std::string ReplicatedDiagram::reason(const WaitingBucket& bucket) const {
  if (!bucket.late.empty()) {
    return fmt::format("rank{} {}", bucket.late.size() == 1 ? "" : "s", format_ranks(bucket.late));
  }
  if (bucket.missing.empty()) return fmt::format("bucket {}", waiting_.front().number);
  return first_names(bucket.missing, 150);
}

void ReplicatedDiagram::add_waiting(FlowDiagram& diagram) const {
  for (const WaitingBucket& bucket : waiting_) {
    const std::string waits = fmt::format("bucket {} waits", bucket.number);
    FlowRow waiting_row =
        row(Phase::kAllReduce, {}, "for " + reason(bucket),
            fmt::format(
                "Bucket {}, {}, is not averaged: it waits for {}{}.", bucket.number,
                format_bytes(bucket.bytes), reason(bucket),
                bucket.missing.empty() || !bucket.late.empty() ? "" : ", which got no gradient"));
    waiting_row.name = fmt::format("all-reduce-{}", bucket.number);
    waiting_row.title = fmt::format("all-reduce, bucket {}", bucket.number);
    waiting_row.follows = false;
    for (int rank = 0; rank < trace_.run.devices; ++rank) {
      waiting_row.boxes.push_back(idle_box(name(rank), waits));
    }
    diagram.rows.push_back(std::move(waiting_row));
  }
}

void ReplicatedDiagram::add_finalize(FlowDiagram& diagram) const {
  const PhaseFacts finalize = facts(Phase::kFinalize);
  const bool computes = std::any_of(
      finalize.ops.begin(), finalize.ops.end(),
      [](const TraceOp* op) { return op->kind != OpKind::kWait && op->kind != OpKind::kHost; });
  if (!computes) return;
  FlowRow finalize_row = row(Phase::kFinalize, finalize, "buckets back into .grad",
                             "The averages are copied from the buckets into the gradients.");
  fill(finalize_row, finalize, [&](int rank) {
    return box(BoxClass::kCompute, "dW ← buckets", fmt::format("finalize: on {}", name(rank)));
  });
  diagram.rows.push_back(std::move(finalize_row));
}

void ReplicatedDiagram::add_update(FlowDiagram& diagram) const {
  const PhaseFacts update = facts(Phase::kUpdate);
  if (update.ops.empty()) return;
  const bool adds = adds_after_averaging(trace_, step_);
  const bool same = !buckets_.empty() && waiting_.empty() && !adds;
  const std::string_view remark = same ? "the same on every rank" : "each rank its own";
  const std::string_view point =
      same ? "Every rank makes the same update, so the replicas stay equal."
      : adds
          ? "A second backward has added to the averages what nobody averaged: the replicas differ "
            "now."
          : "Every rank updates with gradients that were not averaged: the replicas differ now.";
  FlowRow update_row = row(Phase::kUpdate, update, std::string(is_single_ ? "" : remark),
                           std::string(is_single_ ? "The parameters take a step." : point));
  fill(update_row, update, [&](int rank) {
    return box(BoxClass::kUpdate, update_rule(trace_, step_).text("dW"),
               fmt::format("update: on {}", name(rank)));
  });
  diagram.rows.push_back(std::move(update_row));
}

std::string ReplicatedDiagram::caption() const {
  if (is_single_) {
    return fmt::format("{} Nothing is sent: one device does everything.",
                       run_text(trace_, "batch"));
  }
  std::string text = run_text(trace_, "rows per rank:");
  const bool cut_off = may_be_cut_off(trace_, step_);
  if (!waiting_.empty()) {
    return text + fmt::format(" {} of {} averaged: bucket {} waits for {}.", buckets_.size(),
                              counted(buckets_.size() + waiting_.size(), "bucket"),
                              waiting_.front().number, reason(waiting_.front()));
  }
  if (buckets_.empty()) {
    return cut_off ? text : text + " No gradient is synchronised in this step.";
  }
  std::size_t gradients = 0;
  std::vector<const TraceOp*> ops;
  for (const StepBucket& bucket : buckets_) {
    gradients += bucket.bytes;
    ops.insert(ops.end(), bucket.ops.begin(), bucket.ops.end());
  }
  const PhaseFacts all = gather_facts(ops);
  std::size_t most = 0;
  for (int rank = 0; rank < trace_.run.devices; ++rank) most = std::max(most, all.sent_by(rank));
  if (gradients == 0) return text;
  const std::string times =
      most == gradients
          ? "just"
          : short_number(static_cast<double>(most) / static_cast<double>(gradients)) + " times";
  return text + fmt::format(" {} of gradients in {}; a rank sends {}, {} as much.",
                            format_bytes(gradients), counted(buckets_.size(), "bucket"),
                            format_bytes(most), times);
}

FlowDiagram ReplicatedDiagram::make() {
  FlowDiagram diagram;
  diagram.name = fmt::format("step{}", step_);
  diagram.title = is_single_
                      ? fmt::format("One device: training step {}", step_)
                      : fmt::format("DistributedDataParallel: training step {} on {}", step_,
                                    counted(static_cast<std::size_t>(trace_.run.devices), "rank"));
  diagram.caption = caption() + failure_text(trace_, step_);
  for (int rank = 0; rank < trace_.run.devices; ++rank) {
    diagram.lanes.push_back({std::to_string(rank), name(rank), false, false});
  }
  add_load(diagram);
  add_sync_buffers(diagram);
  add_forward_and_loss(diagram);
  if (buckets_.empty()) {
    add_backward(diagram);
  } else {
    add_buckets(diagram);
  }
  add_waiting(diagram);
  add_finalize(diagram);
  add_update(diagram);
  return diagram;
}

}  // namespace

FlowDiagram ddp_diagram(const Trace& trace, int step) {
  return ReplicatedDiagram(trace, step).make();
}

FlowDiagram single_diagram(const Trace& trace, int step) {
  return ReplicatedDiagram(trace, step).make();
}

}  // namespace ringside
