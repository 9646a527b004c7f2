// Body of findings.h.
#include "cli/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/machine_facts.h"
#include "core/build_info.h"
#include "ringside/version.h"
#include "ringside/views.h"
#include "ringside/world.h"

namespace ringside::cli {
namespace {

Finding found(std::string name, std::string detail) {
  return {std::move(name), Health::kFound, std::move(detail), "", ""};
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Finding build() {
  const std::string sanitizer =
      build_info::kSanitizer.empty() ? "" : fmt::format(", {} sanitizer", build_info::kSanitizer);
  return found("Ringside",
               fmt::format("{}, {} build by {}{}, flags {}", kVersion, build_info::kBuildType,
                           build_info::kCompiler, sanitizer, build_info::kFlags));
}

Finding processor() {
  const CpuFacts cpu = cpu_facts();
  return found("CPU", fmt::format("{}, {} core{} usable, SIMD: {}, {} of memory", cpu.model,
                                  cpu.cores, cpu.cores == 1 ? "" : "s",
                                  cpu.simd.empty() ? "none known"
                                                   : fmt::format("{}", fmt::join(cpu.simd, " ")),
                                  format_bytes(cpu.memory_bytes)));
}

Finding linear_algebra() {
  if (build_info::kBlas == "openblas") return found("Linear algebra", "OpenBLAS (built in)");
  if (build_info::kBlas == "cblas") return found("Linear algebra", "CBLAS (built in)");
  return {"Linear algebra", Health::kMissing, "Ringside's own loops",
          "matrix products, and so training, are slower; results are as good",
          "apt-get install libopenblas-pthread-dev, then configure and build again"};
}

Finding graphviz_library() {
  if (build_info::kHasGraphviz) return found("Graphviz library", "built in: SVG and PNG");
  return {"Graphviz library", Health::kMissing, "not built in",
          "pictures are written as DOT text, to be rendered with dot",
          "apt-get install libgraphviz-dev, then configure and build again"};
}

Finding graphviz_program() {
  const std::string path = find_program("dot");
  if (!path.empty()) return found("Graphviz program", path);
  return {"Graphviz program", Health::kMissing, "no dot on PATH",
          "DOT files cannot be rendered by hand", "apt-get install graphviz"};
}

Finding font(const std::string& name, const std::string& pattern, std::string_view accepted,
             const std::string& cost, const std::string& package) {
  Finding missing{name, Health::kMissing, "", cost, "apt-get install " + package};
  if (find_program("fc-match").empty()) {
    missing.detail = "unknown: there is no fc-match on PATH";
    missing.remedy = "apt-get install fontconfig " + package;
    return missing;
  }
  const auto match = output_of({"fc-match", "--format=%{family}|%{lang}|%{file}", pattern});
  if (match && !match->empty()) {
    const std::size_t bar = match->find('|');
    const std::string family = match->substr(0, bar);
    if (accepted.empty() || match->find(accepted, bar) != std::string::npos) {
      return found(name, fmt::format("{} (for {})", family, pattern));
    }
  }
  missing.detail = fmt::format("fc-match finds none for {}", pattern);
  return missing;
}

Finding mpi() {
  const std::string launcher = find_program("mpirun");
  if (build_info::kHasMpi && !launcher.empty()) {
    const auto version = output_of({"mpirun", "--version"});
    return found("MPI", fmt::format("built in, {}", version ? first_line(*version) : launcher));
  }
  return {"MPI", Health::kMissing,
          build_info::kHasMpi ? "built in, but there is no mpirun on PATH" : "not built in",
          "no runs over several processes (--backend mpi)",
          build_info::kHasMpi ? "apt-get install openmpi-bin"
                              : "apt-get install libopenmpi-dev openmpi-bin, then configure and "
                                "build again"};
}

Finding cuda() {
  if (build_info::kHasCuda) return found("CUDA and NCCL", "built in");
  const std::string compiler = find_program("nvcc");
  return {"CUDA and NCCL", Health::kMissing,
          fmt::format("not built in{}",
                      compiler.empty() ? "" : fmt::format(" ({} is there)", compiler)),
          "no runs on GPUs (--backend cuda)",
          "install the CUDA toolkit (12 or later) and NCCL, then configure and build again"};
}

Finding gpus() {
  const std::string driver = nvidia_driver_version();
  if (const auto list = output_of({"nvidia-smi", "-L"}); list && !list->empty()) {
    std::string text = *list;
    while (text.ends_with('\n')) text.pop_back();
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) {
      text.replace(at, 1, "; ");
    }
    return found("GPUs", fmt::format("{}, driver {}", text, driver.empty() ? "unknown" : driver));
  }
  if (!driver.empty()) return found("GPUs", fmt::format("NVIDIA driver {}", driver));
  return {"GPUs", Health::kMissing, "no NVIDIA driver",
          "no runs on GPUs; simulated devices need none",
          "a machine with an NVIDIA GPU and its driver"};
}

Finding backend(const Backend& backend) {
  const std::string name = fmt::format("Backend {}", backend.name);
  std::string why = backend.why_unavailable();
  if (why.empty()) return found(name, std::string(backend.description));
  return {name, Health::kMissing, std::move(why),
          fmt::format("no --backend {}: {}", backend.name, backend.description),
          "--backend sim does the same work on simulated devices"};
}

}  // namespace

std::vector<Finding> find_everything() {
  std::vector<Finding> findings{
      build(),
      found("System", system_name()),
      processor(),
      linear_algebra(),
      graphviz_library(),
      graphviz_program(),
      font("Font", "Helvetica", "", "text in pictures may not fit its boxes", "fonts-liberation"),
      font("Chinese font", ":lang=zh-cn", "zh-cn",
           "Chinese text in pictures is drawn as empty boxes", "fonts-noto-cjk"),
      mpi(),
      cuda(),
      gpus(),
  };
  for (const Backend& each : backends()) findings.push_back(backend(each));
  return findings;
}

}  // namespace ringside::cli
