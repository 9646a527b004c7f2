// Keys of states: what differs, and which prefix would mend it.
#include "core/state_keys.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/error_text.h"

namespace ringside {
namespace {

std::vector<NamedShape> mlp(const std::string& prefix = "") {
  return {{prefix + "0.weight", {32, 64}},
          {prefix + "0.bias", {32}},
          {prefix + "2.weight", {10, 32}},
          {prefix + "2.bias", {10}}};
}

std::vector<NamedShape> encoder_decoder(const std::string& encoder, const std::string& decoder) {
  return {{encoder + "weight", {4, 4}},
          {encoder + "bias", {4}},
          {decoder + "weight", {4, 4}},
          {decoder + "bias", {4}}};
}

std::string suggested(const std::vector<NamedShape>& expected,
                      const std::vector<NamedShape>& given) {
  return suggestion_options(compare_keys(expected, given));
}

// What begins with the prefix loses it, once, and what does not stays.
TEST(StateKeys, APrefixIsStrippedAtTheBeginningAlone) {
  const std::vector<PrefixRule> strip = {{"module.", ""}};
  EXPECT_EQ(renamed("module.submodule.weight", strip), "submodule.weight");
  EXPECT_EQ(renamed("module.encoder.module.bias", strip), "encoder.module.bias");
  EXPECT_EQ(renamed("my_module.w", strip), "my_module.w");
  EXPECT_EQ(renamed("module.module.w", strip), "module.w");
}

TEST(StateKeys, RulesFollowEachOther) {
  EXPECT_EQ(renamed("module.0.weight", std::vector<PrefixRule>{{"module.", ""}, {"", "net."}}),
            "net.0.weight");
  EXPECT_EQ(renamed("0.weight", std::vector<PrefixRule>{}), "0.weight");
}

TEST(StateKeys, TwoKeysDoNotBecomeOne) {
  const std::vector<NamedShape> entries = {{"module.w", {1}}, {"w", {1}}};
  const std::vector<PrefixRule> strip = {{"module.", ""}};
  EXPECT_EQ(test::error_text(ErrorKind::kInvalidInput, [&] { renamed(entries, strip); }),
            "renaming makes one key, 'w', of two: 'module.w' and 'w'");
}

TEST(StateKeys, NoKeyBecomesNothing) {
  const std::vector<NamedShape> entries = {{"module.", {1}}};
  const std::vector<PrefixRule> strip = {{"module.", ""}};
  EXPECT_EQ(test::error_text(ErrorKind::kInvalidInput, [&] { renamed(entries, strip); }),
            "renaming leaves nothing of 'module.'");
}

TEST(StateKeys, TextsShowLongAndHostileKeysOnOneShortLine) {
  const std::string hostile = "a\nb\x1b[2J" + std::string(200'000, 'x');
  const KeyComparison comparison =
      compare_keys(std::vector<NamedShape>{{"w", {1}}}, std::vector<NamedShape>{{hostile, {1}}});
  EXPECT_EQ(comparison.unexpected.front(), hostile);
  const std::string text = difference_text(comparison);
  EXPECT_LT(text.size(), 250U);
  EXPECT_EQ(text.find_first_of("\n\x1b"), std::string::npos) << text;
}

TEST(StateKeys, EqualKeysAreTheSameInAnyOrder) {
  std::vector<NamedShape> given = mlp();
  std::reverse(given.begin(), given.end());
  const KeyComparison comparison = compare_keys(mlp(), given);
  EXPECT_TRUE(comparison.same());
  EXPECT_EQ(comparison.matching, 4U);
  EXPECT_TRUE(comparison.suggestion.empty());
  EXPECT_EQ(difference_text(comparison), "");
}

TEST(StateKeys, SaysWhatIsMissingUnexpectedAndOfAnotherShape) {
  std::vector<NamedShape> given = mlp();
  given[1] = {"extra", {3}};
  given[2].shape = {12, 32};
  given[3].shape = {};
  const KeyComparison comparison = compare_keys(mlp(), given);
  EXPECT_FALSE(comparison.same());
  EXPECT_EQ(comparison.matching, 1U);
  EXPECT_EQ(
      difference_text(comparison),
      "Missing key(s) in state_dict: 0.bias; Unexpected key(s) in state_dict: extra; size "
      "mismatch for 2.weight: 10x32 expected, 12x32 given, 2.bias: 10 expected, scalar given");
  EXPECT_TRUE(comparison.suggestion.empty());
}

TEST(StateKeys, LongListsAreCutOff) {
  std::vector<NamedShape> expected;
  for (int i = 0; i < 40; ++i) expected.push_back({fmt::format("w{:02}", i), {1}});
  EXPECT_TRUE(difference_text(compare_keys(expected, {})).ends_with(", w11 and 28 more"));
}

TEST(StateKeys, OffersThePrefixToStripOrToAdd) {
  EXPECT_EQ(suggested(mlp(), mlp("module.")), "--strip-prefix module.");
  EXPECT_EQ(suggested(mlp("module."), mlp()), "--add-prefix module.");
  EXPECT_EQ(suggested(mlp(), mlp("module.module.")), "--strip-prefix module.module.");
  EXPECT_EQ(suggested(mlp(), mlp("_orig_mod.module.")), "--strip-prefix _orig_mod.module.");
  const KeyComparison comparison = compare_keys(mlp(), mlp("module."));
  EXPECT_TRUE(comparison.same_if_followed());
  EXPECT_EQ(suggestion_words(comparison),
            "with 'module.*' renamed to '*' 4 of 4 expected keys match");
}

TEST(StateKeys, OffersAnotherPrefixOnlyForAllKeys) {
  EXPECT_EQ(suggested(mlp("net."), mlp("model.")), "--rename-prefix model.=net.");
  EXPECT_EQ(suggested({{"a.w", {3}}, {"b.w", {3}}}, {{"a.w", {3}}, {"c.w", {3}}}), "");
}

// One part was wrapped, not the whole.
TEST(StateKeys, FindsAPrefixThatSitsAtAnotherPlace) {
  EXPECT_EQ(suggested(encoder_decoder("encoder.", "decoder."),
                      encoder_decoder("encoder.module.", "decoder.")),
            "--rename-prefix encoder.module.=encoder.");
  EXPECT_EQ(suggested(encoder_decoder("encoder.module.", "decoder.module."),
                      encoder_decoder("module.encoder.", "module.decoder.")),
            "--rename-prefix module.encoder.=encoder.module.,module.decoder.=decoder.module.");
}

TEST(StateKeys, WhatHelpsAPartIsOfferedAsThat) {
  std::vector<NamedShape> given = mlp("module.");
  given[2].shape = {12, 32};
  given[3].shape = {12};
  const KeyComparison comparison = compare_keys(mlp(), given);
  EXPECT_EQ(suggestion_options(comparison), "--strip-prefix module.");
  EXPECT_EQ(comparison.matching_if_followed, 2U);
  EXPECT_FALSE(comparison.same_if_followed());
}

// A rule must not take a key that is right, nor make one of two.
TEST(StateKeys, KeysThatMatchStayMatched) {
  const std::vector<NamedShape> expected = {{"module.a.w", {2}}, {"b.w", {2}}};
  const std::vector<NamedShape> given = {{"module.a.w", {2}}, {"module.b.w", {2}}};
  EXPECT_EQ(suggested(expected, given), "--rename-prefix module.b.=b.");
  EXPECT_EQ(suggested({{"w", {2}}, {"v", {2}}}, {{"module.w", {2}}, {"w", {3}}}), "");
}

TEST(StateKeys, KeysWithoutSensePartsAreNoTrouble) {
  const std::vector<NamedShape> odd = {{"", {}}, {".", {}}, {"..", {}}, {"a..b", {}}, {"a.", {}}};
  EXPECT_TRUE(compare_keys(odd, odd).same());
  const KeyComparison comparison = compare_keys(odd, mlp("."));
  EXPECT_EQ(comparison.missing.size(), 5U);
  EXPECT_EQ(comparison.unexpected.size(), 4U);
}

// Keys made to be slow: all of one shape, all with a common end.
TEST(StateKeys, ManyKeysAreSearchedInBoundedTime) {
  std::vector<NamedShape> expected;
  std::vector<NamedShape> given;
  for (int i = 0; i < 3000; ++i) {
    expected.push_back({fmt::format("a.{}.weight", i), {1}});
    given.push_back({fmt::format("b.{}.weight", i), {1}});
  }
  EXPECT_EQ(suggested(expected, given), "--rename-prefix b.=a.");
}

}  // namespace
}  // namespace ringside
