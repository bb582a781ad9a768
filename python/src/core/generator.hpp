// SPDX-License-Identifier: Apache-2.0
#pragma once
// A source of random numbers as Python holds it: draws from several threads are numbered under a
// lock.
//   Generator g(7);   Array x = g.draw([&](Random& r) { return r.normal(shape, dtype); });

#include <mutex>

#include "core/common.hpp"
#include "tessera/kernels/random/random.hpp"

namespace tessera::python {

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}
  // Few numbers keep the interpreter's lock where nobody else draws. Who draws many may wait for that
  // lock while it has the generator's: it is never waited for with the interpreter's.
  template <class F>
  auto draw(F&& f, bool many = true) {
    if (!many)
      if (const std::unique_lock now(mutex_, std::try_to_lock); now) return f(random_);
    return released([&] {
      const std::lock_guard lock(mutex_);
      return f(random_);
    });
  }
  // The same, and a draw that fails takes no number: the next one has what it would have had. Not
  // over ranks, which stay in step only as all of them count.
  template <class F>
  auto draw_here(F&& f, bool many = true) {
    return draw(
        [&](Random& random) {
          Random next = random;
          auto drawn = f(next);
          random = next;
          return drawn;
        },
        many);
  }
  void seed(std::uint64_t s) {
    nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    random_ = Random(s);
  }

 private:
  std::mutex mutex_;
  Random random_;
};

// --- random.cpp
std::uint64_t seed_from(nb::handle h);  // ArgumentError unless a non-negative integer

}  // namespace tessera::python
