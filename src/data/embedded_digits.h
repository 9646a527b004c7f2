// The built-in data set: data/digits.csv.gz as it is in the repository, put into the program by the
// build (cmake/EmbedFile.cmake). Reading it is the digits data set's job.

#pragma once

#include <span>

namespace ringside {

/// The gzip-compressed CSV file: 1,797 rows of 64 pixels (0 to 16) and a label, see data/README.md.
std::span<const unsigned char> embedded_digits_gz();

}  // namespace ringside
