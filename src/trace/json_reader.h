// Reads JSON that may be damaged or hostile: every access checks, every fault names its place
// ("t.json: ops[12].dependencies[0]: 40 is not an earlier op").
//
// A thin cover over nlohmann-json, which stays out of this header. Threads: a document is read by
// one thread at a time.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ringside {

class JsonDocument;

/// A place in a document. Valid as long as its document.
class JsonValue {
 public:
  /// Each reads this value as the type of its name, or throws Error(kInvalidInput) with the place.
  std::string text() const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  int small_integer(int least, int most = std::numeric_limits<int>::max()) const;
  std::size_t size(std::size_t most = std::numeric_limits<std::size_t>::max()) const;
  /// A number, or one of the strings "nan", "inf" and "-inf".
  double number() const;
  double finite_number() const;
  /// "0x" and 16 hexadecimal digits.
  std::uint64_t hexadecimal() const;
  /// The value of an enumeration (with a to_string) that is named.
  template <typename Enum, std::size_t N>
  Enum one_of(const std::array<Enum, N>& all) const;

  /// An array's elements.
  std::size_t length() const;
  JsonValue operator[](std::size_t index) const;

  /// An object's fields; one that is missing, unknown or there twice is a fault of the object.
  void allow_only(std::initializer_list<std::string_view> fields) const;
  JsonValue at(std::string_view field) const;
  std::optional<JsonValue> find(std::string_view field) const;

  /// Throws Error(kInvalidInput): the source's name, this place, `what`.
  [[noreturn]] void fault(std::string_view what) const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, const void* value) : document_(document), value_(value) {}

  const JsonDocument* document_;
  const void* value_;  // nlohmann::json
};

class JsonDocument {
 public:
  /// Throws Error(kInvalidInput) with line and column where `text` is not JSON.
  JsonDocument(std::string_view text, std::string_view source_name);
  ~JsonDocument();
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonValue root() const;
  /// Checks the two fields every Ringside file begins with: "ringside" (what it is) and "version".
  void check_header(std::string_view what, int version) const;

 private:
  friend class JsonValue;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

template <typename Enum, std::size_t N>
Enum JsonValue::one_of(const std::array<Enum, N>& all) const {
  const std::string name = text();
  std::array<std::string_view, N> names;
  for (std::size_t i = 0; i < N; ++i) {
    names[i] = to_string(all[i]);
    if (names[i] == name) return all[i];
  }
  fault(fmt::format("'{}' must be one of {}", name, fmt::join(names, ", ")));
}

}  // namespace ringside
