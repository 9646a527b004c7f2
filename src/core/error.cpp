// Bodies of error.h.
#include "ringside/error.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ringside {
namespace {

// A message quotes what users typed and what files hold. A control character in it could end the
// text early (NUL) or command the terminal (ESC), and a value of a million characters would bury
// what is said about it.
constexpr std::size_t kLongestLine = 2000;
constexpr std::size_t kShownBegin = 1200;
constexpr std::size_t kShownEnd = 400;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

std::string abridged(std::string_view line) {
  if (line.size() <= kLongestLine) return std::string(line);
  std::size_t begin = kShownBegin;
  std::size_t end = line.size() - kShownEnd;
  while (begin > 0 && continues_character(line[begin])) --begin;
  while (end < line.size() && continues_character(line[end])) ++end;
  return std::string(line.substr(0, begin)) + " ... (" + std::to_string(end - begin) +
         " bytes left out) ... " + std::string(line.substr(end));
}

std::string without_controls(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    if (!is_control(c)) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += "\\x";
      result += kDigits[byte >> 4U];
      result += kDigits[byte & 0xFU];
    }
  }
  return result;
}

std::string presentable(std::string text) {
  const bool plain = std::none_of(text.begin(), text.end(), is_control);
  if (plain && text.size() <= kLongestLine) return text;
  std::string result;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t newline = std::min(text.find('\n', at), text.size());
    if (at > 0) result += '\n';
    result += abridged(without_controls(std::string_view(text).substr(at, newline - at)));
    at = newline + 1;
  }
  return result;
}

}  // namespace

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
    case ErrorKind::kTrainingFailed:
      return "training failed";
  }
  return "unknown";
}

Error::Error(ErrorKind kind, const std::string& message, std::string hint)
    : std::runtime_error(presentable(message)), kind_(kind), hint_(presentable(std::move(hint))) {}

int Error::exit_status() const {
  return kind_ == ErrorKind::kInvalidArgument || kind_ == ErrorKind::kInvalidInput ? 2 : 1;
}

Error Error::with_prefix(std::string_view prefix) const {
  return Error(kind_, std::string(prefix) + what(), hint_);
}

}  // namespace ringside
