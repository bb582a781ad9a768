// SPDX-License-Identifier: Apache-2.0
#pragma once
// Proximal maps: prox(v, t) = argmin_x f(x) + |x - v|^2 / (2 t), the part of fista, pdhg and admm
// that knows the regulariser f. The built-in ones are steps of a plan; any function can be one.
//   Prox g = prox::l1(0.01);   Prox own = prox::function("mine", [](const Array& v, double t)
//   {...});

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/kernels/reduce/reduce.hpp"
#include "tessera/plan/recorder.hpp"

namespace tessera {

class VectorSpace;
namespace vec {
struct Vector;
}

// What a map does to a vector on disk, in one pass: numbers that belong together are whole blocks.
struct ProxPass {
  Shape begin, shape;  // the numbers of the vector that it goes over
  // Numbers of a block along each axis, 0 for all of them; and where the first block begins, cyclically.
  Shape blocks, shift;
  enum class Target : std::uint8_t { vector, kept, nothing };
  Target target = Target::vector;  // what is written: v itself, or a vector beside it
  bool reads_kept = false;         // that an earlier pass of the same map has written
  // Of a box of whole blocks, which begins at `begin` of the grid of blocks, and of the same part of
  // what was kept: what is written there.
  std::function<Array(const Array& v, const Array& kept, const Shape& begin)> map;
};

struct Prox {
  std::string name;
  // y = prox(x, t) as steps over vectors that lie as `side` says; y may be x.
  using Steps = void(Recorder&, const VectorSpace& side, const vec::Vector& x, double t,
                     const vec::Vector& y);
  std::function<Steps> record{};
  // The same by a call, when there is no `record`.
  std::function<Array(const Array& v, double t)> call{};
  // The same for a map that is another one in each iteration of a solver, which are counted from 0:
  // by their number, so that a solve on other devices, or one that goes on, does what it would do.
  std::function<Array(const Array& v, double t, i64 iteration)> numbered{};
  // The same in passes over a vector on disk of this shape and dtype, which give `map` at most `room`
  // bytes at a time; what is wrong with such a vector is raised here.
  std::function<std::vector<ProxPass>(const Shape&, DType, double t, i64 iteration, i64 room)>
      passes{};
  // Two with steps and one name do the same: plans that have them are kept for the next solve.
  bool told_by_name = false;
  // What a number of the result follows from: the same number of v; those of its group, which lies
  // along `axes`, all of v without them; its block along the one axis of `axes`; anything in v.
  // With vectors on disk each part of v that belongs together is mapped by itself.
  enum class Reach : std::uint8_t { number, group, block, whole };
  Reach reach = Reach::whole;
  std::optional<Axes> axes{};
  // The function of prox:: that made it and its arguments, for pickles; none for a function.
  std::string maker{};
  std::vector<double> numbers{};
  Array center{};
  std::vector<Prox> parts{};  // of blocks
};

namespace prox {
TESSERA_API Prox none();          // f = 0
TESSERA_API Prox l1(double lam);  // lam sum |x|: soft threshold, complex too
TESSERA_API Prox l2(double lam);  // lam |x|: shrinks the whole
// lam/2 |x - center|^2; an empty center is 0.
TESSERA_API Prox l2_squared(double lam, const Array& center = {});
TESSERA_API Prox nonneg();                      // x >= 0; of complex numbers the real part
TESSERA_API Prox box(double low, double high);  // low <= x <= high, real numbers
// lam times the sum of the lengths of the vectors along `axes`: groups are zero together.
TESSERA_API Prox group(double lam, const Axes& axes);
// x >= 0 with the sum `total` along `axes` (along all without them), real numbers.
TESSERA_API Prox simplex(double total = 1, const std::optional<Axes>& axes = {});
// The separable sum over blocks along an axis, in their order: each has a size and a map.
struct Block {
  i64 size;
  Prox f;
};
TESSERA_API Prox blocks(const std::vector<Block>& of, i64 axis = 0);
TESSERA_API Prox function(std::string name, std::function<Array(const Array&, double)> call);
}  // namespace prox

// prox(x, t), now; in an iteration of a solver with its number.
TESSERA_API Array apply_prox(const Prox& p, const Array& x, double t,
                             std::optional<i64> iteration = {});

}  // namespace tessera
