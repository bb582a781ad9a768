// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors that are distributed over ranks, as solvers see them: each rank works on its own part as
// if it were the whole, with an operator that maps parts to parts (and sends what it must), and
// with sums that are sums over all ranks. The solvers themselves: over_ranks.hpp.
//   NamedLinop mine = LocalPart(A, in, out);   cg(mine, b.local(), options)

#include <memory>
#include <optional>

#include "tessera/distributed/operators/apply.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

// How a vector is distributed: the whole of it, and which part each rank has.
struct TESSERA_API Ranks {
  Communicator comm;
  Shape shape;  // of the whole
  dist::Distribution distribution;

  Shape local_shape() const;
  DNDarray vector(const Array& mine) const { return DNDarray(mine, shape, distribution, comm); }
  // `to`, a number of each rank or several, becomes that of all ranks: a step of a plan. Where
  // every rank has the whole vector, rank 0 says its number, so that no rank ends before the
  // others.
  void combine(Recorder& r, const View& to, Combine op = Combine::sum) const;
  // For vectors of one number for each group along `axes`.
  Ranks reduced(const Shape& axes) const;
  Ranks stacked(i64 rows) const;
};
using RanksPtr = std::shared_ptr<const Ranks>;

// What A does to this rank's part of a vector that is distributed as `in` says, the result
// distributed as `out` says. All ranks apply it together.
struct TESSERA_API LocalPart {
  NamedLinop whole;
  RanksPtr in, out;
  std::optional<NamedDimension> along{};  // as dist::ApplyOptions

  // `along` as given; without it the dim of the output that is split, where the input is not
  // and A can be cut there: each rank then computes its part only.
  LocalPart(NamedLinop a, RanksPtr input, RanksPtr output, std::optional<NamedDimension> dim = {});

  static constexpr const char* kind = "LocalPart";
  NamedShape shape() const { return whole.shape(); }
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const { return whole.output_dtype(t); }
  bool is_real_linear() const { return whole.real_linear(); }
  void apply(Recorder& r, const View& x, const View& y) const;
  NamedLinop adjoint() const { return LocalPart(whole.H(), out, in, along); }
  NamedLinop normal() const { return LocalPart(whole.N(), in, in, along); }
  LocalPart renamed(const Renames& names) const;
};

}  // namespace tessera
