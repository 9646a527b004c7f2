// The tests against PyTorch's numbers must notice a file that is not what they think: of each place
// in tests/oracles, one case with one change there is a file of its own, over which they must fail.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <mutex>
#include <ostream>
#include <set>
#include <stdexcept>
#include <thread>

#include "cli/subprocess.h"
#include "system/json_mutations.h"
#include "system/oracle_sections.h"

namespace ringside::test {
namespace {

// ---------------------------------------------------------------- changed numbers

/// Drawn or counted numbers are compared bit for bit, and so change by one unit in the last place.
bool is_exact(const FieldPath& place) {
  static const std::array parts{
      "init.json", "/init/", "/data/", "/p0", "cases/*/grads", "/logits", "clip_grad_norm/*/grads",
      "division"};
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return place.find(part) != std::string::npos; });
}

/// Compared in float64 though the tensor is float32: sums of digests.
bool is_double(const FieldPath& place) {
  return place.ends_with("sum") || place.find("_f64") != std::string::npos;
}

double other_fraction(const FieldPath& place, double value) {
  constexpr double kUp = std::numeric_limits<double>::infinity();
  if (is_exact(place)) {
    return is_double(place) ? std::nextafter(value, kUp)
                            : std::nextafter(static_cast<float>(value), static_cast<float>(kUp));
  }
  // 1 %, and beyond the absolute tolerance of training (2e-6) for values near zero.
  return value + std::copysign(0.01 * std::abs(value) + 3e-6, value);
}

// ---------------------------------------------------------------- running the readers

Json oracle(const std::string& file) {
  std::ifstream stream(std::string(RINGSIDE_TEST_DATA_DIR "/oracles/") + file);
  if (!stream) throw std::runtime_error("cannot open " + file);
  return Json::parse(stream);
}

std::size_t size_of(const Json& json) { return json.dump().size(); }

const Json& smallest(const Json& list) {
  return *std::min_element(list.begin(), list.end(), [](const Json& one, const Json& other) {
    return size_of(one) < size_of(other);
  });
}

/// An oracle file with one case of each of its sections.
Json reduced(const std::string& file) {
  Json json = oracle(file);
  for (auto& [field, value] : json.items()) {
    if (value.is_array()) value = Json::array({smallest(value)});
  }
  return json;
}

/// Whether all readers accept `content` as `file`; what else than a failed test ended one is an
/// error.
bool accepted(const std::vector<Reader>& readers, const std::string& file, const Json& content) {
  const ScratchDirectory folder;
  std::ofstream(folder / file) << content.dump();
  ProcessOptions options;
  options.environment = {{"RINGSIDE_ORACLES", folder.path()}};
  return std::all_of(readers.begin(), readers.end(), [&](const Reader& reader) {
    const ProcessResult result =
        run_process({std::string(RINGSIDE_TEST_PROGRAMS "/") + reader.program,
                     "--gtest_filter=" + reader.filter, "--gtest_brief=1"},
                    options);
    if (result.timed_out || result.status > 1) {
      throw std::runtime_error(fmt::format("{}status {}\n{}\n{}", result.command, result.status,
                                           result.output, result.errors));
    }
    return result.status == 0;
  });
}

/// Calls `work` for 0 .. count - 1 on as many threads as there are cores.
void on_all_cores(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (std::size_t index = next++; index < count; index = next++) work(index);
    });
  }
}

// ---------------------------------------------------------------- the changes of a section

struct Mutation {
  FieldPath path;  ///< in the case
  Change change;
  std::vector<const Json*> cases;  ///< those that have the path, the smallest first
};

class SectionMutations {
 public:
  explicit SectionMutations(const Section& section)
      : section_(section), file_(reduced(section.file)) {
    std::vector<Json> all = oracle(section.file).at(section.name);
    std::stable_sort(all.begin(), all.end(), [](const Json& one, const Json& other) {
      return size_of(one) < size_of(other);
    });
    constexpr std::size_t kSpread = 40;  // over all sizes: small cases have little to notice
    const std::size_t stride = std::max<std::size_t>(1, all.size() / kSpread);
    for (std::size_t i = 0; i < all.size(); i += stride) {
      const Json& one = all[i];
      // Some cases refer to others before them, and cannot stand alone.
      if (brings_something(one) && is_accepted(one)) take(one);
    }
  }

  std::vector<Mutation> all() const {
    std::map<std::pair<FieldPath, Change>, std::vector<const Json*>> found;
    for (const Json& one : cases_) {
      for (const auto& [path, places] : field_paths(one)) {
        const auto& place = places[choice(path, places.size())];
        for (const Change change : changes_of(one, place)) found[{path, change}].push_back(&one);
      }
    }
    std::vector<Mutation> mutations;
    for (const auto& [key, cases] : found) mutations.push_back({key.first, key.second, cases});
    return mutations;
  }

  /// "file section/path: change".
  std::string name(const Mutation& mutation) const {
    return fmt::format("{}: {}", place(mutation.path), name_of(mutation.change));
  }
  std::string place(const FieldPath& path) const {
    return section_.file + ' ' + section_.name + path;
  }

  /// In one of its cases, at least: an input may be without effect in another.
  bool is_noticed(const Mutation& mutation) const {
    return std::any_of(mutation.cases.begin(), mutation.cases.end(), [&](const Json* one) {
      const auto places = field_paths(*one).at(mutation.path);
      const Json other =
          changed(*one, place(mutation.path), places[choice(mutation.path, places.size())],
                  mutation.change, other_fraction);
      return !is_accepted(other);
    });
  }

 private:
  bool is_accepted(const Json& one) const {
    Json file = file_;
    file[section_.name] = Json::array({one});
    return accepted(section_.readers, section_.file, file);
  }

  /// A few cases that have a path are enough of them.
  bool brings_something(const Json& one) const {
    constexpr int kEnough = 12;
    const auto paths = field_paths(one);
    return std::any_of(paths.begin(), paths.end(), [&](const auto& entry) {
      const auto found = taken_.find(entry.first);
      return found == taken_.end() || found->second < kEnough;
    });
  }
  void take(const Json& one) {
    for (const auto& [path, places] : field_paths(one)) ++taken_[path];
    cases_.push_back(one);
  }

  const Section& section_;
  Json file_;
  std::vector<Json> cases_;
  std::map<FieldPath, int> taken_;  ///< cases that have it
};

const Exception* exception_for(const std::string& place, Change change) {
  for (const Exception& exception : exceptions()) {
    if (exception.place == place && exception.change == change) return &exception;
  }
  return nullptr;
}

class OracleMutation : public testing::TestWithParam<Section> {};

TEST_P(OracleMutation, IsNoticed) {
  const SectionMutations section(GetParam());
  const std::vector<Mutation> mutations = section.all();
  ASSERT_FALSE(mutations.empty()) << "no case is accepted alone";
  std::mutex mutex;
  on_all_cores(mutations.size(), [&](std::size_t index) {
    const Mutation& mutation = mutations[index];
    std::string fault;
    try {
      const Exception* exception = exception_for(section.place(mutation.path), mutation.change);
      const bool noticed = section.is_noticed(mutation);
      if (!noticed && exception == nullptr) fault = "passes";
      if (noticed && exception != nullptr) fault = "is noticed, and needs no exception";
    } catch (const std::exception& error) {
      fault = error.what();
    }
    const std::lock_guard lock(mutex);
    EXPECT_EQ(fault, "") << section.name(mutation);
  });
}

std::string test_name(const testing::TestParamInfo<Section>& info) {
  const std::string file = info.param.file;
  return file.substr(0, file.find('.')) + "_" + info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Sections, OracleMutation, testing::ValuesIn(sections()), test_name);

// ---------------------------------------------------------------- around the cases

/// All programs that read `file`, whole.
std::vector<Reader> programs_of(const std::string& file) {
  std::vector<Reader> programs;
  for (const Section& section : sections()) {
    for (const Reader& reader : section.readers) {
      const bool known = std::any_of(programs.begin(), programs.end(), [&](const Reader& other) {
        return other.program == reader.program;
      });
      if (section.file == file && !known) programs.push_back({reader.program, "*"});
    }
  }
  return programs;
}

class OracleFileMutation : public testing::TestWithParam<std::string> {
 protected:
  void expect_noticed(const std::string& what, const Json& content) const {
    EXPECT_FALSE(accepted(readers_, GetParam(), content)) << what;
  }
  const std::vector<Reader> readers_ = programs_of(GetParam());
  const Json file_ = oracle(GetParam());
};

TEST_P(OracleFileMutation, IsNoticed) {
  Json more = file_;
  more["unknown_field"] = Json::array();
  expect_noticed("unknown field", more);
  for (const auto& [field, value] : file_.items()) {
    Json without = file_;
    without.erase(field);
    if (value.is_array() || field == "cpu_capability") expect_noticed(field + " removed", without);
    Json of_other_kind = file_;
    of_other_kind[field] = 7;
    expect_noticed(field + " is a number", of_other_kind);
    if (!value.is_array()) continue;
    Json empty = file_;
    empty[field] = Json::array();
    expect_noticed(field + " without a case", empty);
  }
}

std::vector<std::string> files() {
  std::set<std::string> names;
  for (const Section& section : sections()) names.insert(section.file);
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(Files, OracleFileMutation, testing::ValuesIn(files()),
                         [](const auto& file) {
                           return file.param.substr(0, file.param.find('.'));
                         });

// ---------------------------------------------------------------- what is changed here

TEST(OracleMutations, AreOfEverySection) {
  std::set<std::string> known, there;
  for (const Section& section : sections()) known.insert(section.file + ' ' + section.name);
  for (const auto& entry : std::filesystem::directory_iterator(RINGSIDE_TEST_DATA_DIR "/oracles")) {
    const std::string file = entry.path().filename();
    if (entry.path().extension() != ".json") continue;
    const Json json = oracle(file);
    for (const auto& [field, value] : json.items()) {
      if (value.is_array()) there.insert(file + ' ' + field);
    }
  }
  EXPECT_EQ(known, there);
}

}  // namespace
}  // namespace ringside::test
