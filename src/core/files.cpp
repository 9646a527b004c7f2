// Bodies of files.h. A new file is written without a name (O_TMPFILE) and given one at the end, so
// that nothing is left behind by a process that dies; where the file system cannot do that, it is
// written beside its place as NAME.partial-PID-NUMBER and renamed.
#include "core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ringside/error.h"

namespace ringside {
namespace {

constexpr std::size_t kEndlessLimit = std::size_t{1} << 28U;  // of pipes and devices

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }
  /// Some file systems tell of a full disk only here.
  bool close() { return ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

[[noreturn]] void throw_cannot(std::string_view what, const std::string& path, int error) {
  const bool absent = what == "read" && (error == ENOENT || error == ENOTDIR || error == EISDIR);
  std::string hint;
  if (error == ENOSPC) hint = "free some space, or write to another disk";
  if (error == EACCES || error == EROFS) hint = "choose a directory you may write to";
  if (what == "read") hint = error == ENOENT ? "check the spelling of the path" : "";
  if (what == "write" && error == ENOENT) hint = "make its directory first";
  throw Error(absent ? ErrorKind::kInvalidInput : ErrorKind::kIo,
              fmt::format("cannot {} {}: {}", what, path.empty() ? "''" : path,
                          std::generic_category().message(error)),
              hint);
}

void write_all(const File& file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.descriptor(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_cannot("write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void sync(const File& file, const std::string& path, Durability durability) {
  if (durability == Durability::kSynced && ::fsync(file.descriptor()) != 0) {
    throw_cannot("write", path, errno);
  }
}

// The new name. Some file systems cannot do that for a directory: then it is as safe as they are.
void sync_directory(const std::string& directory, Durability durability) {
  if (durability != Durability::kSynced) return;
  const File file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.open()) ::fsync(file.descriptor());
}

// A name that no other write of this process takes, nor one of another process.
std::string partial_name(const std::string& target) {
  static std::atomic<unsigned> number{0};
  return fmt::format("{}.partial-{}-{}", target, ::getpid(), number++);
}

// The file that a path of links ends at, which need not exist yet.
std::filesystem::path target_of(const std::string& path) {
  constexpr int kMostLinks = 40;  // as Linux follows
  std::filesystem::path target(path);
  std::error_code error;
  for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(target, error); ++links) {
    target = target.parent_path() / std::filesystem::read_symlink(target, error);
  }
  if (std::filesystem::is_symlink(target, error)) throw_cannot("write", path, ELOOP);
  return target;
}

// Gives the nameless file a name: beside its place first, since linkat() cannot replace a file.
bool name_file(const File& file, const std::string& partial) {
  const std::string nameless = fmt::format("/proc/self/fd/{}", file.descriptor());
  return ::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, partial.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

void rename_into_place(const std::string& partial, const std::string& path) {
  if (::rename(partial.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  ::unlink(partial.c_str());
  throw_cannot("write", path, error);
}

// `mode`: of the file that this one replaces; null if there is none.
void fill(const File& file, std::string_view bytes, const std::string& path, Durability durability,
          const mode_t* mode) {
  if (mode != nullptr) ::fchmod(file.descriptor(), *mode & 07777U);
  write_all(file, bytes, path);
  sync(file, path, durability);
}

void write_beside(const std::string& path, const std::string& partial, std::string_view bytes,
                  Durability durability, const mode_t* mode) {
  File file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.open()) throw_cannot("write", path, errno);
  try {
    fill(file, bytes, path, durability, mode);
    if (!file.close()) throw_cannot("write", path, errno);
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
  rename_into_place(partial, path);
}

void write_in_place(const std::string& path, std::string_view bytes) {
  File file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.open()) throw_cannot("write", path, errno);
  write_all(file, bytes, path);
  if (!file.close()) throw_cannot("write", path, errno);
}

}  // namespace

std::string read_whole_file(const std::string& path, std::size_t limit) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) throw_cannot("read", path, errno);
  struct stat status {};
  const bool may_never_end = ::fstat(file.descriptor(), &status) == 0 && !S_ISREG(status.st_mode);
  if (limit == 0 && may_never_end) limit = kEndlessLimit;
  std::string bytes;
  constexpr std::size_t kChunk = 1 << 16;
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kChunk);
    const ssize_t got = ::read(file.descriptor(), bytes.data() + before, kChunk);
    bytes.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got < 0 && errno != EINTR) throw_cannot("read", path, errno);
    if (got == 0) return bytes;
    if (limit != 0 && bytes.size() > limit) {
      throw Error(ErrorKind::kInvalidInput,
                  fmt::format("cannot read {}: it goes on after {} bytes", path, limit),
                  "check that this is the file you mean");
    }
  }
}

void write_whole_file(const std::string& path, std::string_view bytes, Durability durability) {
  if (path.empty()) throw_cannot("write", path, ENOENT);
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) throw_cannot("write", path, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) return write_in_place(path, bytes);

  const mode_t* const mode = exists ? &status.st_mode : nullptr;
  const std::filesystem::path target = target_of(path);
  const std::string directory = target.has_parent_path() ? target.parent_path().string() : ".";
  const std::string partial = partial_name(target.string());
  File file(::open(directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
  const bool nameless = file.open();
  if (nameless) {
    fill(file, bytes, path, durability, mode);
  }
  if (nameless && name_file(file, partial)) {
    if (!file.close()) {
      const int error = errno;
      ::unlink(partial.c_str());
      throw_cannot("write", path, error);
    }
    rename_into_place(partial, target.string());
  } else {
    write_beside(target.string(), partial, bytes, durability, mode);
  }
  sync_directory(directory, durability);
}

void make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error)) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) {
    throw Error(ErrorKind::kIo,
                fmt::format("cannot make the directory {}: {}", path.empty() ? "''" : path,
                            error.message()),
                "choose another directory");
  }
}

}  // namespace ringside
