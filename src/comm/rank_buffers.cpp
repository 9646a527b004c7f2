#include "comm/rank_buffers.h"

#include "schedule/ownership.h"

namespace ringside {

RankBuffers rank_buffers(const Schedule& schedule, const CollectiveCall& call, int rank) {
  return {schedule::input_range(schedule, rank), call.send.raw(),
          schedule::output_range(schedule, rank), call.recv.raw()};
}

}  // namespace ringside
