// Thousands of damaged files: each is read or refused with an error that names the file; none ends
// the program, and what is accepted is a file of the format.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/small_file.h"
#include "ringside/checkpoint.h"
#include "ringside/error.h"

namespace ringside::test {
namespace {

enum class Outcome { kRead, kRefused };

/// Fails the test unless the bytes are refused as they should be, or are a whole file.
Outcome outcome_of(const std::string& bytes) {
  try {
    const SafetensorsFile file = parse_safetensors(bytes, "mutated");
    std::size_t filled = 0;
    for (const SafetensorsEntry& entry : file.header.entries) {
      EXPECT_EQ(entry.begin, filled);
      EXPECT_EQ(file.bytes_of(entry).size(), entry.bytes());
      filled = entry.end;
    }
    EXPECT_EQ(filled, file.data.size());
    // What has been read can be written and read again.
    EXPECT_EQ(parse_safetensors(to_safetensors(file), "again").header.entries.size(),
              file.header.entries.size());
    return Outcome::kRead;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput) << error.what();
    EXPECT_TRUE(std::string_view(error.what()).starts_with("mutated: ")) << error.what();
    return Outcome::kRefused;
  }
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string mutate(std::string bytes) {
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) change(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void change(std::string& bytes) {
    static const std::vector<std::string> kPieces = {"{",
                                                     "}",
                                                     "[",
                                                     "]",
                                                     ",",
                                                     ":",
                                                     "\"",
                                                     "0",
                                                     "-1",
                                                     "1e9",
                                                     "\\u0000",
                                                     "null",
                                                     "true",
                                                     "\xff",
                                                     "F64",
                                                     "99999999999999999999",
                                                     "BF16",
                                                     "__metadata__",
                                                     "data_offsets",
                                                     "9223372036854775807",
                                                     "\xc3",
                                                     "\\ud800",
                                                     "4",
                                                     "  "};
    const std::size_t at = below(bytes.size() + 1);
    switch (below(7)) {
      case 0:  // a bit
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:  // cut off
        bytes.resize(at);
        break;
      case 2:  // a piece more
        bytes.insert(at, kPieces[below(kPieces.size())]);
        break;
      case 3:  // a piece instead
        bytes.replace(at, below(8), kPieces[below(kPieces.size())]);
        break;
      case 4:  // some bytes less
        bytes.erase(at, below(16));
        break;
      case 5:  // some bytes twice
        bytes.insert(at, bytes.substr(below(bytes.size()), below(80)));
        break;
      default:  // another number, and the length mended half of the time
        for (char& letter : bytes) {
          if (letter >= '0' && letter <= '9' && below(20) == 0) {
            letter = static_cast<char>('0' + below(10));
          }
        }
        break;
    }
  }

  std::mt19937 random_;
};

/// The same with the header's length as it is after the change, so that the JSON is looked at.
std::string with_true_length(const std::string& bytes, std::size_t data_bytes) {
  if (bytes.size() < 8 + data_bytes) return bytes;
  const std::size_t length = bytes.size() - 8 - data_bytes;
  return file_of(std::string_view(bytes).substr(8, length),
                 std::string_view(bytes).substr(8 + length));
}

TEST(SafetensorsMutation, EveryDamageIsAnErrorOrAFile) {
  const SafetensorsFile file = small_file();
  const std::string bytes = to_safetensors(file);
  int read = 0;
  int refused = 0;
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    std::string mutated = Mutator(seed).mutate(bytes);
    if (seed % 2 == 0) mutated = with_true_length(mutated, file.data.size());
    (outcome_of(mutated) == Outcome::kRead ? read : refused)++;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  // Both kinds must have been tried: a changed value in a tensor is no damage that can be seen.
  EXPECT_GT(read, 500);
  EXPECT_GT(refused, 5'000);
}

TEST(SafetensorsMutation, EveryCutIsAnError) {
  const std::string bytes = to_safetensors(small_file());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(outcome_of(bytes.substr(0, size)), Outcome::kRefused) << size;
  }
  EXPECT_EQ(outcome_of(bytes), Outcome::kRead);
  EXPECT_EQ(outcome_of(bytes + "x"), Outcome::kRefused);
}

TEST(SafetensorsMutation, EveryByteOfTheHeaderMayBeAnything) {
  const std::string bytes = to_safetensors(small_file());
  const std::size_t header = bytes.size() - small_file().data.size();
  for (std::size_t at = 0; at < header; ++at) {
    for (const int value : {0, 0x20, 0x22, 0x30, 0x39, 0x5b, 0x7b, 0x7f, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      outcome_of(changed);
      if (HasFailure()) FAIL() << "byte " << at << " as " << value;
    }
  }
}

}  // namespace
}  // namespace ringside::test
