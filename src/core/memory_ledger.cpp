#include "core/memory_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/format_bytes.h"
#include "ringside/error.h"

namespace ringside {

/// Bytes on the account for as long as it lives.
struct MemoryLedger::Charge {
  std::shared_ptr<MemoryLedger> ledger;
  std::size_t bytes;
  MemoryKind kind;

  Charge(std::shared_ptr<MemoryLedger> charged, std::size_t charged_bytes, MemoryKind charged_kind)
      : ledger(std::move(charged)), bytes(charged_bytes), kind(charged_kind) {}
  ~Charge() { ledger->take_off(bytes, kind); }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
};

MemoryLedger::MemoryLedger(std::string device, std::size_t capacity) : device_(std::move(device)) {
  account_.capacity = capacity;
}

std::shared_ptr<void> MemoryLedger::charge(std::size_t bytes, MemoryKind kind) {
  const auto k = static_cast<std::size_t>(kind);
  // Made first: where there is no memory for it, nothing may be left on the account.
  const auto charge = std::allocate_shared<Charge>(
      std::pmr::polymorphic_allocator<>(charges_.get()), shared_from_this(), 0, kind);
  const std::lock_guard lock(mutex_);
  if (account_.capacity != 0 && bytes > account_.capacity - account_.used) {
    throw_out_of_memory(bytes, kind);
  }
  account_.used += bytes;
  account_.used_by_kind[k] += bytes;
  account_.peak_by_kind[k] = std::max(account_.peak_by_kind[k], account_.used_by_kind[k]);
  if (account_.used > account_.peak) {
    account_.peak = account_.used;
    account_.at_peak = account_.used_by_kind;
  }
  charge->bytes = bytes;
  return charge;
}

MemoryAccount MemoryLedger::account() const {
  const std::lock_guard lock(mutex_);
  return account_;
}

void MemoryLedger::take_off(std::size_t bytes, MemoryKind kind) {
  const std::lock_guard lock(mutex_);
  account_.used -= bytes;
  account_.used_by_kind[static_cast<std::size_t>(kind)] -= bytes;
}

void MemoryLedger::throw_out_of_memory(std::size_t bytes, MemoryKind kind) const {
  std::string held;
  for (std::size_t k = 0; k < kMemoryKinds; ++k) {
    if (account_.used_by_kind[k] == 0) continue;
    held +=
        fmt::format("{}{} {}", held.empty() ? " (" : ", ", to_string(static_cast<MemoryKind>(k)),
                    format_bytes(account_.used_by_kind[k]));
  }
  if (!held.empty()) held += ")";
  throw Error(
      ErrorKind::kOutOfMemory,
      fmt::format("device {}: out of memory: tried to allocate {} for {}; {} of {} in use{}; at "
                  "most {} would have fitted",
                  device_, format_bytes(bytes), to_string(kind), format_bytes(account_.used),
                  format_bytes(account_.capacity), held,
                  format_bytes(account_.capacity - account_.used)),
      "take a smaller batch or model, spread it over more devices, or give each device more "
      "memory (--memory)");
}

}  // namespace ringside
