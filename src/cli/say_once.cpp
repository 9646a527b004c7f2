// Body of say_once.h.
//
// A process that ends with an error makes mpirun end the others, and one that enters MPI to ask
// them may wait for ever. So they meet in a file: mpirun gives the processes of a job on one
// machine a directory, which it removes in the end. Whoever holds the lock of the file is alone
// with it, and loses it when it dies.
#include "cli/say_once.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "core/environment.h"
#include "core/fnv1a.h"
#include "core/split.h"

namespace ringside::cli {
namespace {

/// A file that processes append to, one at a time. Unusable where it cannot be opened.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    if (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) == 0) return;
    close();
  }
  ~LockedFile() { close(); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  bool is_usable() const { return descriptor_ >= 0; }
  std::string read() const {
    std::string text;
    std::array<char, 4096> part{};
    ssize_t count = 0;
    while ((count = ::read(descriptor_, part.data(), part.size())) > 0) {
      text.append(part.data(), static_cast<std::size_t>(count));
    }
    return text;
  }
  void append(std::string_view text) const {
    [[maybe_unused]] const auto written = ::write(descriptor_, text.data(), text.size());
  }

 private:
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  int descriptor_;
};

}  // namespace

void say_once(const std::string& text, const std::function<void()>& say) {
  // What PMIx, by which mpirun starts processes, tells each of them.
  const std::string directory(environment("PMIX_SERVER_TMPDIR"));
  const std::string job(environment("PMIX_NAMESPACE"));
  const std::string rank(environment("PMIX_RANK"));
  if (directory.empty() || job.empty() || rank.empty()) return say();

  const std::string prefix = fmt::format("rank {}: ", rank);
  const std::string common = text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  Fnv1a checksum;
  checksum.add(std::as_bytes(std::span(common)));
  const LockedFile file(fmt::format("{}/ringside-{}-{:016x}", directory, job, checksum.value()));
  if (!file.is_usable()) return say();

  // A rank stands there once for each time it had the error: a job may run programs in a row.
  std::map<std::string_view, int> times;
  const std::string content = file.read();
  for (const std::string_view each : split(content, '\n')) {
    if (!each.empty()) ++times[each];
  }
  const int own = times[rank];
  const bool is_said = std::any_of(times.begin(), times.end(),
                                   [own](const auto& entry) { return entry.second > own; });
  if (!is_said) say();
  file.append(rank + "\n");
}

}  // namespace ringside::cli
