// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator together with the budgets under which it runs over arrays on disk: what fit gives for
// an input that is there. That it fits is checked when it is made. To arrays in memory it is the
// operator that it was made of.
//   NamedLinop F = fit_on_disk(A, {8, 64, 64}, DType::c64, {.budget = 1 << 20});

#include "tessera/linop/containers/wrapper.hpp"
#include "tessera/streaming/operators/stored_apply.hpp"

namespace tessera::streaming {

struct TESSERA_API FittedOnDisk : Wrapper {
  ApplyOptions options;
  std::string tiles{};  // of the input that it was fitted to

  static constexpr const char* kind = "FittedOnDisk";
  FittedOnDisk adjoint() const { return {{a.H()}, options}; }
  NamedLinop normal() const { return FittedOnDisk{{a.N()}, options}; }
  NamedLinop stands_for() const { return a; }
  FittedOnDisk renamed(const Renames& r) const { return {{a.rename(r)}, options, tiles}; }
  NamedLinop split(const Tile& tile) const { return a.split(tile); }
  std::string details() const { return tiles; }
};

// OutOfMemory as choose_tiles.
inline NamedLinop fit_on_disk(const NamedLinop& a, const Shape& input, DType dtype,
                              const ApplyOptions& options) {
  const TileChoice c = choose_tiles(a, input, dtype, options);
  return FittedOnDisk{{a},
                      options,
                      cat(c.sizes.empty() ? "whole" : cat("tiles of ", to_text(c.sizes)), ", ",
                          bytes_text(c.held), " of the host")};
}

// What runs, and the budgets that it has been given.
struct WithBudgets {
  NamedLinop a;
  ApplyOptions options;
};
inline WithBudgets with_budgets(const NamedLinop& a) {
  const FittedOnDisk* f = a.as<FittedOnDisk>();
  return f ? WithBudgets{f->a, f->options} : WithBudgets{a, {}};
}

}  // namespace tessera::streaming
