// For loops that look again and again.
#pragma once

namespace ringside {

/// Tells the processor that the calling thread waits for another: the next look comes a moment
/// later, and leaves the other core alone until then.
void pause_core();

}  // namespace ringside
