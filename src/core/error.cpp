// Bodies of error.h.
#include "ringside/error.h"

#include <utility>

namespace ringside {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return "invalid argument";
    case ErrorKind::kInvalidInput:
      return "invalid input";
    case ErrorKind::kUnavailable:
      return "unavailable";
    case ErrorKind::kIo:
      return "input/output";
    case ErrorKind::kOutOfMemory:
      return "out of memory";
    case ErrorKind::kCommMismatch:
      return "collective mismatch";
    case ErrorKind::kDeadlock:
      return "deadlock";
    case ErrorKind::kRankFailed:
      return "rank failed";
    case ErrorKind::kDevice:
      return "device error";
    case ErrorKind::kNotFinite:
      return "not finite";
  }
  return "unknown";
}

Error::Error(ErrorKind kind, const std::string& message, std::string hint)
    : std::runtime_error(message), kind_(kind), hint_(std::move(hint)) {}

int Error::exit_status() const {
  return kind_ == ErrorKind::kInvalidArgument || kind_ == ErrorKind::kInvalidInput ? 2 : 1;
}

Error Error::with_prefix(std::string_view prefix) const {
  return Error(kind_, std::string(prefix) + what(), hint_);
}

}  // namespace ringside
