// Whole files: read at once, written whole or not at all.
//
// A file that is written appears under its name only when every byte is on the file system: a full
// disk, an interrupt or a crash leaves the old file, or none. Threads: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ringside {

/// The bytes of a file. Throws Error(kInvalidInput) where there is no such file, it is a directory,
/// or it is longer than `limit` (0 = none; what is no regular file may never end, so there it is
/// 256 MiB), Error(kIo) where the system refuses to read it.
std::string read_whole_file(const std::string& path, std::size_t limit = 0);

/// kSynced: before the file gets its name its bytes are on the disk, and afterwards the name is, so
/// that not even a power failure leaves half of it.
enum class Durability : std::uint8_t { kCached, kSynced };

/// Replaces or creates the file `path`; a file that is replaced keeps its permissions, and where
/// `path` is a link, what it leads to is written. Devices and pipes (/dev/full, /dev/stdout) are
/// written in place. Throws Error(kIo): "cannot write step2.svg: No space left on device".
void write_whole_file(const std::string& path, std::string_view bytes,
                      Durability durability = Durability::kCached);

/// Makes the directory and those above it; no error if it exists. Throws Error(kIo).
void make_directory(const std::string& path);

}  // namespace ringside
