// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared objects that come and go with every expression: each thread keeps the memory of the last
// ones of a size that it let go, and hands it out again. Under a sanitizer every block goes back at
// once. Private to device/.
//   std::shared_ptr<Tiny> p = make_recycled<Tiny>(bytes);

#include <array>
#include <memory>
#include <new>

namespace tessera {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int most_recycled = 0;
#else
inline constexpr int most_recycled = 64;  // of each size
#endif

// Of a thread. It has no destructor: storages that go after the thread's own objects still find it.
struct RecycledBlocks {
  std::array<void*, 64> blocks{};
  int count = 0, most = 0;
  bool watched = false;
};

template <std::size_t size>
class Recycler {
 public:
  static void* take() {
    if (kept_.count > 0) return kept_.blocks[static_cast<std::size_t>(--kept_.count)];
    return ::operator new(size);
  }
  static void give(void* block) noexcept {
    if (most_recycled > 0 && !kept_.watched) watch();
    if (kept_.count < kept_.most)
      kept_.blocks[static_cast<std::size_t>(kept_.count++)] = block;
    else
      ::operator delete(block);
  }

 private:
  static inline constinit thread_local RecycledBlocks kept_{};

  struct End {  // of the thread
    ~End() {
      kept_.most = 0;
      while (kept_.count > 0)
        ::operator delete(kept_.blocks[static_cast<std::size_t>(--kept_.count)]);
    }
    void begin() const { kept_.most = most_recycled; }
  };
  [[gnu::noinline]] static void watch() noexcept {
    kept_.watched = true;
    static thread_local const End end;
    end.begin();
  }
};

// For std::allocate_shared: counts and object in one such block.
template <class T>
struct Recycling {
  using value_type = T;
  Recycling() = default;
  template <class U>
  Recycling(const Recycling<U>&) {}
  T* allocate(std::size_t) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    return static_cast<T*>(Recycler<sizeof(T)>::take());
  }
  void deallocate(T* p, std::size_t) noexcept { Recycler<sizeof(T)>::give(p); }
  friend bool operator==(const Recycling&, const Recycling&) { return true; }
};

template <class T, class... Args>
std::shared_ptr<T> make_recycled(Args&&... args) {
  return std::allocate_shared<T>(Recycling<T>{}, std::forward<Args>(args)...);
}

}  // namespace tessera
