// SPDX-License-Identifier: Apache-2.0
#pragma once
// The identity, taking its time: for tests of overlap and of schedules. The adjoint and the normal
// do not sleep. On asynchronous devices the device sleeps, not the host.
//   Sleep(0.1, dims("X"))

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API Sleep {
  double duration;  // seconds
  NamedShape names;
  bool awake = false;  // the adjoint

  static constexpr const char* kind = "Sleep";
  // Without oshape the output has the input's names. ArgumentError for a negative or infinite
  // duration, DimError for names of different numbers.
  explicit Sleep(double duration = 0.1, const Dims& ioshape = {NamedDimension::ellipses()},
                 const Dims& oshape = {});
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(duration, names, awake); }
  static Sleep from_state(double seconds, const NamedShape& n, bool awake) {
    Sleep a(seconds, n.ishape, n.oshape);
    a.awake = awake;
    return a;
  }
  Shape output_shape(const Shape& input) const { return input; }
  void apply(Recorder& r, const View& x, const View& y) const;
  Sleep adjoint() const;
  NamedLinop normal() const;
  bool isometry() const { return true; }
  Sleep renamed(const Renames& r) const;
  std::string details() const { return awake ? "awake" : cat(duration, " s"); }
};

extern template struct NamedLinop::Model<Sleep>;

}  // namespace tessera
