#include "core/failure.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace ringside {
namespace {

/// A consequence of what another rank did.
bool is_consequence(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.kind() == ErrorKind::kDeadlock || e.kind() == ErrorKind::kRankFailed;
  } catch (...) {
    return false;
  }
}

[[noreturn]] void rethrow_for_rank(int rank, const std::exception_ptr& error) {
  const std::string prefix = fmt::format("rank {}: ", rank);
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    throw e.with_prefix(prefix);
  } catch (const std::bad_alloc&) {
    throw;  // the machine's memory, not this rank's
  } catch (const std::exception& e) {
    throw std::runtime_error(prefix + e.what());
  }
}

}  // namespace

Failure to_failure(const std::exception_ptr& error) {
  if (!error) return nullptr;
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return std::make_shared<const Error>(e.kind(), std::string(e.what()), e.hint());
  } catch (const std::exception& e) {
    return std::make_shared<const Error>(ErrorKind::kDevice, std::string(e.what()));
  } catch (...) {
    return std::make_shared<const Error>(ErrorKind::kDevice, "an exception without a text");
  }
}

std::exception_ptr to_exception(const Failure& failure) {
  if (!failure) return nullptr;
  return std::make_exception_ptr(
      Error(failure->kind(), std::string(failure->what()), failure->hint()));
}

void raise(const Failure& failure) {
  throw Error(failure->kind(), std::string(failure->what()), failure->hint());
}

void rethrow_first_cause(const std::vector<int>& ranks,
                         const std::vector<std::exception_ptr>& errors) {
  for (const bool consequences : {false, true}) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (errors[i] && is_consequence(errors[i]) == consequences) {
        rethrow_for_rank(ranks[i], errors[i]);
      }
    }
  }
}

}  // namespace ringside
