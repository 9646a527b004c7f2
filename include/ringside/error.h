// The one exception type of Ringside, for everything that can happen to a user.
//
// An Error names the thing, shows both values and says what to do. A broken invariant of our own
// code is no Error: types and tests keep it, and where it is checked at run time it is thrown as a
// std::logic_error. Threads: an Error is a value; it may be copied to and rethrown on another
// thread.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace ringside {

enum class ErrorKind {
  /// wrong use: an option, argument or call that cannot be right (exit status 2)
  kInvalidArgument,
  /// bad input: a file, data set or trace that is missing, damaged or does not fit (exit status 2)
  kInvalidInput,
  kUnavailable,  ///< a backend or library that is not there (exit status 1)
  /// the operating system refused: no permission, disk full (exit status 1)
  kIo,
  kOutOfMemory,   ///< a device's memory is exhausted (exit status 1)
  kCommMismatch,  ///< ranks disagree about a collective call (exit status 1)
  kDeadlock,      ///< every rank waits or has ended and nothing can run (exit status 1)
  kRankFailed,    ///< another rank failed, so that this one cannot go on (exit status 1)
  /// an asynchronous error of a device, surfaced at a synchronisation (exit status 1)
  kDevice,
  kNotFinite,  ///< NaN or infinity where a finite number is required (exit status 1)
  /// training cannot go on, where PyTorch raises a RuntimeError; or its check (verify) found it
  /// wrong (exit status 1)
  kTrainingFailed
};

/// "invalid argument", "out of memory", ...: the name used in JSON output and tests.
std::string_view to_string(ErrorKind kind);

class Error : public std::runtime_error {
 public:
  /// `message` states what is wrong with both values ("batch size 0: must be at least 1"); `hint`
  /// says what to do, in one sentence, and may be empty. Both may quote anything: control
  /// characters but newline and tab are kept as "\x1b", and of a line of more than 2000 bytes the
  /// middle is left out.
  Error(ErrorKind kind, const std::string& message, std::string hint = {});

  ErrorKind kind() const { return kind_; }
  const std::string& hint() const { return hint_; }

  /// 2 for wrong use and bad input, else 1.
  int exit_status() const;

  /// The same error with `prefix` before its message, e.g. "rank 2: ".
  Error with_prefix(std::string_view prefix) const;

 private:
  ErrorKind kind_;
  std::string hint_;
};

}  // namespace ringside
