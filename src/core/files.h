// Whole files: read at once, written whole or not at all.
//
// A file that is written appears under its name only when every byte is on the file system: a full
// disk, an interrupt or a crash leaves the old file, or none. Threads: free functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace ringside {

/// The bytes of a file. Throws Error(kInvalidInput) where there is no such file or it is a
/// directory, Error(kIo) where the system refuses to read it.
std::string read_whole_file(const std::string& path);

/// Replaces or creates the file `path`. Devices and pipes (/dev/full, /dev/stdout) are written in
/// place. Throws Error(kIo): "cannot write step2.svg: No space left on device".
void write_whole_file(const std::string& path, std::string_view bytes);

/// Makes the directory and those above it; no error if it exists. Throws Error(kIo).
void make_directory(const std::string& path);

}  // namespace ringside
