// Counts what a program takes from operator new, all threads together. DEPENDS
// counted_allocations, which brings operators new of its own; the sanitizers have theirs, so such
// tests are not built with them.
#pragma once

#include <cstdint>

namespace ringside::test {

/// Since the program began.
std::int64_t allocations_so_far();

}  // namespace ringside::test
