#include "architecture/include_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace ringside::test {
namespace {

using Rooms = std::set<std::string>;

// The picture in docs/architecture.md as a table: each room, lowest first, and the rooms it may
// include. Backends and simulated devices are named by the registry and each other alone; tensor
// and nn know nothing of communication.
const std::vector<std::pair<std::string, Rooms>> kMayInclude = {
    {"core", {}},
    {"device", {"core"}},
    {"checkpoint", {"core"}},
    {"schedule", {"core", "device"}},
    {"trace", {"core", "device", "schedule"}},
    {"scenario", {"core", "device", "schedule", "trace"}},
    {"tensor", {"core", "device"}},
    {"nn", {"core", "device", "tensor"}},
    {"optim", {"core", "device", "tensor", "nn"}},
    {"data", {"core", "device", "tensor", "nn"}},
    {"comm", {"core", "device", "schedule"}},
    {"benchmark", {"core", "device", "schedule", "comm"}},
    {"parallel",
     {"core", "device", "schedule", "trace", "scenario", "tensor", "nn", "optim", "data", "comm",
      "checkpoint"}},
    {"calculators",
     {"core", "device", "schedule", "trace", "scenario", "tensor", "nn", "optim", "data", "comm",
      "parallel"}},
    {"machine", {"core"}},
    {"replay", {"core", "device", "schedule", "trace", "machine"}},
    {"views", {"core", "device", "schedule", "trace", "replay"}},
    {"sim/device", {"core", "device", "tensor"}},
    {"sim/comm", {"core", "device", "schedule", "tensor", "comm", "sim/device"}},
    {"backends/meta", {"core", "device", "schedule", "tensor", "comm"}},
    {"backends/mpi", {"core", "device", "schedule", "tensor", "comm", "sim/device", "sim/comm"}},
    {"backends/cuda", {"core", "device", "schedule", "tensor", "comm"}},
    {"registry",
     {"core", "device", "comm", "sim/device", "sim/comm", "backends/meta", "backends/mpi",
      "backends/cuda"}},
    {"cli",
     {"core", "device", "schedule", "trace", "scenario", "tensor", "nn", "optim", "data", "comm",
      "parallel", "machine", "replay", "views", "checkpoint", "calculators", "benchmark"}},
};

// The room of each public header. Beside them, a source in src/core that carries the name of a
// public header belongs to that header's room: src/core/device.cpp implements device.h.
const std::map<std::string, std::string> kRoomOfPublicHeader = {
    {"version", "core"},
    {"error", "core"},
    {"dtype", "core"},
    {"checkpoint", "checkpoint"},
    {"float16", "core"},
    {"inline_function", "core"},
    {"inline_vector", "core"},
    {"device", "device"},
    {"kernels", "device"},
    {"schedule", "schedule"},
    {"trace", "trace"},
    {"timeline", "trace"},
    {"tensor", "tensor"},
    {"value", "tensor"},
    {"nn", "nn"},
    {"optim", "optim"},
    {"data", "data"},
    {"comm", "comm"},
    {"world", "comm"},
    {"ddp", "parallel"},
    {"strategy", "parallel"},
    {"data_parallel", "parallel"},
    {"scenario", "scenario"},
    {"machine", "machine"},
    {"replay", "replay"},
    {"views", "views"},
    // What devices of every backend share lies in src/core, too.
    {"memory_ledger", "device"},
};

// Libraries that one room wraps for all others, by the beginning of the include.
struct LibraryRule {
  std::string_view prefix;
  Rooms rooms;
  bool in_headers;  // heavy headers are for few sources
};
const std::vector<LibraryRule> kLibraryRules = {
    {"mpi.h", {"backends/mpi"}, true},
    {"cuda", {"backends/cuda"}, true},
    {"cublas", {"backends/cuda"}, true},
    {"nccl.h", {"backends/cuda"}, true},
    {"graphviz/", {"views"}, false},
    {"cblas.h", {"tensor"}, false},
    {"zlib.h", {"data"}, false},
    {"boost/container/", {"sim/comm", "tensor"}, true},
    {"boost/program_options", {"cli"}, false},
    {"toml++/", {"scenario", "machine"}, false},
    {"nlohmann/json.hpp", {"cli", "trace", "parallel", "views", "machine", "checkpoint"}, false},
};

bool is_header(const std::string& path) { return path.ends_with(".h") || path.ends_with(".cuh"); }

// "src/nn/linear.cpp" -> "nn", "sim/machine/presets.h" -> "machine", "include/ringside/nn.h" ->
// "nn".
std::optional<std::string> room_of(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string stem = file.stem().string();
  if (path.starts_with("include/ringside/") || path.starts_with("src/core/")) {
    if (const auto found = kRoomOfPublicHeader.find(stem); found != kRoomOfPublicHeader.end()) {
      return found->second;
    }
    return path.starts_with("src/core/") ? std::optional<std::string>("core") : std::nullopt;
  }
  std::string folder = file.parent_path().generic_string();
  if (folder.starts_with("src/")) folder = folder.substr(4);
  if (folder == "sim/machine" || folder == "sim/replay") folder = folder.substr(4);
  for (const auto& [room, allowed] : kMayInclude) {
    if (folder == room || folder.starts_with(room + "/")) return room;
  }
  return std::nullopt;
}

// The file that "x" in an #include stands for, as CMake's include folders are set.
std::string file_of_include(const std::string& include) {
  if (include.starts_with("ringside/")) return "include/" + include;
  if (include.starts_with("sim/")) return include;
  return "src/" + include;
}

const Rooms* allowed_for(const std::string& room) {
  const auto found = std::find_if(kMayInclude.begin(), kMayInclude.end(),
                                  [&](const auto& entry) { return entry.first == room; });
  return found == kMayInclude.end() ? nullptr : &found->second;
}

std::optional<std::string> check_own_include(const std::string& room, const std::string& include) {
  const std::optional<std::string> other = room_of(file_of_include(include));
  if (!other || include.find("..") != std::string::npos) {
    return fmt::format(
        "\"{}\" is in no room; write \"ringside/x.h\" for a public header, \"room/x.h\" for a "
        "private one",
        include);
  }
  const Rooms* allowed = allowed_for(room);
  if (*other != room && (allowed == nullptr || !allowed->contains(*other))) {
    return fmt::format("{} may not include {} ({})", room, *other, include);
  }
  return std::nullopt;
}

std::optional<std::string> check_library_include(const std::string& path, const std::string& room,
                                                 const std::string& include) {
  for (const LibraryRule& rule : kLibraryRules) {
    if (!include.starts_with(rule.prefix)) continue;
    if (!rule.rooms.contains(room)) {
      return fmt::format("<{}> is for {} alone", include, fmt::join(rule.rooms, ", "));
    }
    if (!rule.in_headers && is_header(path)) {
      return fmt::format("<{}> belongs in a source, not in a header", include);
    }
  }
  return std::nullopt;
}

std::optional<std::string> check_line(const std::string& path, const std::string& room,
                                      const std::string& line) {
  static const std::regex include_pattern(R"re(^\s*#\s*include\s*(["<])([^">]+)[">].*)re");
  static const std::regex macro_pattern(R"(^\s*#\s*(if|ifdef|ifndef|elif|define)\b.*)");
  std::smatch match;
  if (std::regex_match(line, match, include_pattern)) {
    return match[1] == "\"" ? check_own_include(room, match[2])
                            : check_library_include(path, room, match[2]);
  }
  if (!path.starts_with("src/backends/") && std::regex_match(line, match, macro_pattern)) {
    return fmt::format(
        "#{} outside src/backends; choose between two sources in CMake, or write a function",
        match[1].str());
  }
  return std::nullopt;
}

}  // namespace

SourceFiles read_source_files(const std::string& repository) {
  namespace fs = std::filesystem;
  SourceFiles files;
  for (const char* folder : {"include/ringside", "src", "sim"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(repository) / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu" && extension != ".cuh") {
        continue;
      }
      std::ifstream in(entry.path());
      files[fs::relative(entry.path(), repository).generic_string()] =
          std::string(std::istreambuf_iterator<char>(in), {});
    }
  }
  return files;
}

std::vector<std::string> check_includes(const SourceFiles& files) {
  std::vector<std::string> violations;
  for (const auto& [path, text] : files) {
    const std::optional<std::string> room = room_of(path);
    if (!room) {
      violations.push_back(fmt::format(
          "{}:1: is in no room; add its room to the table in tests/architecture/include_graph.cpp",
          path));
      continue;
    }
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      if (const auto violation = check_line(path, *room, line)) {
        violations.push_back(fmt::format("{}:{}: {}", path, number, *violation));
      }
    }
  }
  return violations;
}

std::vector<std::string> check_table() {
  std::vector<std::string> violations;
  Rooms below;  // rooms are listed lowest first, so a room may include earlier ones alone
  for (const auto& [room, allowed] : kMayInclude) {
    for (const std::string& other : allowed) {
      if (!below.contains(other)) {
        violations.push_back(fmt::format("{} may include {}, which is not below it", room, other));
      }
    }
    below.insert(room);
  }
  return violations;
}

}  // namespace ringside::test
