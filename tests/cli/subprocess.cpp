#include "cli/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace ringside::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(std::size_t end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
};

// In the child, between fork and exec: system calls only.
[[noreturn]] void become(const std::vector<char*>& argv, const std::vector<char*>& environment,
                         const ProcessOptions& options, int output, int errors) {
  const int null = ::open("/dev/null", O_RDONLY);
  const int out =
      options.standard_output.empty() ? output : ::open(options.standard_output.c_str(), O_WRONLY);
  if (out < 0 || ::dup2(null, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(errors, 2) < 0) ::_exit(126);
  if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) ::_exit(126);
  ::signal(SIGPIPE, SIG_DFL);
  ::execve(argv[0], argv.data(), environment.data());
  ::_exit(127);
}

std::vector<std::string> environment_of(const ProcessOptions& options) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable(*entry);
    const bool replaced =
        std::any_of(options.environment.begin(), options.environment.end(),
                    [&](const auto& added) { return variable.starts_with(added.first + "="); });
    if (!replaced) variables.push_back(variable);
  }
  for (const auto& [name, value] : options.environment) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// Appends what is there to read; false at the end.
bool take(int descriptor, std::string& text) {
  std::array<char, 65536> chunk{};
  const ssize_t got = ::read(descriptor, chunk.data(), chunk.size());
  if (got > 0) text.append(chunk.data(), static_cast<std::size_t>(got));
  return got > 0;
}

// Reads both pipes until their ends, sending the signal and keeping the limit on the way.
void listen(pid_t child, Pipe& output, Pipe& errors, const ProcessOptions& options,
            Clock::time_point started, ProcessResult& result) {
  bool signalled = options.signal == 0;
  while (output.ends[0] >= 0 || errors.ends[0] >= 0) {
    const auto now = Clock::now();
    if (!signalled && now - started >= options.signal_after) {
      ::kill(child, options.signal);
      signalled = true;
    }
    if (now - started >= options.limit) {
      result.timed_out = true;
      ::kill(child, SIGKILL);
      return;
    }
    std::array<pollfd, 2> waited{{{output.ends[0], POLLIN, 0}, {errors.ends[0], POLLIN, 0}}};
    constexpr int kPollMilliseconds = 5;
    if (::poll(waited.data(), waited.size(), kPollMilliseconds) <= 0) continue;
    if (waited[0].revents != 0 && !take(output.ends[0], result.output)) output.close_end(0);
    if (waited[1].revents != 0 && !take(errors.ends[0], result.errors)) errors.close_end(0);
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& words, const ProcessOptions& options) {
  std::vector<std::string> argument_texts = words;
  std::vector<std::string> variable_texts = environment_of(options);
  const std::vector<char*> argv = pointers(argument_texts);
  const std::vector<char*> environment = pointers(variable_texts);
  ProcessResult result;
  for (const std::string& word : words) result.command += "'" + word + "' ";

  Pipe output;
  Pipe errors;
  if (options.close_output) output.close_end(0);
  const auto started = Clock::now();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become(argv, environment, options, output.ends[1], errors.ends[1]);
  output.close_end(1);
  errors.close_end(1);
  listen(child, output, errors, options, started, result);
  int status = 0;
  ::waitpid(child, &status, 0);
  result.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

ProcessResult run_ringside(const std::vector<std::string>& arguments,
                           const ProcessOptions& options) {
  std::vector<std::string> words{RINGSIDE_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_process(words, options);
}

ScratchDirectory::ScratchDirectory() {
  std::string pattern = (fs::temp_directory_path() / "ringside-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> ScratchDirectory::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(path_)) {
    if (!entry.is_directory()) names.push_back(fs::relative(entry.path(), path_).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace ringside::test
