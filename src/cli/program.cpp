// Body of program.h.
#include "cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/json.h"
#include "cli/say_once.h"
#include "cli/terminal.h"
#include "ringside/error.h"
#include "ringside/version.h"

namespace ringside::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells report it

extern "C" void stop_at_interrupt(int) {
  if (::isatty(STDERR_FILENO) == 1) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, "\n", 1);
  }
  ::_exit(kInterrupted);
}

// At once, from any state: files appear only when they are whole (core/files.h).
void stop_quickly_at_interrupt() {
  struct sigaction action {};
  action.sa_handler = stop_at_interrupt;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
}

constexpr std::string_view kFullMemory = "this machine has not enough memory for that";
constexpr std::string_view kFullMemoryHint =
    "try fewer devices, a smaller model or smaller batches";

/// With --json, what goes to standard output when memory is full: made while there still is some.
std::string& full_memory_document() {
  static std::string document;
  return document;
}

void write_raw(int descriptor, std::string_view text) {
  [[maybe_unused]] const auto written = ::write(descriptor, text.data(), text.size());
}

// Wherever the allocation was that failed, in a worker's books or a destructor, nothing can be
// unwound safely: the program says so and ends at once. Files appear only when they are whole.
void stop_at_full_memory() {
  write_raw(STDERR_FILENO, "ringside: error: ");
  write_raw(STDERR_FILENO, kFullMemory);
  write_raw(STDERR_FILENO, "\nhint: ");
  write_raw(STDERR_FILENO, kFullMemoryHint);
  write_raw(STDERR_FILENO, "\n");
  write_raw(STDOUT_FILENO, full_memory_document());
  ::_exit(kFailed);
}

void stop_cleanly_at_full_memory(bool json) {
  const Error error(ErrorKind::kOutOfMemory, std::string(kFullMemory),
                    std::string(kFullMemoryHint));
  if (json) full_memory_document() = error_document(error, kFailed);
  std::set_new_handler(stop_at_full_memory);
}

/// Set when the system has refused memory or threads.
std::atomic<bool>& exhausted() {
  static std::atomic<bool> flag{false};
  return flag;
}

// A library whose own threads could not start may wait for them for ever when it is unloaded (so
// does OpenBLAS). The handler is the first to be registered, so it runs behind all ends of our own.
void leave_libraries_alone_when_exhausted() {
  ::on_exit(
      [](int status, void* /*unused*/) {
        if (!exhausted()) return;
        std::fflush(nullptr);
        ::_exit(status);
      },
      nullptr);
}

// A standard stream that the caller closed would be the next file that is opened. Opened for
// reading alone, writing to it stays an error.
void keep_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0) {
      [[maybe_unused]] const int opened = ::open("/dev/null", O_RDONLY);
    }
  }
}

int dispatch(const std::string& name, const std::vector<std::string>& words, bool json) {
  const bool color = use_color(STDOUT_FILENO, "auto");
  if (words.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "no command is given",
                "'ringside --help' lists the commands; 'ringside demo' is a good start");
  }
  const std::string& first = words.front();
  if (first == "--help" || first == "-h" || (first == "help" && words.size() == 1)) {
    write_to(STDOUT_FILENO, program_help(color));
    return 0;
  }
  const bool is_version = first == "--version" || first == "-V";
  const std::size_t taken = first == "help" ? 2 : 1;
  if (first == "help" || is_version) {
    for (const std::string& word : std::span(words).subspan(taken)) {
      if (word == "--json" || word == "--json=true") continue;
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("'{}' has no meaning behind {}", word, first), "leave it out");
    }
  }
  if (first == "help") {
    write_to(STDOUT_FILENO, command_help(find_command(words[1]), color));
    return 0;
  }
  if (is_version) {
    write_to(STDOUT_FILENO, json ? version_document() : fmt::format("ringside {}\n", kVersion));
    return 0;
  }
  if (first.starts_with('-')) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("unknown option {}", first),
                "options come after a command: ringside COMMAND --OPTION");
  }
  const Command& command = find_command(first);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (std::find(rest.begin(), rest.end(), "--help") != rest.end() ||
      std::find(rest.begin(), rest.end(), "-h") != rest.end()) {
    write_to(STDOUT_FILENO, command_help(command, color));
    return 0;
  }
  Arguments arguments = parse_arguments(command, rest);
  arguments.program = name;
  Terminal terminal(arguments);
  return command.run(arguments, terminal);
}

// On standard error for people; with --json on standard output too, as a document. Under mpirun
// what all processes have to say is said once.
int report(const Error& error, bool json) {
  const bool refused =
      error.kind() == ErrorKind::kUnavailable || error.kind() == ErrorKind::kOutOfMemory;
  if (refused) exhausted() = true;
  const int status = error.exit_status();
  const bool color = use_color(STDERR_FILENO, "auto");
  std::string text =
      fmt::format("ringside: {} {}\n", paint("error:", Style::kBad, color), error.what());
  if (!error.hint().empty()) {
    text += fmt::format("{} {}\n", paint("hint:", Style::kBold, color), error.hint());
  }
  say_once(fmt::format("{}\n{}", error.what(), error.hint()), [&] {
    write_note(text);
    try {
      if (json) write_to(STDOUT_FILENO, error_document(error, status));
    } catch (const std::exception&) {
      return;  // nobody listens any more
    }
  });
  return status;
}

Error translate(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return Error(ErrorKind::kOutOfMemory, std::string(kFullMemory), std::string(kFullMemoryHint));
  }
  if (dynamic_cast<const std::length_error*>(&exception) != nullptr) {
    return Error(ErrorKind::kOutOfMemory, "that is more than this machine can address",
                 std::string(kFullMemoryHint));
  }
  if (const auto* system = dynamic_cast<const std::system_error*>(&exception)) {
    return Error(ErrorKind::kIo, fmt::format("the system refused: {}", system->code().message()),
                 "fewer devices need fewer threads and less memory");
  }
  return Error(ErrorKind::kDevice, fmt::format("internal error: {}", exception.what()),
               "this is a fault of Ringside: please report it with the command you gave");
}

}  // namespace

int run_program(const std::string& name, const std::vector<std::string>& words) {
  keep_standard_streams();
  stop_quickly_at_interrupt();
  ::signal(SIGXFSZ,
           SIG_IGN);  // a file over the user's limit (ulimit -f) is an error like a full disk
  const bool json = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "--json" || word == "--json=true";
  });
  stop_cleanly_at_full_memory(json);
  leave_libraries_alone_when_exhausted();
  try {
    return dispatch(name, words, json);
  } catch (const OutputClosed&) {
    return kFailed;
  } catch (const Error& error) {
    return report(error, json);
  } catch (const std::exception& exception) {
    return report(translate(exception), json);
  }
}

}  // namespace ringside::cli
