#include "ringside/strategy.h"

#include <fmt/format.h>

namespace ringside {

std::vector<NamedTensor> Strategy::optimizer_state() {
  std::vector<NamedTensor> state = optimizer().state_dict();
  for (NamedTensor& entry : state) entry.name.erase(0, key_prefix().size());
  return state;
}

void Strategy::load_optimizer_state(const std::vector<NamedTensor>& state) {
  std::vector<NamedTensor> own = state;
  for (NamedTensor& entry : own) entry.name.insert(0, key_prefix());
  optimizer().load_state_dict(own);
}

}  // namespace ringside
