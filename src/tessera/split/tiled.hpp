// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator in tiles whose normal is not made of them: where the whole states a normal that is
// another approximation than itself and then its adjoint (a NUFFT as a Toeplitz convolution), the
// normal of the tiles is the whole's, cut along those of their dims that it still has. So it is the
// same however the operator was cut, also along dims whose tiles are summed, and what no longer
// depends on the points is not computed once for each tile of them.
//   NamedLinop B = create_batched_linop(A, spec);   B.N() equals A.N()

#include <optional>
#include <vector>

#include "tessera/linop/containers/wrapper.hpp"
#include "tessera/split/batch_spec.hpp"

namespace tessera {

// What tiles were cut from, and how.
struct TESSERA_API CutFrom {
  NamedLinop whole;
  std::vector<BatchSpec> specs;
  std::optional<Shape> input{};  // the shape of one
  bool flipped = false;          // the tiles are of the adjoint

  // Nothing for operators whose normal may be made of tiles.
  static std::optional<CutFrom> where_normals_differ(const NamedLinop& whole,
                                                     const std::vector<BatchSpec>& specs,
                                                     const std::optional<Shape>& input);
  // The whole's normal, or with an inner operator where it is stated as a whole; nothing of adjoints.
  std::optional<NamedLinop> normal() const;
  std::optional<NamedLinop> normal(const NamedLinop& inner) const;
  // As tiles of such a normal are cut: along dims that it has and lets itself be cut along,
  // each in the place of the first of the tiles that it stands for.
  std::vector<BatchSpec> specs_of(const NamedLinop& normal) const;
  // Cut along batches of the output and nothing else: the normals of the tiles are parts of the
  // whole's, and are made one after the other, which takes less memory.
  bool only_along_batches() const;
  CutFrom adjoint() const { return {whole, specs, input, !flipped}; }
  CutFrom renamed(const Renames& r) const;
  CutFrom split(const Tile& tile) const;
  auto state() const { return std::tuple(whole, specs, input, flipped); }
  static CutFrom from_state(NamedLinop whole, std::vector<BatchSpec> specs,
                            std::optional<Shape> input, bool flipped) {
    return {std::move(whole), std::move(specs), std::move(input), flipped};
  }
};

// Around the tiles.
struct TESSERA_API Tiled : Wrapper {
  CutFrom from;

  static constexpr const char* kind = "Tiled";
  auto state() const { return std::tuple(a, from); }
  static Tiled from_state(NamedLinop tiles, CutFrom from);  // IoError where they do not fit
  Tiled adjoint() const { return {a.H(), from.adjoint()}; }
  NamedLinop normal() const;
  std::optional<NamedLinop> normal(const NamedLinop& inner) const;
  NamedLinop stands_for() const { return a; }
  Tiled renamed(const Renames& r) const { return {a.rename(r), from.renamed(r)}; }
  NamedLinop split(const Tile& tile) const;
  std::vector<NamedLinop> parts() const { return {a}; }
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    f(self.a);
    f(self.from.whole);
  }
  // A whole that lies elsewhere than its tiles stays there; else it moves with them.
  std::optional<NamedLinop> to(Device d) const;
  std::string details() const { return "its normal is that of the whole, in tiles"; }

 private:
  NamedLinop cut_alike(const NamedLinop& normal) const;
};

}  // namespace tessera
