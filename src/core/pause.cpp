// Where no instruction for it is known to us: the loop is as quick as it is.
#include "core/pause.h"

namespace ringside {

void pause_core() {}

}  // namespace ringside
