// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums over dims, and repetitions along new ones: each is the adjoint of the other. A sum does not
// know how long the dims are that it sums over; its adjoint needs their sizes.
//   SumReduce(dims("ABC"), dims("AB"), {{"C", 3}})
//   Repeat({{"C", 3}}, dims("AB"), dims("ABC"))

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct Repeat;

struct TESSERA_API SumReduce {
  NamedShape names;
  DimSizes sizes;  // of dims of the input

  static constexpr const char* kind = "SumReduce";
  // DimError unless the output has fewer dims, all of them the input's.
  SumReduce(Dims ishape, Dims oshape, DimSizes sizes = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(names, sizes); }
  static SumReduce from_state(const NamedShape& n, DimSizes s) {
    return SumReduce(n.ishape, n.oshape, std::move(s));
  }
  std::optional<i64> size(NamedDimension d) const { return size_in(sizes, d); }
  DType output_dtype(DType t) const { return reduce_dtype(ReduceOp::sum, t); }
  void apply(Recorder& r, const View& x, const View& y) const;
  Repeat adjoint() const;
  NamedLinop normal() const;
  SumReduce renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  // With sizes that somebody else knows; nothing when there is no new one among them.
  std::optional<SumReduce> informed(const SizeOf& size_of) const;
  std::string details() const { return sizes.empty() ? std::string() : to_text(sizes); }
};

struct TESSERA_API Repeat {
  DimSizes n_repeats;  // of the dims that only the output has
  NamedShape names;
  Dims broadcast_dims;  // new dims whose size the operator does not insist on: once, unless given

  static constexpr const char* kind = "Repeat";
  // DimError unless the output has more dims, all of the input's among them, and n_repeats holds
  // each new one.
  Repeat(DimSizes n_repeats, Dims ishape, Dims oshape, Dims broadcast_dims = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(n_repeats, names, broadcast_dims); }
  static Repeat from_state(DimSizes repeats, const NamedShape& n, Dims broadcast);
  std::optional<i64> size(NamedDimension d) const;
  Shape output_shape(const Shape& input) const;
  void apply(Recorder& r, const View& x, const View& y) const;
  SumReduce adjoint() const;
  std::optional<NamedLinop> normal() const;
  Repeat renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  std::string details() const { return to_text(n_repeats); }
};

// What summing and repeating come to: every element along the summed dims becomes their sum. The
// sizes are the input's, so that the normal of a sum needs none.
struct TESSERA_API SumSpread {
  NamedShape names;
  Dims summed;  // dims of the input, each renamed in the output

  static constexpr const char* kind = "SumSpread";
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(names, summed); }
  static SumSpread from_state(NamedShape n, Dims sums) { return {std::move(n), std::move(sums)}; }
  Shape output_shape(const Shape& input) const { return input; }
  DType output_dtype(DType t) const { return reduce_dtype(ReduceOp::sum, t); }
  void apply(Recorder& r, const View& x, const View& y) const;
  SumSpread adjoint() const;
  SumSpread renamed(const Renames& r) const { return {names.renamed(r), rename(summed, r)}; }
};

extern template struct NamedLinop::Model<SumReduce>;
extern template struct NamedLinop::Model<Repeat>;
extern template struct NamedLinop::Model<SumSpread>;

}  // namespace tessera
