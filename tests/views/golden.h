// Golden DOT texts: tests/golden/views/NAME.dot holds what a picture must be, byte for byte.
//
// To accept new texts, run the test program with RINGSIDE_UPDATE_GOLDEN=1, look at the pictures and
// at the difference, and commit it. Rendered files differ between versions of Graphviz and fonts
// and are never compared.
#pragma once

#include "ringside/views.h"

namespace ringside::test {

/// Fails the test unless `picture.dot` is the text kept under `name`; with RINGSIDE_UPDATE_GOLDEN=1
/// keeps it instead.
void expect_golden(const Picture& picture, const std::string& name);

}  // namespace ringside::test
