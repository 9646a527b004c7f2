#include "sim/comm/engine_options.h"

#include "core/launch_blocking.h"

namespace ringside::sim {

EngineOptions engine_options(const WorldOptions& options) {
  EngineOptions engine;
  engine.workers = options.workers;
  engine.random_delay_us = options.random_delay_us;
  engine.delay_seed = options.delay_seed;
  engine.launch_blocking = launch_blocking_from_environment();
  return engine;
}

}  // namespace ringside::sim
