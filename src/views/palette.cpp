#include "views/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "core/names.h"
#include "ringside/error.h"

namespace ringside {
namespace {

struct Rgb {
  unsigned char red = 0;
  unsigned char green = 0;
  unsigned char blue = 0;
};

constexpr Rgb rgb(unsigned value) {
  return {static_cast<unsigned char>(value >> 16U), static_cast<unsigned char>(value >> 8U),
          static_cast<unsigned char>(value)};
}

struct Pair {
  Ink ink;
  Rgb light;
  Rgb dark;
};

// In the order of Ink. Two inks with one light colour have one dark colour too, because the style
// sheet for dark pages tells them apart by nothing else (tested).
constexpr std::array<Pair, kInks> kPalette = {{
    {Ink::kPage, rgb(0xFFFFFF), rgb(0x16181C)},
    {Ink::kTitle, rgb(0x1A1A1A), rgb(0xF2F2F2)},
    {Ink::kCaption, rgb(0x4A4A4A), rgb(0xC8CCD2)},
    {Ink::kMuted, rgb(0x5B5B5B), rgb(0xA6ACB5)},
    {Ink::kArrow, rgb(0x8C8C8C), rgb(0x868C95)},
    {Ink::kLaneFill, rgb(0xFBFBFB), rgb(0x1D2025)},
    {Ink::kLaneLine, rgb(0xC8C8C8), rgb(0x3C424B)},
    {Ink::kHomeFill, rgb(0xF0F0F0), rgb(0x282C33)},
    {Ink::kHomeLine, rgb(0x5A5A5A), rgb(0xAAB0B9)},
    {Ink::kDataFill, rgb(0xFFFFFF), rgb(0x16181C)},
    {Ink::kDataLine, rgb(0x5A5A5A), rgb(0xAAB0B9)},
    {Ink::kDataText, rgb(0x1A1A1A), rgb(0xF2F2F2)},
    {Ink::kCommFill, rgb(0xFCE6D4), rgb(0x4A2710)},
    {Ink::kCommFillDark, rgb(0xF9CFAE), rgb(0x6B3813)},
    {Ink::kCommLine, rgb(0xD55E00), rgb(0xF08A45)},
    {Ink::kCommText, rgb(0x5E2A00), rgb(0xFFDCC4)},
    {Ink::kCommLabel, rgb(0x8A3D00), rgb(0xFFB485)},
    {Ink::kComputeFill, rgb(0xD6EAF8), rgb(0x0F3350)},
    {Ink::kComputeFillDark, rgb(0xB4D5EC), rgb(0x174C74)},
    {Ink::kComputeLine, rgb(0x0072B2), rgb(0x56B4E9)},
    {Ink::kComputeText, rgb(0x0B2F47), rgb(0xD9EFFC)},
    {Ink::kComputeLabel, rgb(0x005A8F), rgb(0x8CCBF2)},
    {Ink::kLossFill, rgb(0xF7DDEC), rgb(0x45183A)},
    {Ink::kLossLine, rgb(0xA6317D), rgb(0xDC8FC3)},
    {Ink::kLossText, rgb(0x4D1238), rgb(0xFBE0F2)},
    {Ink::kUpdateFill, rgb(0xD3EFE5), rgb(0x0D3A2E)},
    {Ink::kUpdateLine, rgb(0x007A5E), rgb(0x36BC93)},
    {Ink::kUpdateText, rgb(0x0B3B30), rgb(0xD2F5E8)},
    {Ink::kIdleFill, rgb(0xFFFFFF), rgb(0x16181C)},
    {Ink::kIdleLine, rgb(0xB5B5B5), rgb(0x5C626B)},
    {Ink::kIdleText, rgb(0x6A6A6A), rgb(0x9BA1AA)},
    {Ink::kExposedText, rgb(0xFFFFFE), rgb(0x16181C)},
}};

constexpr NameTable<BoxClass, 6> kBoxNames{{{BoxClass::kData, "data"},
                                            {BoxClass::kComm, "comm"},
                                            {BoxClass::kCompute, "compute"},
                                            {BoxClass::kLoss, "loss"},
                                            {BoxClass::kUpdate, "update"},
                                            {BoxClass::kIdle, "idle"}}};

bool is_text(Ink ink) {
  switch (ink) {
    case Ink::kTitle:
    case Ink::kCaption:
    case Ink::kMuted:
    case Ink::kDataText:
    case Ink::kCommText:
    case Ink::kCommLabel:
    case Ink::kComputeText:
    case Ink::kComputeLabel:
    case Ink::kLossText:
    case Ink::kUpdateText:
    case Ink::kIdleText:
    case Ink::kExposedText:
      return true;
    default:
      return false;
  }
}

std::string hex(Rgb rgb) {
  return fmt::format("#{:02X}{:02X}{:02X}", rgb.red, rgb.green, rgb.blue);
}

// Text keeps more of itself than areas and lines, so that the past can still be read.
Rgb pale(Ink ink, Rgb strong, Rgb page) {
  const int keep = is_text(ink) ? 55 : 35;  // percent
  const auto mix = [keep](int from, int to) {
    return static_cast<unsigned char>((from * keep + to * (100 - keep) + 50) / 100);
  };
  return {mix(strong.red, page.red), mix(strong.green, page.green), mix(strong.blue, page.blue)};
}

Rgb of(Ink ink, Theme theme, Tense tense) {
  const auto pick = [theme](const Pair& pair) {
    return theme == Theme::kLight ? pair.light : pair.dark;
  };
  const Rgb strong = pick(kPalette[static_cast<std::size_t>(ink)]);
  if (tense == Tense::kPresent) return strong;
  return pale(ink, strong, pick(kPalette[static_cast<std::size_t>(Ink::kPage)]));
}

}  // namespace

Theme parse_theme(std::string_view name) {
  constexpr NameTable<Theme, 2> kThemes{{{Theme::kLight, "light"}, {Theme::kDark, "dark"}}};
  return parse_name(kThemes, "theme", name);
}

std::string_view to_string(BoxClass box) { return name_of(kBoxNames, box); }

std::string colour(Ink ink, Theme theme, Tense tense) { return hex(of(ink, theme, tense)); }

BoxInks inks_of(BoxClass box, bool dark_fill) {
  switch (box) {
    case BoxClass::kComm:
      return {dark_fill ? Ink::kCommFillDark : Ink::kCommFill, Ink::kCommLine, Ink::kCommText};
    case BoxClass::kCompute:
      return {dark_fill ? Ink::kComputeFillDark : Ink::kComputeFill, Ink::kComputeLine,
              Ink::kComputeText};
    case BoxClass::kLoss:
      return {Ink::kLossFill, Ink::kLossLine, Ink::kLossText};
    case BoxClass::kUpdate:
      return {Ink::kUpdateFill, Ink::kUpdateLine, Ink::kUpdateText};
    case BoxClass::kIdle:
      return {Ink::kIdleFill, Ink::kIdleLine, Ink::kIdleText};
    case BoxClass::kData:
      break;
  }
  return {Ink::kDataFill, Ink::kDataLine, Ink::kDataText};
}

std::string dark_page_rules() {
  std::map<std::string, std::string> counterpart;
  for (int ink = 0; ink < kInks; ++ink) {
    for (const Tense tense : {Tense::kPresent, Tense::kPast}) {
      const auto lower = [](std::string text) {
        std::transform(text.begin(), text.end(), text.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return text;
      };
      counterpart.emplace(lower(colour(static_cast<Ink>(ink), Theme::kLight, tense)),
                          lower(colour(static_cast<Ink>(ink), Theme::kDark, tense)));
    }
  }
  std::string rules;
  for (const auto& [light, dark] : counterpart) {
    rules += fmt::format("[fill=\"{0}\"]{{fill:{1}}}[stroke=\"{0}\"]{{stroke:{1}}}\n", light, dark);
  }
  return rules;
}

}  // namespace ringside
