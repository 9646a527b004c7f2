#include "views/dot_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "views/palette.h"
#include "views/text.h"
#include "views/title.h"

namespace ringside {
namespace {

TEST(DotWriter, QuotesWhatIsNoPlainWord) {
  Attributes attributes;
  attributes.set("shape", "box").set("color", "#FFFFFF").set("class", "node").set("style", "");
  EXPECT_EQ(attributes.bracketed(), " [shape=box, color=\"#FFFFFF\", class=\"node\", style=\"\"]");
}

TEST(DotWriter, WritesNumbersShortAndWithoutLocale) {
  Attributes attributes;
  attributes.set("a", 2.0).set("b", 0.25).set("c", 1.0 / 3, 4).set("d", -0.0001);
  EXPECT_EQ(attributes.bracketed(), " [a=2, b=0.25, c=0.3333, d=0]");
}

TEST(DotWriter, EscapesTextsOnce) {
  Attributes attributes;
  attributes.text("label", "a\"b\\N&<\n桶\u00A0 1");
  EXPECT_EQ(attributes.bracketed(), R"( [label="a\"b\\N&amp;<\n桶&#160; 1"])");
  EXPECT_EQ(html_text("<b>\"&\"</b>"), "&lt;b&gt;&quot;&amp;&quot;&lt;/b&gt;");
}

TEST(DotWriter, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(html_text("a\xff\x01z"), "a\xEF\xBF\xBD z");
  EXPECT_EQ(clean_text("\xed\xa0\x80|\xc0\xaf|\xf4\x90\x80\x80").find("\xed\xa0"),
            std::string::npos);  // surrogates, overlong forms, beyond Unicode
}

TEST(DotWriter, NestsClustersAndEndsTheGraph) {
  DotWriter dot("digraph", "step-2", "A title\nSecond line");
  dot.open_cluster("lane0", Attributes().set("style", "filled"));
  dot.node("a", Attributes());
  dot.close_cluster();
  dot.same_rank({"a", "b"});
  dot.edge({"a", "b", "c"}, Attributes().set("dir", "none"));
  EXPECT_EQ(dot.finish(),
            "// A title\n// Second line\ndigraph step_2 {\n  subgraph cluster_lane0 {\n"
            "    style=filled;\n    a;\n  }\n  { rank=same; a; b; }\n"
            "  a -> b -> c [dir=none];\n}\n");
}

TEST(Title, WrapsAtSpacesAndKeepsNumbersWithTheirUnits) {
  EXPECT_EQ(wrap_text("one two three", 10, text_width("one two ", 10)),
            (std::vector<std::string>{"one two", "three"}));
  const std::vector<std::string> lines =
      wrap_text("buffer of 32 B", 10, text_width("buffer of 32", 10));
  EXPECT_EQ(lines, (std::vector<std::string>{"buffer of", "32 B"}));
  EXPECT_EQ(wrap_text("", 10, 50), std::vector<std::string>{""});
  EXPECT_EQ(wrap_text("梯度规约", 10, 25), (std::vector<std::string>{"梯度", "规约"}));
}

TEST(Palette, DarkPagesTellEveryLightColourApart) {
  std::map<std::string, std::string> dark_of;
  for (int ink = 0; ink < kInks; ++ink) {
    for (const Tense tense : {Tense::kPresent, Tense::kPast}) {
      const std::string light = colour(static_cast<Ink>(ink), Theme::kLight, tense);
      const std::string dark = colour(static_cast<Ink>(ink), Theme::kDark, tense);
      const auto [known, fresh] = dark_of.emplace(light, dark);
      EXPECT_EQ(known->second, dark) << light << " has two dark colours";
    }
  }
}

// Relative luminance and contrast [WCAG 2.1].
double luminance(const std::string& hex) {
  const auto channel = [&](int at) {
    const double value =
        std::stoi(hex.substr(static_cast<std::size_t>(at), 2), nullptr, 16) / 255.0;
    return value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}
double contrast(const std::string& a, const std::string& b) {
  const auto [low, high] = std::minmax({luminance(a), luminance(b)});
  return (high + 0.05) / (low + 0.05);
}

TEST(Palette, TextsCanBeRead) {
  for (const Theme theme : {Theme::kLight, Theme::kDark}) {
    for (const BoxClass box : {BoxClass::kData, BoxClass::kComm, BoxClass::kCompute,
                               BoxClass::kLoss, BoxClass::kUpdate, BoxClass::kIdle}) {
      for (const bool dark_fill : {false, true}) {
        const BoxInks inks = inks_of(box, dark_fill);
        EXPECT_GE(contrast(colour(inks.fill, theme), colour(inks.text, theme)), 4.5)
            << to_string(box);
        EXPECT_GE(contrast(colour(Ink::kLaneFill, theme), colour(inks.text, theme)),
                  box == BoxClass::kIdle ? 4.5 : 1.0);
      }
    }
    for (const Ink ink :
         {Ink::kTitle, Ink::kCaption, Ink::kMuted, Ink::kCommLabel, Ink::kComputeLabel}) {
      for (const Ink below : {Ink::kPage, Ink::kLaneFill, Ink::kHomeFill}) {
        EXPECT_GE(contrast(colour(below, theme), colour(ink, theme)), 4.5) << static_cast<int>(ink);
      }
    }
  }
}

TEST(Text, WhatIsNoCharacterOrTurnsTheLineIsReplaced) {
  EXPECT_EQ(clean_text("a\xEF\xBF\xBE\xEF\xBF\xBF b\xE2\x80\xAE"
                       "c\x1B"),
            "a\xEF\xBF\xBD\xEF\xBF\xBD b\xEF\xBF\xBD"
            "c ");
}

}  // namespace
}  // namespace ringside
