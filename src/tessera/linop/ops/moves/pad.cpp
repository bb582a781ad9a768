// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/ops/moves/pad.hpp"

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/ops/basic/identity.hpp"
#include "tessera/linop/ops/moves/frame_parts.hpp"
#include "tessera/linop/ops/moves/window.hpp"
#include "tessera/plan/record_moves.hpp"

namespace tessera {
namespace {

struct ImageNames {
  Dims batch, in, out;
};

Dims default_image(std::string_view who, i64 ndim) {
  require<DimError>(ndim >= 1 && ndim <= 3, who, ": ", ndim,
                    " image dims have no default names; give in_shape");
  return nd_shape(ndim);
}

// Names of in_shape before the image dims join the batch dims.
ImageNames image_names(std::string_view who, i64 ndim, Dims in, const Dims& out,
                       const Dims& batch) {
  if (in.empty()) in = default_image(who, ndim);
  const i64 lead = in.size() - ndim;
  require<DimError>(lead >= 0 && (out.empty() || out.size() == in.size()), who, ": ", ndim,
                    " image sizes do not fit the names ", to_text(in), " and ", to_text(out));
  ImageNames n{batch, {}, {}};
  for (i64 i = 0; i < in.size(); ++i) (i < lead ? n.batch : n.in).push_back(in[i]);
  Dims ishape = n.batch, oshape;
  ishape.append(n.in);
  if (!out.empty()) {
    oshape = batch;
    oshape.append(out);
  }
  const Dims resolved = mixed_output(who, ishape, oshape, n.in);
  for (i64 i = n.batch.size(); i < resolved.size(); ++i) n.out.push_back(resolved[i]);
  return n;
}

void check_ranks(std::string_view who, const Shape& small, const Shape& large) {
  require<DimError>(!small.empty() && small.size() == large.size(), who, ": image sizes ", small,
                    " and ", large, " must have the same number of dims, at least one");
}

void check_fits(std::string_view who, const ImageNames& n, const Shape& small, const Shape& large) {
  for (i64 i = 0; i < small.size(); ++i)
    require<ArgumentError>(small[i] >= 0 && small[i] <= large[i], who, " ", to_text(n.in), " -> ",
                           to_text(n.out), ": an image of ", small, " does not fit into one of ",
                           large);
}

// Between the image and where it lies in the larger array.
void copy_parts(Recorder& r, const Frame& f, const View& x, FrameSide of_x, const View& y,
                FrameSide of_y) {
  const std::vector<Layout> from = frame_parts(f, x.layout, of_x, 0, f.image.size()),
                            to = frame_parts(f, y.layout, of_y, 0, f.image.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    record::copy(r, sub_view(x, from[i]), sub_view(y, to[i]));
}

}  // namespace

Pad::Pad(Shape padded, Shape image, Dims in, const Dims& out, const Dims& batch, bool wrap)
    : pad_im_size(std::move(padded)), im_size(std::move(image)), wrapped(wrap) {
  check_ranks("Pad", im_size, pad_im_size);
  ImageNames n = image_names("Pad", im_size.size(), std::move(in), out, batch);
  check_fits("Pad", n, im_size, pad_im_size);
  names = NamedShape(n.batch, n.batch) + NamedShape(n.in, n.out);
  in_shape = std::move(n.in);
  out_shape = std::move(n.out);
}

std::optional<i64> Pad::size(NamedDimension d) const {
  for (i64 i = 0; i < in_shape.size(); ++i) {
    if (in_shape[i] == d) return im_size[i];
    if (out_shape[i] == d) return pad_im_size[i];
  }
  return std::nullopt;
}

void Pad::apply(Recorder& r, const View& x, const View& y) const {
  const Frame f = frame();
  if (f.wraps()) {
    record::fill(r, Value(0), y);
    return copy_parts(r, f, x, FrameSide::image, y, FrameSide::outer);
  }
  Shape start(y.layout.ndim() - f.start.size(), 0);
  start.append(f.start);
  record::place(r, x, y, start);
}

Crop Pad::adjoint() const { return Crop(*this); }

NamedLinop Pad::normal() const { return Identity(names.ishape); }

std::optional<NamedLinop> Pad::weight_before(const NamedLinop& weight) const {
  if (frame().wraps()) return std::nullopt;
  AxisRanges image;
  for (i64 i = 0; i < im_size.size(); ++i) image.push_back({start(i), start(i) + im_size[i]});
  return weight.offers().weight_on(names.ishape, image);
}

Frame Pad::frame() const {
  Frame f{im_size, pad_im_size, {}};
  for (i64 i = 0; i < im_size.size(); ++i) f.start.push_back(start(i));
  return f;
}

Frame Crop::frame() const {
  Frame f = pad.frame();
  f.cuts = true;
  return f;
}

Pad Pad::from_state(Shape padded, Shape image, const NamedShape& n, bool wrapped) {
  const auto [batch, in] = cut_last("Pad", n.ishape, image.size());
  const Dims out = cut_last("Pad", n.oshape, image.size()).second;
  return Pad(std::move(padded), std::move(image), in, out, batch, wrapped);
}

Pad Pad::renamed(const Renames& r) const {
  Pad p = *this;
  p.names = names.renamed(r);
  p.in_shape = rename(in_shape, r);
  p.out_shape = rename(out_shape, r);
  return p;
}

Crop::Crop(const Shape& crop_im_size, const Shape& im_size, Dims in, const Dims& out,
           const Dims& batch)
    : pad([&] {
        check_ranks("Crop", crop_im_size, im_size);
        const ImageNames n = image_names("Crop", im_size.size(), std::move(in), out, batch);
        check_fits("Crop", n, crop_im_size, im_size);
        return Pad(im_size, crop_im_size, n.out, n.in, n.batch);
      }()) {}

void Crop::apply(Recorder& r, const View& x, const View& y) const {
  copy_parts(r, frame(), x, FrameSide::outer, y, FrameSide::image);
}

std::optional<NamedLinop> Crop::normal() const {
  if (frame().wraps()) return std::nullopt;
  std::vector<Window::Range> kept;
  for (i64 i = 0; i < pad.im_size.size(); ++i)
    kept.push_back(
        {pad.out_shape[i], pad.start(i), pad.start(i) + pad.im_size[i], pad.pad_im_size[i]});
  return Window(pad.names.oshape, std::move(kept));
}

}  // namespace tessera
