// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a struct must offer to be an operator. Required: a static `kind`, shape(), apply() and an
// adjoint, by value (adjoint()) or by call (apply_adjoint()). Optional, found by name:
//   size(dim), dims() (inner ones too), device(), output_shape(shape), output_dtype(dtype),
//   same_size(dim): the dim of the other side that is as long, under another name; or, where this
//   holds for all dims counted from the last, static constexpr bool keeps_sizes = true;
//   adjoint_dtype(dtype), output_device(device), normal(), normal(inner), isometry(), real_linear,
//   renamed(renames), split(tile), details(), state() and from_state(...) (state.hpp: pickles,
//   files), bool apply_add(r, x, y): y += A x without a temporary; false, with nothing recorded,
//   where this x and y need one
// and what it offers to rewriting, lowering and joining of tiles (offers.def): merged_with(next) …
// What it is made of is said once, for operators that may change and for those that may not:
//   template <class Self, class F> static void each_array(Self& self, F&& f) { f(self.weight); }
//   template <class Self, class F> static void each_part(Self& self, F&& f) { f(self.inner); }
// From these follow moving it to a device, copying it and the bytes it holds. Besides, parts() for
// those it shows, where they differ, and to(device) for what moves in another way, or not at all.
// A dim on both sides means that the operator acts point by point along it. Without split() an
// operator may be cut along such a dim when it does not know its size, and along no other.
//   struct Twice { static constexpr const char* kind = "Twice";  NamedShape shape() const;
//                  void apply(Recorder& r, const View& x, const View& y) const;
//                  Twice adjoint() const; };

#include <concepts>

#include "tessera/linop/core/tile.hpp"
#include "tessera/names/named_shape.hpp"
#include "tessera/plan/recorder.hpp"

namespace tessera {

class NamedLinop;

template <class T>
concept Operator = requires(const T a, Recorder& r, const View& x, const View& y) {
  { T::kind } -> std::convertible_to<std::string_view>;
  { a.shape() } -> std::convertible_to<NamedShape>;
  a.apply(r, x, y);
};
template <class T>
concept AdjointByValue = requires(const T a) {
  a.adjoint();
};
template <class T>
concept AdjointByCall = requires(const T a, Recorder& r, const View& x, const View& y) {
  a.apply_adjoint(r, y, x);
};
template <class T>
concept HoldsArrays = requires(T& a, void (*f)(Array&)) {
  T::each_array(a, f);
};
template <class T>
concept HoldsParts = requires(T& a, void (*f)(NamedLinop&)) {
  T::each_part(a, f);
};

}  // namespace tessera
