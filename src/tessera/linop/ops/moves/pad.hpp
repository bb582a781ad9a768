// SPDX-License-Identifier: Apache-2.0
#pragma once
// An array in the middle of a larger one, with zeros around it, and back: index n//2 of each image
// dim goes to index p//2; or, wrapped, to index 0, and what lies before it to the end, as a transform
// that is not centred counts. Pad.H is Crop and Crop.H is Pad; Pad.H Pad is the identity.
//   Pad({20, 20}, {10, 10}, dims("XY"))   // (..., X, Y) -> (..., X1, Y1)
//   Crop({10, 10}, {20, 20}, dims("XY"), dims("AB"))

#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct Crop;

struct TESSERA_API Pad {
  Shape pad_im_size, im_size;
  Dims in_shape, out_shape;  // of the image dims only
  NamedShape names;
  bool wrapped = false;

  static constexpr const char* kind = "Pad";
  // Default names: Nx, Ny, Nz, and for the output the next unused ones. Names of in_shape before
  // the image dims are batch dims. DimError or ArgumentError for numbers of names that do not fit,
  // and for an image larger than the padded one.
  Pad(Shape pad_im_size, Shape im_size, Dims in_shape = {}, const Dims& out_shape = {},
      const Dims& batch_shape = {NamedDimension::ellipses()}, bool wrapped = false);
  NamedShape shape() const { return names; }
  auto state() const { return std::tuple(pad_im_size, im_size, names, wrapped); }
  static Pad from_state(Shape padded, Shape image, const NamedShape& n, bool wrapped);
  std::optional<i64> size(NamedDimension d) const;
  // Where the image begins along image dim i.
  i64 start(i64 i) const { return (wrapped ? 0 : pad_im_size[i] / 2) - im_size[i] / 2; }
  void apply(Recorder& r, const View& x, const View& y) const;
  Crop adjoint() const;
  NamedLinop normal() const;
  // The part of a weight where the image is. Between Pad and Crop a weight of the padded array is
  // one of the image, which is not told where the image wraps.
  std::optional<NamedLinop> weight_before(const NamedLinop& weight) const;
  std::optional<NamedLinop> normal(const NamedLinop& inner) const { return weight_before(inner); }
  Frame frame() const;
  bool isometry() const { return true; }
  Pad renamed(const Renames& r) const;
  std::string details() const {
    return cat(im_size, " in ", pad_im_size, wrapped ? " wrapped" : "");
  }
};

using PadLast = Pad;  // its other name

struct TESSERA_API Crop {
  Pad pad;  // what this is the adjoint of

  static constexpr const char* kind = "Crop";
  Crop(const Shape& crop_im_size, const Shape& im_size, Dims in_shape = {},
       const Dims& out_shape = {}, const Dims& batch_shape = {NamedDimension::ellipses()});
  explicit Crop(Pad of) : pad(std::move(of)) {}
  NamedShape shape() const { return pad.names.H(); }
  auto state() const { return std::tuple(pad); }
  static Crop from_state(Pad of) { return Crop(std::move(of)); }
  std::optional<i64> size(NamedDimension d) const { return pad.size(d); }
  void apply(Recorder& r, const View& x, const View& y) const;
  Pad adjoint() const { return pad; }
  // Zeros outside of what is kept, where that is in one piece.
  std::optional<NamedLinop> normal() const;
  std::optional<NamedLinop> weight_after(const NamedLinop& weight) const {
    return pad.weight_before(weight);
  }
  Frame frame() const;
  Crop renamed(const Renames& r) const { return Crop(pad.renamed(r)); }
  std::string details() const { return cat(pad.im_size, " of ", pad.pad_im_size); }
};

extern template struct NamedLinop::Model<Pad>;
extern template struct NamedLinop::Model<Crop>;

}  // namespace tessera
