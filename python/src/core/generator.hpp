// SPDX-License-Identifier: Apache-2.0
#pragma once
// A source of random numbers as Python holds it: draws from several threads are numbered under a
// lock.
//   Generator g(7);   Array x = g.draw([&](Random& r) { return r.normal(shape, dtype); });

#include <mutex>
#include <utility>

#include "core/common.hpp"
#include "tessera/kernels/random/random.hpp"

namespace tessera::python {

class Generator {
 public:
  explicit Generator(std::uint64_t seed, std::uint64_t draw = 0) : random_(seed, draw) {}
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
  // (seed, number of the next draw): what a pickle keeps.
  nb::tuple state() {
    const auto [seed, next] =
        draw([](const Random& r) { return std::pair(r.seed(), r.draw()); }, false);
    return nb::make_tuple(seed, next);
  }

 private:
  std::mutex mutex_;
  Random random_;
};

// --- random.cpp
std::uint64_t seed_from(nb::handle h);  // ArgumentError unless a non-negative integer

// Pickles and copies of a class of generators: the draws go on where the state was taken.
template <class G, class C>
void bind_generator_state(C& c) {
  c.def(
       "__getstate__", [](G& g) { return g.state(); },
       nb::sig("def __getstate__(self) -> tuple[int, int]"))
      .def(
          "__setstate__",
          [](G* g, const nb::tuple& state) {
            require<ArgumentError>(state.size() == 2,
                                   "Generator: expected a seed and the number of a draw, got ",
                                   state.size(), " numbers");
            new (g) G(seed_from(state[0]), seed_from(state[1]));
          },
          nb::sig("def __setstate__(self, state: tuple[int, int], /) -> None"));
}

}  // namespace tessera::python
