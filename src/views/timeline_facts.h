// What the timeline picture shows, in seconds: one lane per rank with boxes for what it computes,
// what it communicates and when it waits for others, and the moments worth a guide line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringside/timeline.h"
#include "views/palette.h"

namespace ringside {

struct TimedBox {
  BoxClass box = BoxClass::kCompute;
  bool dark_fill = false;  ///< tells neighbouring buckets apart
  double start = 0;
  double end = 0;
  std::vector<std::string> texts;  ///< from the longest to the shortest; the first that fits
  std::string tooltip;
};

struct TimedLane {
  int rank = 0;
  std::string name;    ///< "rank 0", "server 1"
  std::string kind;    ///< "workers", "servers"; empty where all are alike
  std::string remark;  ///< "10 % slower"; may be empty
  std::vector<TimedBox> compute;
  std::vector<TimedBox> communication;
};

struct TimedMark {
  double time = 0;
  Ink ink = Ink::kCommLabel;
  std::string label;
};

/// A bucket whose gradients are ready and that is not yet all-reduced.
struct BucketWait {
  int bucket = -1;
  std::string waits_for;  ///< "bucket 1", "the broadcast before", "rank 2"
  double time = 0;        ///< seconds
};

struct TimelineFacts {
  std::string run;      ///< "mlp:64,32,10, rows per rank: 16, float32."
  std::string devices;  ///< "4 ranks", "2 of 4 ranks", "3 workers and 1 server"
  std::string busiest;  ///< whose times are told, where the lanes are not alike: "server 0"
  std::vector<TimedLane> lanes;
  std::vector<TimedMark> marks;  ///< ascending
  StepTimes times;
  std::optional<BucketWait> longest_wait;  ///< of one that is seen
  double begin = 0;
  double end = 0;
};

/// Times of the result count from the timeline's beginning.
TimelineFacts timeline_facts(const Trace& trace, const Timeline& timeline, int step);

}  // namespace ringside
