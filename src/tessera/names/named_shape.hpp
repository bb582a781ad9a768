// SPDX-License-Identifier: Apache-2.0
#pragma once
// The named input and output of an operator, and whatever other lists of its dims should follow
// them. A value. A name on both sides means: the operator acts point by point along it.
//   NamedShape s(dims("AB"), dims("BC"));   s.H() is (B, C) -> (A, B);   s.N() is (A, B) -> (A1, B)

#include <optional>
#include <utility>
#include <vector>

#include "tessera/names/named_dim_collection.hpp"

namespace tessera {

struct TESSERA_API NamedShape {
  Dims ishape, oshape;
  std::vector<NamedDimCollection::Entry> others;  // kept by H and N, merged by +

  NamedShape() : NamedShape(Dims{NamedDimension::ellipses()}) {}
  explicit NamedShape(Dims both) : ishape(both), oshape(std::move(both)) {}
  NamedShape(Dims in, Dims out) : ishape(std::move(in)), oshape(std::move(out)) {}
  NamedShape(Dims in, Dims out, std::vector<NamedDimCollection::Entry> other)
      : ishape(std::move(in)), oshape(std::move(out)), others(std::move(other)) {}
  // Out of line: every operator has functions that give one away or drop one.
  NamedShape(const NamedShape&);
  NamedShape(NamedShape&&) noexcept;
  NamedShape& operator=(const NamedShape&);
  NamedShape& operator=(NamedShape&&) noexcept;
  ~NamedShape();

  NamedShape H() const;
  // Input kept; an output dim is the input's where both sides have it, else its next unused name.
  NamedShape N() const;
  const NameGroup& other(std::string_view name) const;  // DimError for an unknown one
  // One of them ("ishape", "oshape" or another) gets other names, and with it every dim that it
  // shares: see note [renaming by assignment].
  NamedShape with(std::string_view name, NameGroup group) const;
  NamedShape renamed(const Renames& renames) const;
  std::string str() const;  // "(A, B) -> (C,)"
  // Inputs, outputs and others side by side; the same other shape twice must agree.
  friend NamedShape operator+(const NamedShape& a, const NamedShape& b);
  // Wildcards match: not transitive. Other shapes are not compared.
  friend bool operator==(const NamedShape& a, const NamedShape& b) {
    return isequal(a.ishape, b.ishape).matched && isequal(a.oshape, b.oshape).matched;
  }
};
TESSERA_API NamedShape operator+(const NamedShape& a, const NamedShape& b);

TESSERA_API Dims dims_of(const NamedShape& s);  // of both sides, each once

// "Nx", "Ny", "Nz" up to ndim (1 to 3), or "Kx" … in the frequency domain.
TESSERA_API Dims nd_shape(i64 ndim, bool kspace = false);

}  // namespace tessera
