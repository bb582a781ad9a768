// SPDX-License-Identifier: Apache-2.0
#pragma once
// The first elements along one dim, and back: zeros at the end. Truncate.H is PadDim and PadDim.H
// is Truncate; PadDim.H PadDim is the identity.
//   Truncate(1, 5, 3, dims("NM"))   // (N, M) -> (N, M1), 5 elements to 3
//   PadDim(1, 3, 5, dims("NM"))

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct PadDim;

struct TESSERA_API Truncate {
  i64 dim, from_length, to_length;  // dim: position in the names, negative from the end
  NamedShape names;

  static constexpr const char* kind = "Truncate";
  // An output name that repeats the input's along `dim`, or is not given, becomes the next unused.
  // DimError for a position that is not there, ArgumentError unless 0 <= to_length <= from_length.
  Truncate(i64 dim, i64 from_length, i64 to_length, Dims ishape, Dims oshape = {});
  Truncate(NamedDimension dim, i64 from_length, i64 to_length, Dims ishape, Dims oshape = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(dim, from_length, to_length, names); }
  static Truncate from_state(i64 dim, i64 from, i64 to, const NamedShape& n) {
    return Truncate(dim, from, to, n.ishape, n.oshape);
  }
  std::optional<i64> size(NamedDimension d) const;
  void apply(Recorder& r, const View& x, const View& y) const;
  PadDim adjoint() const;
  NamedLinop normal() const;  // zeros after what is kept
  Truncate renamed(const Renames& r) const;
  std::string details() const { return cat(from_length, " -> ", to_length); }
};

struct TESSERA_API PadDim {
  i64 dim, from_length, to_length;
  NamedShape names;

  static constexpr const char* kind = "PadDim";
  PadDim(i64 dim, i64 from_length, i64 to_length, Dims ishape, Dims oshape = {});
  PadDim(NamedDimension dim, i64 from_length, i64 to_length, Dims ishape, Dims oshape = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(dim, from_length, to_length, names); }
  static PadDim from_state(i64 dim, i64 from, i64 to, const NamedShape& n) {
    return PadDim(dim, from, to, n.ishape, n.oshape);
  }
  std::optional<i64> size(NamedDimension d) const;
  void apply(Recorder& r, const View& x, const View& y) const;
  Truncate adjoint() const;
  NamedLinop normal() const;
  bool isometry() const { return true; }
  PadDim renamed(const Renames& r) const;
  std::string details() const { return cat(from_length, " -> ", to_length); }
};

extern template struct NamedLinop::Model<Truncate>;
extern template struct NamedLinop::Model<PadDim>;

}  // namespace tessera
