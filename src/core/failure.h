// Errors that travel from the thread where they happen to the thread where they surface.
//
// A Failure is shared and read-only; what is thrown is always a copy of it, made by the thread that
// throws, so that no two threads ever hold the same exception object.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "ringside/error.h"

namespace ringside {

using Failure = std::shared_ptr<const Error>;

/// Null for a null `error`. An Error keeps its kind, message and hint; anything else becomes
/// Error(kDevice).
Failure to_failure(const std::exception_ptr& error);
/// A fresh exception; null for a null failure.
std::exception_ptr to_exception(const Failure& failure);
[[noreturn]] void raise(const Failure& failure);

/// How World::run ends: `errors` has one entry for each of `ranks`, null where the rank did not
/// fail. Throws the first cause with "rank r: " in front: an error that is not Error(kDeadlock) or
/// Error(kRankFailed), which follow from what another rank did, if there is one. Returns if no rank
/// has failed.
void rethrow_first_cause(const std::vector<int>& ranks,
                         const std::vector<std::exception_ptr>& errors);

}  // namespace ringside
