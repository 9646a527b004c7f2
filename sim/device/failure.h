// Errors that travel from the thread where they happen to the thread where they surface.
//
// A Failure is shared and read-only; what is thrown is always a copy of it, made by the thread that
// throws, so that no two threads ever hold the same exception object.
#pragma once

#include <exception>
#include <memory>

#include "ringside/error.h"

namespace ringside::sim {

using Failure = std::shared_ptr<const Error>;

/// Null for a null `error`. An Error keeps its kind, message and hint; anything else becomes
/// Error(kDevice).
Failure to_failure(const std::exception_ptr& error);
/// A fresh exception; null for a null failure.
std::exception_ptr to_exception(const Failure& failure);
[[noreturn]] void raise(const Failure& failure);

}  // namespace ringside::sim
