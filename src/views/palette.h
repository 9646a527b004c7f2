// The colours of every picture: Okabe-Ito hues with light fill, strong border and dark text, safe
// for the common kinds of colour blindness; and their counterparts on dark pages.
//
// Colour is never alone: each class of box has its word, and idle is dashed.
#pragma once

#include <string>
#include <string_view>

#include "ringside/views.h"

namespace ringside {

/// What a box stands for; its name is also its class in the SVG.
enum class BoxClass : std::uint8_t { kData, kComm, kCompute, kLoss, kUpdate, kIdle };
/// "data", "comm", "compute", "loss", "update", "idle".
std::string_view to_string(BoxClass box);

/// When something happens, seen from the frame that is drawn.
enum class Tense : std::uint8_t { kPast, kPresent, kFuture };

/// One entry of the palette.
enum class Ink : std::uint8_t {
  kPage,
  kTitle,
  kCaption,
  kMuted,  // remarks, axes' labels
  kArrow,  // what stays on its device
  kLaneFill,
  kLaneLine,
  kHomeFill,
  kHomeLine,
  kDataFill,
  kDataLine,
  kDataText,
  kCommFill,
  kCommFillDark,  // every second bucket
  kCommLine,
  kCommText,
  kCommLabel,  // text on the page: bytes, guides
  kComputeFill,
  kComputeFillDark,
  kComputeLine,
  kComputeText,
  kComputeLabel,
  kLossFill,
  kLossLine,
  kLossText,
  kUpdateFill,
  kUpdateLine,
  kUpdateText,
  kIdleFill,
  kIdleLine,
  kIdleText,
  kExposedText  // on the strong bar of what is not hidden
};
inline constexpr int kInks = static_cast<int>(Ink::kExposedText) + 1;

/// "#D6EAF8"; paler towards the page's colour for what is past.
std::string colour(Ink ink, Theme theme, Tense tense = Tense::kPresent);

struct BoxInks {
  Ink fill;
  Ink line;
  Ink text;
};
/// `dark_fill`: the darker of the two fills that tell neighbouring buckets apart.
BoxInks inks_of(BoxClass box, bool dark_fill = false);

/// CSS rules that turn every light colour of an SVG into its dark counterpart.
std::string dark_page_rules();

}  // namespace ringside
