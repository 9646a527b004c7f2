// ShortText: a text that is kept in place if it has at most kInPlace characters, as names have; a
// std::string of an op's usual name would allocate.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace ringside {

class ShortText {
 public:
  static constexpr std::size_t kInPlace = 48;

  ShortText() = default;
  explicit ShortText(std::string_view text) : size_(text.size()) {
    if (size_ > kInPlace) on_heap_ = std::make_unique<char[]>(size_);
    std::copy(text.begin(), text.end(), on_heap_ ? on_heap_.get() : in_place_.data());
  }

  /// What was moved from is empty.
  ShortText(ShortText&& other) noexcept
      : size_(std::exchange(other.size_, 0)),
        on_heap_(std::move(other.on_heap_)),
        in_place_(other.in_place_) {}
  ShortText& operator=(ShortText&& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    on_heap_ = std::move(other.on_heap_);
    in_place_ = other.in_place_;
    return *this;
  }

  /// Valid as long as the object stays where it is.
  std::string_view view() const { return {on_heap_ ? on_heap_.get() : in_place_.data(), size_}; }

 private:
  std::size_t size_ = 0;
  std::unique_ptr<char[]> on_heap_;
  std::array<char, kInPlace> in_place_;
};

}  // namespace ringside
