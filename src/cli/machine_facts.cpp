// Bodies of machine_facts.h.
#include "cli/machine_facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "core/files.h"
#include "ringside/error.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not every system declares it

namespace ringside::cli {
namespace {

std::string text_of(const std::string& path) {
  try {
    return read_whole_file(path);
  } catch (const Error&) {
    return "";  // the system does not say
  }
}

// The value of the first line "key<separator> value".
std::string value_of(std::string_view text, std::string_view key, char separator) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t at = line.find(separator);
    if (at == std::string_view::npos) continue;
    std::string_view name = line.substr(0, at);
    while (name.ends_with(' ') || name.ends_with('\t')) name.remove_suffix(1);
    if (name != key) continue;
    std::string_view value = line.substr(at + 1);
    while (value.starts_with(' ') || value.starts_with('"')) value.remove_prefix(1);
    while (value.ends_with(' ') || value.ends_with('"')) value.remove_suffix(1);
    return std::string(value);
  }
  return "";
}

bool has_word(std::string_view text, std::string_view word) {
  return fmt::format(" {} ", text).find(fmt::format(" {} ", word)) != std::string::npos;
}

// The number that `text` begins with; 0 if it is none.
std::size_t number_in(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int usable_cores() {
  // The set must be as large as the kernel's, which may have been built for many more.
  for (std::size_t most = CPU_SETSIZE; most <= (std::size_t{1} << 20U); most *= 2) {
    std::vector<cpu_set_t> set(most / CPU_SETSIZE);
    const std::size_t bytes = set.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, set.data()) == 0) return CPU_COUNT_S(bytes, set.data());
    if (errno != EINVAL) break;
  }
  return 1;
}

using Clock = std::chrono::steady_clock;
constexpr auto kToolLimit = std::chrono::seconds(2);

// Everything that comes from `descriptor` until its end; nothing if that takes longer than `limit`.
std::optional<std::string> read_until_end(int descriptor, Clock::time_point limit) {
  std::string text;
  std::array<char, 4096> chunk{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now());
    pollfd waited{descriptor, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waited, 1, static_cast<int>(left.count())) <= 0) {
      return std::nullopt;
    }
    const ssize_t got = ::read(descriptor, chunk.data(), chunk.size());
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

// Whether the child ends well before `limit`; one that does not is killed. It may have closed its
// output long before it ends.
bool ends_well(pid_t child, Clock::time_point limit) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, WNOHANG)) == 0 && Clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (ended == 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  return ended == child && status == 0;
}

}  // namespace

std::string find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

std::optional<std::string> output_of(const std::vector<std::string>& words) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  std::optional<std::string> text;
  if (failed == 0) {
    const Clock::time_point limit = Clock::now() + kToolLimit;
    text = read_until_end(pipe[0], limit);
    if (!ends_well(child, text ? limit : Clock::now())) text.reset();
  }
  ::close(pipe[0]);
  return text;
}

CpuFacts cpu_facts_from(std::string_view cpuinfo, std::string_view meminfo) {
  CpuFacts facts;
  facts.cores = usable_cores();
  facts.model = value_of(cpuinfo, "model name", ':');
  if (facts.model.empty()) facts.model = "unknown";
  const std::string flags = value_of(cpuinfo, "flags", ':') + value_of(cpuinfo, "Features", ':');
  for (const char* name :
       {"sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_vnni", "amx_tile", "asimd", "sve"}) {
    if (has_word(flags, name)) facts.simd.emplace_back(name);
  }
  facts.memory_bytes = number_in(value_of(meminfo, "MemTotal", ':')) * 1024;
  return facts;
}

std::size_t available_memory_from(std::string_view meminfo, std::string_view group_limit,
                                  std::string_view group_use) {
  const std::size_t available = number_in(value_of(meminfo, "MemAvailable", ':')) * 1024;
  const std::size_t limit = number_in(group_limit);  // of "max" none
  if (limit == 0) return available;
  // Pages of files, which make up the rest of its use, are given up when memory is short.
  const std::size_t used = number_in(value_of(group_use, "anon", ' '));
  const std::size_t left = std::max<std::size_t>(limit - std::min(limit, used), 1);
  return available == 0 ? left : std::min(available, left);
}

std::size_t available_memory() {
  return available_memory_from(text_of("/proc/meminfo"), text_of("/sys/fs/cgroup/memory.max"),
                               text_of("/sys/fs/cgroup/memory.stat"));
}

CpuFacts cpu_facts() { return cpu_facts_from(text_of("/proc/cpuinfo"), text_of("/proc/meminfo")); }

std::string system_name() {
  std::string name = value_of(text_of("/etc/os-release"), "PRETTY_NAME", '=');
  utsname kernel{};
  if (::uname(&kernel) != 0) return name;
  return fmt::format("{}{}{} {} {}", name, name.empty() ? "" : ", ", kernel.sysname, kernel.release,
                     kernel.machine);
}

std::string nvidia_driver_version() {
  const std::string text = text_of("/proc/driver/nvidia/version");
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.07  Sat Feb 17 ..."
  const std::size_t at = text.find("Kernel Module");
  if (at == std::string::npos) return text.empty() ? "" : "unknown";
  const std::size_t begin = text.find_first_of("0123456789", at);
  if (begin == std::string::npos) return "unknown";
  return text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin);
}

}  // namespace ringside::cli
