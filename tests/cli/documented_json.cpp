#include "cli/documented_json.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

namespace ringside::test {
namespace {

using nlohmann::json;

/// One section's table, as the page has it.
struct Section {
  std::set<std::string> keys;  ///< of the first column
  std::set<std::string> told;  ///< everything in backticks
};

Section section_of(const std::string& heading) {
  static const std::regex kWord("`([^`]+)`");
  const auto add_words = [](const std::string& text, std::set<std::string>& words) {
    for (std::sregex_iterator word(text.begin(), text.end(), kWord), end; word != end; ++word) {
      words.insert((*word)[1]);
    }
  };
  std::ifstream page(std::string(RINGSIDE_TEST_DATA_DIR) + "/../docs/json.md");
  Section section;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("#")) inside = line == "## " + heading;
    if (!inside || !line.starts_with("| ")) continue;
    add_words(line.substr(0, line.find('|', 1)), section.keys);
    add_words(line, section.told);
  }
  return section;
}

// The scenario's keys are those of docs/scenario.md; memory is told of by kind.
void expect_told(const json& value, const Section& section, const std::string& path) {
  if (value.is_array()) {
    for (const json& element : value) expect_told(element, section, path);
    return;
  }
  if (!value.is_object()) return;
  for (const auto& [key, inner] : value.items()) {
    EXPECT_TRUE(section.told.contains(key)) << path << "." << key;
    if (key != "scenario" && key != "at_peak") expect_told(inner, section, path + "." + key);
  }
}

}  // namespace

json document_of(const ProcessResult& result) {
  json document = json::parse(result.output, nullptr, false);
  EXPECT_TRUE(document.is_object()) << result.command << "\n" << result.output << result.errors;
  return document;
}

json result_of(const ProcessResult& result) {
  EXPECT_EQ(result.status, 0) << result.command << "\n" << result.errors;
  return document_of(result);
}

void expect_documented(const std::string& kind, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  words.emplace_back("--json");
  const ProcessResult result = run_ringside(words);
  SCOPED_TRACE(result.command);
  json document = document_of(result);
  ASSERT_TRUE(document.is_object());
  EXPECT_EQ(document["ringside"], kind);
  EXPECT_EQ(document["version"], 1);
  EXPECT_TRUE(document["program"].is_string());
  for (const char* common : {"ringside", "version", "program"}) document.erase(common);

  const Section section = section_of(kind);
  std::set<std::string> keys;
  for (const auto& [key, value] : document.items()) keys.insert(key);
  EXPECT_EQ(keys, section.keys);
  expect_told(document, section, kind);
}

}  // namespace ringside::test
