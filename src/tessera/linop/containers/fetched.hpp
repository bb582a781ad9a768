// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator that computes on one device while its arrays stay on another: the plan sends them
// when they are needed, each time it runs. For operators that do not fit on the device that should
// compute, tile by tile.
//   NamedLinop A = Fetched{Dense(w, dims("MN")), Device::parse("sim:0")};   A(x_on_sim)

#include "tessera/linop/containers/wrapper.hpp"

namespace tessera {

struct TESSERA_API Fetched : Wrapper {
  Device where;  // that computes

  static constexpr const char* kind = "Fetched";
  auto state() const { return std::tuple(a, where); }
  static Fetched from_state(NamedLinop of, Device computes) { return {std::move(of), computes}; }
  std::optional<Device> device() const { return where; }
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
  std::string details() const { return cat("computes on ", where); }
};

extern template struct NamedLinop::Model<Fetched>;

}  // namespace tessera
