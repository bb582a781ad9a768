// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator that computes on one device while its arrays stay on another: the plan sends them
// when they are needed, each time it runs. For operators that do not fit on the device that should
// compute, tile by tile.
//   NamedLinop A = Fetched{Dense(w, dims("MN")), Device::parse("sim:0")};   A(x_on_sim)

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Fetched {
  NamedLinop a;
  Device where;  // that computes

  static constexpr const char* kind = "Fetched";
  NamedShape shape() const { return a.shape(); }
  auto state() const { return std::tuple(a, where); }
  static Fetched from_state(NamedLinop of, Device computes) { return {std::move(of), computes}; }
  Dims dims() const { return a.dims(); }
  std::optional<i64> size(NamedDimension d) const { return a.size(d); }
  std::optional<NamedDimension> same_size(NamedDimension d) const { return a.same_size(d); }
  std::optional<Device> device() const { return where; }
  Shape output_shape(const Shape& input) const { return a.output_shape(input); }
  DType output_dtype(DType t) const { return a.output_dtype(t); }
  bool isometry() const { return a.isometry(); }
  bool is_real_linear() const { return a.real_linear(); }
  void apply(Recorder& r, const View& x, const View& y) const {
    const Recorder::Residence there(r, where, Recorder::Constants::fetched);
    a.record(r, x, y);
  }
  bool apply_add(Recorder& r, const View& x, const View& y) const {
    const Recorder::Residence there(r, where, Recorder::Constants::fetched);
    a.record_add(r, x, y);
    return true;
  }
  NamedLinop adjoint() const { return Fetched{a.H(), where}; }
  NamedLinop normal() const { return Fetched{a.N(), where}; }
  // Its arrays stay where they are.
  NamedLinop to(Device d) const { return Fetched{a, d}; }
  NamedLinop renamed(const Renames& r) const { return Fetched{a.rename(r), where}; }
  NamedLinop split(const Tile& tile) const { return Fetched{a.split(tile), where}; }
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    f(self.a);
  }
  std::string details() const { return cat("computes on ", where); }
};

}  // namespace tessera
