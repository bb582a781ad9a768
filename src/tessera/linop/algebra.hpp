// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators made of operators: compositions, sums, and new names for the same map. People write
// `A * B + C`; these structs are what that means.
//   NamedLinop A = chain({S, F, D});   // S first

#include <vector>

#include "tessera/linop/linop.hpp"

namespace tessera {

// The parts in order of application. Temporaries between them; names must fit (DimError names both
// parts).
struct TESSERA_API Chain {
  std::vector<NamedLinop> operators;
  Dims in, out;                    // with the wildcards that the neighbours settle
  std::vector<std::string> notes;  // what was simplified, for explain()

  static constexpr const char* kind = "Chain";
  NamedShape shape() const { return {in, out}; }
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const;
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const;
  void apply(Recorder& r, const View& x, const View& y) const;
  NamedLinop adjoint() const;
  NamedLinop normal() const;
  NamedLinop to(Device d) const;
  std::vector<NamedLinop> parts() const { return operators; }
};

// The sum of its parts: same input, same output.
struct TESSERA_API Add {
  std::vector<NamedLinop> operators;

  static constexpr const char* kind = "Add";
  NamedShape shape() const;
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const;
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const;
  void apply(Recorder& r, const View& x, const View& y) const;
  NamedLinop adjoint() const;
  NamedLinop to(Device d) const;
  std::vector<NamedLinop> parts() const { return operators; }
};

// The same map under other names, axis by axis.
struct TESSERA_API Relabel {
  NamedLinop a;
  NamedShape names;

  static constexpr const char* kind = "Relabel";
  NamedShape shape() const { return names; }
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const { return a.device(); }
  Shape output_shape(const Shape& input) const { return a.output_shape(input); }
  DType output_dtype(DType t) const { return a.output_dtype(t); }
  void apply(Recorder& r, const View& x, const View& y) const { a.record(r, x, y); }
  NamedLinop adjoint() const { return Relabel{a.H(), names.H()}; }
  NamedLinop to(Device d) const { return Relabel{a.to(d), names}; }
  std::vector<NamedLinop> parts() const { return {a}; }
};

// Checks the names, flattens chains, drops identities and merges neighbouring scalars and diagonals
// (config().rewrite), and renames an output dim whose name died inside and was born again.
TESSERA_API NamedLinop chain(std::vector<NamedLinop> operators);
TESSERA_API NamedLinop sum(std::vector<NamedLinop> operators);

}  // namespace tessera
