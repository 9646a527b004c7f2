// InlineVector: a list that is usually short, kept in place; only more than kInPlace elements are
// allocated. Elements are values that are cheap to make and to move, such as handles.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ringside {

template <typename T, std::size_t kInPlace>
class InlineVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() = default;
  explicit InlineVector(std::size_t size) { resize(size); }
  explicit InlineVector(std::vector<T> elements) {
    resize(elements.size());
    std::move(elements.begin(), elements.end(), begin());
  }
  InlineVector(std::initializer_list<T> elements) {
    for (const T& element : elements) push_back(element);
  }
  InlineVector(const InlineVector&) = default;
  InlineVector& operator=(const InlineVector&) = default;
  /// What was moved from is empty.
  InlineVector(InlineVector&& other) noexcept
      : in_place_(std::move(other.in_place_)),
        longer_(std::move(other.longer_)),
        size_(std::exchange(other.size_, 0)) {
    other.longer_.clear();
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    in_place_ = std::move(other.in_place_);
    longer_ = std::move(other.longer_);
    size_ = std::exchange(other.size_, 0);
    other.longer_.clear();
    return *this;
  }
  ~InlineVector() = default;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T* data() { return size_ <= kInPlace ? in_place_.data() : longer_.data(); }
  const T* data() const { return size_ <= kInPlace ? in_place_.data() : longer_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t index) { return data()[index]; }
  const T& operator[](std::size_t index) const { return data()[index]; }
  /// Throws std::out_of_range.
  T& at(std::size_t index) {
    if (index >= size_) throw std::out_of_range("InlineVector::at");
    return data()[index];
  }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void push_back(T element) {
    resize(size_ + 1);
    back() = std::move(element);
  }
  void pop_back() { resize(size_ - 1); }
  void clear() { resize(0); }
  /// New elements are T().
  void resize(std::size_t size) {
    if (size > kInPlace) {
      if (size_ <= kInPlace) std::move(begin(), end(), std::back_inserter(longer_));
      longer_.resize(size);
    } else if (size_ > kInPlace) {
      std::move(longer_.begin(), longer_.begin() + size, in_place_.begin());
      longer_.clear();
    } else {
      const auto [fewer, more] = std::minmax(size, size_);
      std::fill(in_place_.begin() + fewer, in_place_.begin() + more, T());
    }
    size_ = size;
  }

 private:
  std::array<T, kInPlace> in_place_{};  // all of the elements, or none
  std::vector<T> longer_;               // all of them, if there are more than kInPlace
  std::size_t size_ = 0;
};

}  // namespace ringside
