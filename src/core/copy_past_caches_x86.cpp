// Streaming stores, four to a cache line.
#include <emmintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/copy_past_caches.h"

namespace ringside {

void copy_past_caches(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  const std::size_t past_line = reinterpret_cast<std::uintptr_t>(out) % kLine;
  const std::size_t head = std::min(bytes, past_line == 0 ? 0 : kLine - past_line);
  if (head > 0) std::memcpy(out, in, head);
  std::size_t at = head;
  for (; at + kLine <= bytes; at += kLine) {
    for (std::size_t part = 0; part < kLine; part += sizeof(__m128i)) {
      const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + at + part));
      _mm_stream_si128(reinterpret_cast<__m128i*>(out + at + part), value);
    }
  }
  if (at < bytes) std::memcpy(out + at, in + at, bytes - at);
  _mm_sfence();  // streaming stores are ordered with nothing else: others read after this call
}

}  // namespace ringside
