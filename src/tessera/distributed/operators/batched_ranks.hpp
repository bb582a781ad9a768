// SPDX-License-Identifier: Apache-2.0
#pragma once
// One operator over several ranks and their devices, tile by tile: what create_batched_linop
// (split/batched.hpp) is for the devices of one process, for places that name ranks. It is an
// operator as any other, except that all ranks of its group apply it together, to the same input:
// each computes its own tiles, and every rank has the whole result. Distributed arrays are gathered
// first; to split one dim evenly, and to keep the result distributed, apply() with `along` needs
// no places (distributed/operators/apply.hpp).
//   BatchSpec spec{.batch_sizes = {{"C", 4}}, .device_matrix = {"rank0/cuda:0", "rank1/cuda:0"}};
//   NamedLinop B = dist::create_batched_linop(A, {spec});   B(x) equals A(x)

#include <functional>

#include "tessera/comm/communicator.hpp"
#include "tessera/split/batched.hpp"
#include "tessera/split/tiled.hpp"

namespace tessera::dist {

// Which parts of one side each rank computes.
struct TESSERA_API RankShares {
  std::vector<std::vector<Tile>> of;  // by rank; each part once
  bool apart = true;  // no two ranks give the same part: results are collected, not summed
};

struct TESSERA_API BatchedRanks {
  NamedLinop mine;  // the tiles of this rank, zeros in the place of the others
  Communicator comm;
  Device base;  // of input and output, on every rank
  RankShares in, out;
  std::optional<CutFrom> from{};  // where the normal is not made of the tiles

  static constexpr const char* kind = "BatchedRanks";
  NamedShape shape() const { return mine.shape(); }
  Dims dims() const { return mine.dims(); }
  std::optional<i64> size(NamedDimension d) const { return mine.size(d); }
  std::optional<Device> device() const { return base; }
  Shape output_shape(const Shape& input) const { return mine.output_shape(input); }
  DType output_dtype(DType t) const { return mine.output_dtype(t); }
  bool is_real_linear() const { return mine.real_linear(); }
  void apply(Recorder& r, const View& x, const View& y) const;
  BatchedRanks adjoint() const {
    return {mine.H(), comm, base, out, in, from ? std::optional(from->adjoint()) : std::nullopt};
  }
  std::optional<NamedLinop> normal() const {
    return from ? cut_alike([&] { return from->normal(); }) : std::nullopt;
  }
  std::optional<NamedLinop> normal(const NamedLinop& inner) const {
    return from ? cut_alike([&] { return from->normal(inner); }) : std::nullopt;
  }
  NamedLinop renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;
  NamedLinop to(Device d) const;
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    f(self.mine);
  }
  std::string details() const;

 private:
  std::optional<NamedLinop> cut_alike(const std::function<std::optional<NamedLinop>()>& make) const;
};

// Collective. The first spec names ranks (a place without a rank is on rank 0), the next cut what a
// rank has. Errors as those of create_batched_linop, and CommError for a rank that is not there; on
// all ranks.
TESSERA_API NamedLinop create_batched_linop(const NamedLinop& a,
                                            const std::vector<BatchSpec>& specs,
                                            const std::optional<Shape>& input = {},
                                            const Communicator& comm = {});

}  // namespace tessera::dist
