// SPDX-License-Identifier: Apache-2.0
#pragma once
// The same map under other names, axis by axis: for operators that cannot rename themselves.
//   NamedLinop B = A.rename({{"M", "P"}});

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Relabel {
  NamedLinop a;
  NamedShape names;

  static constexpr const char* kind = "Relabel";
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(a, names); }
  static Relabel from_state(NamedLinop of, NamedShape n) { return {std::move(of), std::move(n)}; }
  std::optional<i64> size(NamedDimension d) const;
  std::optional<NamedDimension> same_size(NamedDimension d) const;
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
  NamedLinop adjoint() const { return Relabel{a.H(), names.H()}; }
  Relabel renamed(const Renames& r) const { return {a, names.renamed(r)}; }
  NamedLinop split(const Tile& tile) const;
  template <class Self, class F>
  static void each_part(Self& self, F&& f) {
    f(self.a);
  }

 private:
  std::optional<NamedDimension> inner_name(NamedDimension d) const;
};

}  // namespace tessera
