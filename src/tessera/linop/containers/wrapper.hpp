// SPDX-License-Identifier: Apache-2.0
#pragma once
// What operators around another one hand on to it. A wrapper hides what it does otherwise: one that
// records differently hides apply() and apply_add(), one with other names shape() and dims().
//   struct Loud : Wrapper { static constexpr const char* kind = "Loud";  NamedLinop adjoint() const; };

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct Wrapper {
  NamedLinop a;

  NamedShape shape() const { return a.shape(); }
  Dims dims() const { return a.dims(); }
  std::optional<i64> size(NamedDimension d) const { return a.size(d); }
  std::optional<NamedDimension> same_size(NamedDimension d) const { return a.same_size(d); }
  std::optional<Device> device() const { return a.device(); }
  Shape output_shape(const Shape& input) const { return a.output_shape(input); }
  DType output_dtype(DType t) const { return a.output_dtype(t); }
  Device output_device(Device d) const { return a.output_device(d); }
  bool isometry() const { return a.isometry(); }
  bool is_real_linear() const { return a.real_linear(); }
  void apply(Recorder& r, const View& x, const View& y) const { a.record(r, x, y); }
  bool apply_add(Recorder& r, const View& x, const View& y) const {
    a.record_add(r, x, y);
    return true;
  }
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    f(self.a);
  }
};

// One that says more of the operator and changes nothing: what is made of it is made of the operator.
struct StandIn : Wrapper {
  NamedLinop adjoint() const { return a.H(); }
  NamedLinop normal() const { return a.N(); }
  NamedLinop stands_for() const { return a; }
  NamedLinop renamed(const Renames& r) const { return a.rename(r); }
  NamedLinop split(const Tile& tile) const { return a.split(tile); }
};

}  // namespace tessera
