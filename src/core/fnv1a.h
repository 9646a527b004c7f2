// The checksum of traces and reports: FNV-1a, 64 bits. [Fowler, Noll, Vo: draft-eastlake-fnv]
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ringside {

class Fnv1a {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace ringside
