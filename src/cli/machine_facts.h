// What can be learned of the machine without linking anything: files under /proc, programs on PATH.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::cli {

/// The path of a program, found as a shell finds it; empty if there is none.
std::string find_program(std::string_view name);

/// What `words` writes to standard output, in a process of its own; nothing if it cannot be
/// started, fails, or takes longer than two seconds.
std::optional<std::string> output_of(const std::vector<std::string>& words);

struct CpuFacts {
  std::string model;              ///< "unknown" where the system does not say
  int cores = 1;                  ///< that this process may use
  std::vector<std::string> simd;  ///< "avx2", "avx512f", ..., of those that matter here
  std::size_t memory_bytes = 0;   ///< of the machine; 0 = unknown
};
CpuFacts cpu_facts();
/// The same from the texts of /proc/cpuinfo and /proc/meminfo.
CpuFacts cpu_facts_from(std::string_view cpuinfo, std::string_view meminfo);

/// Bytes of memory that can still be used here, within the limit of this process's control group if
/// it has one; 0 = unknown.
std::size_t available_memory();
/// The same from the texts of /proc/meminfo and of the group's memory.max and memory.stat.
std::size_t available_memory_from(std::string_view meminfo, std::string_view group_limit,
                                  std::string_view group_use);

/// "Debian GNU/Linux 12 (bookworm), Linux 6.1.0".
std::string system_name();

/// The version of NVIDIA's kernel driver; empty where there is none.
std::string nvidia_driver_version();

}  // namespace ringside::cli
