// What a call says when it refuses: for tests that compare messages.

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "ringside/error.h"

namespace ringside::test {

/// The message of the Error that `call` throws; fails the test if it throws none, or another kind.
inline std::string error_text(ErrorKind kind, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return {};
}

inline void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

}  // namespace ringside::test
