// Runs the real program as a user's shell would: arguments, environment, a time limit.
//
// A process that does not end in time is killed and reported, so that a hang is a failed test.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ringside::test {

struct ProcessOptions {
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to the test's own
  std::string directory;        ///< working directory; empty = the test's
  std::string standard_output;  ///< a file to write to instead of the pipe: "/dev/full"
  bool close_output = false;    ///< nobody reads standard output
  int signal = 0;               ///< sent after `signal_after`; 0 = none
  std::chrono::milliseconds signal_after{0};
  std::chrono::seconds limit{60};
};

struct ProcessResult {
  int status = -1;  ///< exit status; 128 + signal if one ended it
  bool timed_out = false;
  double seconds = 0;
  std::string output;   ///< standard output
  std::string errors;   ///< standard error
  std::string command;  ///< for messages
};

/// Runs the program `ringside` of this build.
ProcessResult run_ringside(const std::vector<std::string>& arguments,
                           const ProcessOptions& options = {});
ProcessResult run_process(const std::vector<std::string>& words, const ProcessOptions& options);

/// A directory of this test alone, removed at its end.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Relative paths of all files, sorted.
  std::vector<std::string> files() const;

 private:
  std::string path_;
};

}  // namespace ringside::test
