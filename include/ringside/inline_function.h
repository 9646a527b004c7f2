// InlineFunction: a callable of any type, kept in place, so that handing work on allocates nothing.
//
// As std::function, but it moves only (and so holds callables that cannot be copied), and it has
// room for kBytes of captures. What is larger, or would throw when moved, lies on the heap.
// Threads: as any value.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace ringside {

template <typename Signature, std::size_t kBytes>
class InlineFunction;

template <typename Result, typename... Arguments, std::size_t kBytes>
class InlineFunction<Result(Arguments...), kBytes> {
 public:
  /// Empty; must not be called.
  InlineFunction() = default;

  template <typename Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, InlineFunction> &&
           std::is_invocable_r_v<Result, std::decay_t<Callable>&, Arguments...>)
      InlineFunction(Callable&& callable)  // NOLINT: implicit, as std::function; hides no move
      : actions_(&kActionsOf<std::decay_t<Callable>>) {
    using Held = std::decay_t<Callable>;
    if constexpr (kFits<Held>) {
      ::new (place()) Held(std::forward<Callable>(callable));
    } else {
      ::new (place()) Held*(new Held(std::forward<Callable>(callable)));
    }
  }

  InlineFunction(InlineFunction&& other) noexcept { take(other); }
  InlineFunction& operator=(InlineFunction&& other) noexcept {
    if (this != &other) {
      clear();
      take(other);
    }
    return *this;
  }
  ~InlineFunction() { clear(); }

  explicit operator bool() const { return actions_ != nullptr; }
  Result operator()(Arguments... arguments) const {
    return actions_->call(place(), std::forward<Arguments>(arguments)...);
  }

 private:
  struct Actions {
    Result (*call)(void* place, Arguments&&... arguments);
    void (*move)(void* to, void* from) noexcept;  // what it leaves is destroyed
    void (*destroy)(void* place) noexcept;
  };

  template <typename Held>
  static constexpr bool kFits =
      sizeof(Held) <= kBytes &&
      alignof(Held) <= alignof(void*) && std::is_nothrow_move_constructible_v<Held>;

  template <typename Held>
  static Held& held(void* place) {
    if constexpr (kFits<Held>) {
      return *std::launder(static_cast<Held*>(place));
    } else {
      return **std::launder(static_cast<Held**>(place));
    }
  }

  template <typename Held>
  static constexpr Actions kActionsOf{
      [](void* place, Arguments&&... arguments) -> Result {
        return held<Held>(place)(std::forward<Arguments>(arguments)...);
      },
      [](void* to, void* from) noexcept {
        if constexpr (kFits<Held>) {
          ::new (to) Held(std::move(held<Held>(from)));
          std::destroy_at(&held<Held>(from));
        } else {
          ::new (to) Held*(&held<Held>(from));
        }
      },
      [](void* place) noexcept {
        if constexpr (kFits<Held>) {
          std::destroy_at(&held<Held>(place));
        } else {
          delete &held<Held>(place);
        }
      }};

  void take(InlineFunction& other) noexcept {
    if (other.actions_ != nullptr) other.actions_->move(place(), other.place());
    actions_ = std::exchange(other.actions_, nullptr);
  }
  void clear() noexcept {
    if (actions_ != nullptr) std::exchange(actions_, nullptr)->destroy(place());
  }
  // Calling does not change which callable is held, though it may change what that has captured.
  void* place() const { return bytes_; }

  const Actions* actions_ = nullptr;
  alignas(void*) mutable std::byte bytes_[kBytes < sizeof(void*) ? sizeof(void*) : kBytes];
};

}  // namespace ringside
