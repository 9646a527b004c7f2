// Bodies of result_places.h.
#include "cli/result_places.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/input_stays.h"
#include "core/files.h"
#include "ringside/error.h"
#include "scenario/save_path.h"

namespace ringside::cli {
namespace {

// Throws where `file` could not be written.
void check_place_of(const std::string& file) {
  if (file.empty()) return;
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw Error(ErrorKind::kIo, fmt::format("cannot write {}: Is a directory", file),
                "name a file in it");
  }
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    throw Error(ErrorKind::kIo,
                fmt::format("cannot write {}: there is no directory {}", file, folder.string()),
                "make the directory first");
  }
  // A file is replaced by a new one, for which its directory counts; a device is written itself.
  const bool in_place =
      std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored);
  const std::string place = in_place ? file : folder.empty() ? "." : folder.string();
  if (::access(place.c_str(), W_OK) != 0) {
    throw Error(ErrorKind::kIo,
                fmt::format("cannot write {}: {}", file, std::generic_category().message(errno)),
                "choose a place you may write to");
  }
}

// Before a long run: a place that cannot be written would lose its results.
void check_places(const RunRequest& request) {
  if (!request.out.empty()) {
    make_directory(request.out);
    if (::access(request.out.c_str(), W_OK) != 0) {
      throw Error(ErrorKind::kIo, fmt::format("cannot write to the directory {}", request.out),
                  "choose a directory you may write to");
    }
  }
  check_place_of(request.trace);
  check_place_of(request.scenario.save);
}

void check_input_stays(const std::string& input, const std::string& output) {
  check_stays("run", input, output, "choose another name with --trace, --out or --save");
}

// What a run reads must still be there when it has written its results.
void check_inputs_stay(const RunRequest& request, const std::string& config) {
  constexpr std::string_view kText = "text:";
  std::vector<std::string> inputs{config};
  if (request.scenario.data.starts_with(kText)) {
    inputs.push_back(request.scenario.data.substr(kText.size()));
  }
  // A checkpoint may take the place of the one that it goes on from, which has been read by then.
  for (const std::string& input : inputs) check_input_stays(input, request.scenario.save);
  inputs.push_back(request.scenario.resume);
  inputs.push_back(request.scenario.load);
  std::vector<std::string> outputs{request.trace};
  if (!request.out.empty()) {
    const std::filesystem::path directory(request.out);
    outputs.push_back((directory / "trace.json").string());
    outputs.push_back((directory / "report.json").string());
  }
  for (const std::string& input : inputs) {
    for (const std::string& output : outputs) check_input_stays(input, output);
  }
}

/// The place that a path names, whether or not it is there yet: "x", "./x" and "x/" are one.
std::string place_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  std::filesystem::path place = std::filesystem::weakly_canonical(whole, error);
  if (error) place = whole.lexically_normal();
  return (place.has_filename() ? place : place.parent_path()).string();
}

/// Whether `place` can be that of a checkpoint: in `save` a number stands for the mark.
bool is_a_save(std::string_view place, std::string_view save) {
  const std::size_t mark = save.find(kStepMark);
  if (mark == std::string_view::npos) return place == save;
  const std::string_view before = save.substr(0, mark);
  const std::string_view after = save.substr(mark + kStepMark.size());
  if (!place.starts_with(before)) return false;
  place.remove_prefix(before.size());
  const std::size_t digits = std::min(place.find_first_not_of("0123456789"), place.size());
  return digits > 0 && place.substr(digits) == after;
}

/// Whether a run with --out `directory` writes to this place itself.
bool is_in_results(const std::filesystem::path& place, const std::filesystem::path& directory) {
  if (place.parent_path() != directory) return false;
  const std::string name = place.filename().string();
  const std::string extension = place.extension().string();
  return name == "trace.json" || name == "report.json" || extension == ".dot" ||
         extension == ".svg" || extension == ".png";
}

[[noreturn]] void fail_twice(std::string_view first, std::string_view second,
                             const std::string& file) {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} and {}: both would write {}", first, second, file),
              "choose two names");
}

/// Of two results with one place the later would replace the earlier.
void check_results_differ(const RunRequest& request) {
  const std::string& trace = request.trace;
  const std::string& save = request.scenario.save;
  if (!trace.empty() && !save.empty() && is_a_save(place_of(trace), place_of(save))) {
    fail_twice("trace", "save", trace);
  }
  if (request.out.empty()) return;
  const std::filesystem::path directory = place_of(request.out);
  if (!trace.empty() && is_in_results(place_of(trace), directory)) {
    fail_twice("trace", "out", trace);
  }
  if (!save.empty() && is_in_results(place_of(save), directory)) fail_twice("save", "out", save);
}

}  // namespace

void check_result_places(const RunRequest& request, const std::string& config) {
  check_results_differ(request);
  check_inputs_stay(request, config);
  check_places(request);
}

}  // namespace ringside::cli
