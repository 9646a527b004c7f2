// A text as a data set: every byte is a token, and the next byte its target. The first nine tenths
// of the file train, the rest tests, so that no tested sequence has been seen.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "data/byte_stream.h"
#include "data/datasets.h"
#include "ringside/error.h"

namespace ringside {
namespace {

constexpr std::int64_t kByteValues = 256;
constexpr std::ptrdiff_t kTextTestPart = 10;

}  // namespace

TrainTest load_text(const std::string& path, std::int64_t tokens) {
  if (tokens < 1) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("data 'text:{}': sequences of {} tokens: must be at least 1", path, tokens));
  }
  const std::vector<unsigned char> bytes =
      ByteStream::of_file(path).read_rest(static_cast<std::uint64_t>(kMaxDatasetValues));
  const auto size = static_cast<std::ptrdiff_t>(bytes.size());
  const std::ptrdiff_t test_size = size / kTextTestPart;
  if (test_size < tokens + 1) {
    throw Error(ErrorKind::kInvalidInput,
                fmt::format("{}: has {} bytes, and the last tenth must hold a test sequence of {} "
                            "bytes and the next one: at least {} bytes are needed",
                            path, size, tokens, (tokens + 1) * kTextTestPart),
                "take a longer text or a model with a smaller context");
  }
  TrainTest data;
  data.train = data.test = Dataset{"text", Shape{tokens}, kByteValues, {}, {}};
  data.train.text.assign(bytes.begin(), bytes.end() - test_size);
  data.test.text.assign(bytes.end() - test_size, bytes.end());
  return data;
}

}  // namespace ringside
