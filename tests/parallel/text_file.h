// A small text to learn, in a folder that goes away with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "data/temporary_folder.h"

namespace ringside::test {

/// Sentences "the little tiger sat on the wet mat." with three of nine words left to chance. They
/// have different lengths, so that no word belongs to a place.
inline std::string sentences(std::size_t bytes) {
  constexpr std::array<const char*, 3> kSizes{"big", "little", "old"};
  constexpr std::array<const char*, 3> kAnimals{"cat", "tiger", "hen"};
  constexpr std::array<const char*, 3> kMats{"wet", "yellow", "new"};
  std::uint32_t state = 1;
  const auto pick = [&state](const auto& words) {
    state = state * 1103515245U + 12345U;
    return std::string(words[(state >> 16) % words.size()]);
  };
  std::string text;
  while (text.size() < bytes) {
    text += "the " + pick(kSizes) + " ";
    text += pick(kAnimals) + " sat on the ";
    text += pick(kMats) + " mat. ";
  }
  return text;
}

class TextFile {
 public:
  explicit TextFile(std::size_t bytes) { folder_.write("sentences.txt", sentences(bytes)); }
  /// For --data.
  std::string spec() const { return "text:" + path(); }
  std::string path() const { return folder_.file("sentences.txt"); }

 private:
  TemporaryFolder folder_;
};

}  // namespace ringside::test
