// Vectors of kBytes, the compilers' own (GCC and Clang, every processor); loads are unaligned.
//
// For loops that are compiled once for each instruction set, each with a width of its own:
// everything here is a template of the width, so that what the linker may exchange is only ever of
// the same set, and nothing of the standard library is called.
#pragma once

#include <cstdint>

namespace ringside {

template <typename T, int kBytes>
struct VectorLanes {
  typedef T Type __attribute__((vector_size(kBytes)));  // NOLINT(modernize-use-using): attribute
  static constexpr std::int64_t kLanes = kBytes / static_cast<int>(sizeof(T));

  static Type load(const T* from) {
    Type value;
    __builtin_memcpy(&value, from, kBytes);
    return value;
  }
  static void store(T* to, Type value) { __builtin_memcpy(to, &value, kBytes); }

  /// Halves are added until one lane is left.
  static T sum(Type value) {
    T lanes[kLanes];
    store(lanes, value);
    fold<kLanes / 2>(lanes);
    return lanes[0];
  }

 private:
  template <std::int64_t kHalf>
  static void fold(T* lanes) {
    for (std::int64_t i = 0; i < kHalf; ++i) lanes[i] += lanes[i + kHalf];
    if constexpr (kHalf > 1) fold<kHalf / 2>(lanes);
  }
};

}  // namespace ringside
