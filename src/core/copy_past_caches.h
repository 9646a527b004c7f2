// A copy of what will not be read again soon. One of two sources is built:
// copy_past_caches_x86.cpp for x86-64, copy_past_caches.cpp for other processors.
#pragma once

#include <cstddef>

namespace ringside {

/// memcpy that, where the processor can, writes to memory without reading the overwritten lines
/// into the caches first. Any thread.
void copy_past_caches(void* to, const void* from, std::size_t bytes);

}  // namespace ringside
