#include <immintrin.h>

#include "core/pause.h"

namespace ringside {

void pause_core() { _mm_pause(); }

}  // namespace ringside
