// SPDX-License-Identifier: Apache-2.0
// Fourier transforms on CUDA by cuFFT: up to three axes per call straight on the strided data where
// cuFFT's layout can say it, else packed into the workspace. Work areas come from the workspace,
// the scale is one element-wise pass (part of the unpacking where there is one).
#include <algorithm>
#include <cmath>

#include "tessera/device/cuda/handles.hpp"
#include "tessera/kernels/cuda/compose.hpp"
#include "tessera/kernels/cuda/grid.cuh"
#include "tessera/kernels/cuda/loops.cuh"
#include "tessera/kernels/fft/fft.hpp"

namespace tessera {
namespace cuda {
namespace {

// Where a step reads or writes: an operand of the launch, or the workspace.
struct Place {
  enum Which { in, out, workspace } which = in;
  i64 at = 0;  // bytes into the workspace
};

struct Step {
  Pass pass;  // either an element-wise pass
  std::shared_ptr<const FftPlan> plan;
  int sign = -1;
  std::vector<std::pair<i64, i64>> calls;  // byte offsets of in and out of each call of the plan
  Place from, to;
};

struct FftState {
  std::vector<Step> steps;
  i64 work_at = 0;  // of cuFFT's own work area
  // Note [real transforms]: cuFFT wants real numbers on the boundaries of complex ones. Where the
  // operand does not start on one, these steps run instead, which pack it.
  std::shared_ptr<const FftState> packed;
  std::size_t real_operand = 0;
  std::uintptr_t alignment = 1;
};

// Data on the way through the steps.
struct Data {
  Layout layout;
  DType dtype;
  Place place;
};

// The nested layout that cuFFT wants along `axes` (outermost first), or false.
bool nested(const Layout& l, const Shape& axes, long long* embed, long long& stride) {
  const i64 rank = axes.size();
  const auto step = [&](i64 k) { return l.shape[axes[k]] == 1 ? i64{0} : l.strides[axes[k]]; };
  for (i64 a : axes)
    if (l.shape[a] != 1 && l.strides[a] <= 0) return false;  // reversed, or one value for all
  stride = step(rank - 1) == 0 ? 1 : step(rank - 1);
  i64 inside = stride;
  embed[0] = l.shape[axes[0]];
  for (i64 k = rank - 1; k > 0; --k) {
    const i64 outside = step(k - 1) == 0 ? inside * l.shape[axes[k]] : step(k - 1);
    if (outside % inside != 0 || outside / inside < l.shape[axes[k]]) return false;
    embed[k] = outside / inside;
    inside = outside;
  }
  return true;
}

// Outermost first for cuFFT; the half axis of a real transform has to stay last.
Shape ordered_axes(const Layout& l, const Shape& axes, bool keep_last) {
  Shape order = axes;
  std::stable_sort(order.begin(), order.end() - (keep_last ? 1 : 0),
                   [&](i64 a, i64 b) { return l.strides[a] > l.strides[b]; });
  return order;
}

class Builder {
 public:
  Builder(const FftSpec& spec, Device device, bool pack_real)
      : spec_(spec),
        device_(device),
        wide_(complex_of(real_of(spec.in.dtype)) == DType::c128),
        pack_real_(pack_real) {}

  i64 workspace() const { return workspace_.total() > 0 ? workspace_.total() + 256 : 0; }

  std::shared_ptr<FftState> build() {
    Data in{spec_.in.layout, spec_.in.dtype, {Place::in, 0}},
        out{spec_.out.layout, spec_.out.dtype, {Place::out, 0}};
    switch (spec_.kind) {
      case FftKind::complex: complex_transform(in, out); break;
      case FftKind::real_to_complex: from_real(in, out); break;
      case FftKind::complex_to_real: to_real(in, out); break;
    }
    auto state = std::make_shared<FftState>();
    state->work_at = workspace_.take(work_bytes_);
    state->steps = std::move(steps_);
    return state;
  }

  static void run(const void* state, const Launch& l) {
    const auto& s = *static_cast<const FftState*>(state);
    const auto real = reinterpret_cast<std::uintptr_t>(l.operand[s.real_operand]);
    if (s.packed && real % s.alignment != 0) return run(s.packed.get(), l);
    const auto start = reinterpret_cast<std::uintptr_t>(l.workspace);
    auto* workspace = reinterpret_cast<std::byte*>((start + 255) / 256 * 256);
    for (const Step& step : s.steps) {
      void *from = memory(l, workspace, step.from), *to = memory(l, workspace, step.to);
      if (step.pass) {
        step.pass.run(l, {from, to});
        continue;
      }
      for (const auto& [a, b] : step.calls)
        step.plan->run(stream_of(l), workspace + s.work_at, at_bytes(from, a), at_bytes(to, b),
                       step.sign);
    }
  }

 private:
  static void* memory(const Launch& l, std::byte* workspace, const Place& p) {
    return p.which == Place::workspace ? static_cast<void*>(workspace + p.at)
                                       : l.operand[p.which == Place::in ? 0 : 1];
  }

  cufftType type(FftKind kind) const {
    switch (kind) {
      case FftKind::complex: return wide_ ? CUFFT_Z2Z : CUFFT_C2C;
      case FftKind::real_to_complex: return wide_ ? CUFFT_D2Z : CUFFT_R2C;
      default: return wide_ ? CUFFT_Z2D : CUFFT_C2R;
    }
  }

  // One cuFFT step from `in` to `out` over up to three axes, without copies; false when cuFFT
  // cannot say it.
  bool direct(FftKind kind, const Data& in, const Data& out, const Shape& axes, int sign,
              i64 most_calls) {
    const Shape order = ordered_axes(out.layout, axes, kind != FftKind::complex);
    FftPlanKey key;
    key.device = device_.index;
    key.type = type(kind);
    key.rank = static_cast<int>(order.size());
    for (int k = 0; k < key.rank; ++k)
      key.size[k] = (kind == FftKind::complex_to_real ? out : in).layout.shape[order[k]];
    if (!nested(in.layout, order, key.in_embed, key.in_stride) ||
        !nested(out.layout, order, key.out_embed, key.out_stride))
      return false;
    Shape rest;
    std::array<Strides, 2> strides;
    for (i64 axis = 0; axis < in.layout.ndim(); ++axis) {
      if (std::find(order.begin(), order.end(), axis) != order.end()) continue;
      rest.push_back(in.layout.shape[axis]);
      strides[0].push_back(in.layout.strides[axis]);
      strides[1].push_back(out.layout.strides[axis]);
    }
    MergedLoops m = merge_loops(rest, strides, 1);
    if (!take_batch(m, key, most_calls)) return false;
    Step step;
    step.sign = sign;
    for (const auto& at : outer_slices(m, m.size.empty() ? 0 : 1))
      step.calls.emplace_back(at[0] * size_of(in.dtype), at[1] * size_of(out.dtype));
    if (kind != FftKind::complex && !on_boundaries(kind, in, out, step.calls)) return false;
    step.plan = fft_plan(key);
    step.from = in.place;
    step.to = out.place;
    work_bytes_ = std::max(work_bytes_, step.plan->workspace());
    steps_.push_back(std::move(step));
    return true;
  }

  // See Note [real transforms].
  bool on_boundaries(FftKind kind, const Data& in, const Data& out,
                     const std::vector<std::pair<i64, i64>>& calls) const {
    const bool forward = kind == FftKind::real_to_complex;
    if (pack_real_ && (forward ? in : out).place.which != Place::workspace) return false;
    const i64 boundary = wide_ ? 16 : 8;
    return std::all_of(calls.begin(), calls.end(), [&](const auto& call) {
      return (forward ? call.first : call.second) % boundary == 0;
    });
  }

  // The same between buffers of ours, whose layout cuFFT can always say.
  void packed_transform(FftKind kind, const Data& in, const Data& out, const Shape& axes,
                        int sign) {
    const bool said = direct(kind, in, out, axes, sign, i64{1} << 62);
    require<BackendError>(said, "fft on cuda: no plan for packed data of shape ", in.layout.shape);
  }

  // The longest batch axis becomes cuFFT's, the others are looped over (they stay in `m` after the
  // first).
  static bool take_batch(MergedLoops& m, FftPlanKey& key, i64 most_calls) {
    if (m.size.empty()) return true;
    const i64 longest = std::max_element(m.size.begin(), m.size.end()) - m.size.begin();
    std::swap(m.size[0], m.size[longest]);
    for (auto& s : m.stride) std::swap(s[0], s[longest]);
    if (m.count / m.size[0] > most_calls) return false;
    key.batch = m.size[0];
    key.in_distance = m.stride[0][0];
    key.out_distance = m.stride[1][0];
    return key.in_distance > 0 && key.out_distance > 0;
  }

  // A dense buffer of that shape with `axes` innermost, in their order.
  Data buffer(const Shape& shape, const Shape& axes, DType dtype) {
    Shape order, sizes;
    for (i64 i = 0; i < shape.size(); ++i)
      if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
    order.append(axes);
    for (i64 a : order) sizes.push_back(shape[a]);
    const Layout dense = Layout::contiguous(sizes);
    Data d;
    d.dtype = dtype;
    d.layout.shape = shape;
    d.layout.strides.resize(shape.size());
    for (i64 k = 0; k < order.size(); ++k) d.layout.strides[order[k]] = dense.strides[k];
    d.place = {Place::workspace, workspace_.take(dense.size() * size_of(dtype))};
    return d;
  }

  // Complex numbers as pairs of real ones: scaling touches each part alone.
  static Operand as_real(const Data& d) {
    Operand o{d.layout, real_of(d.dtype)};
    if (!is_complex(d.dtype)) return o;
    for (i64& s : o.layout.strides) s *= 2;
    o.layout.shape.push_back(2);
    o.layout.strides.push_back(1);
    return o;
  }

  void add_pass(Pass pass, const Data& from, const Data& to) {
    Step step;
    step.pass = std::move(pass);
    step.from = from.place;
    step.to = to.place;
    steps_.push_back(std::move(step));
  }

  void copy(const Data& from, const Data& to, bool conjugate = false, double scale = 1) {
    if (scale != 1)
      add_pass(scale_pass(as_real(from), as_real(to), Value(scale), device_), from, to);
    else
      add_pass(copy_pass({from.layout, from.dtype}, {to.layout, to.dtype}, device_,
                         conjugate ? ElementOp::conj : ElementOp::copy),
               from, to);
  }

  // Complex over groups of axes, ending in `out`; the scale goes into the last step.
  void complex_transform(Data in, const Data& out) {
    Shape axes;
    for (i64 a : spec_.axes)
      if (in.layout.shape[a] > 1) axes.push_back(a);
    if (axes.empty()) return copy(in, out, false, spec_.scale);
    double scale = spec_.scale;
    for (i64 first = 0; first < axes.size(); first += 3) {
      const Shape group(axes.begin() + first, axes.begin() + std::min(first + 3, axes.size()));
      const bool last = first + 3 >= axes.size();
      if (direct(FftKind::complex, in, out, group, spec_.sign, 16)) {
        in = out;
        continue;
      }
      const Data packed = buffer(in.layout.shape, group, out.dtype);
      copy(in, packed);
      packed_transform(FftKind::complex, packed, packed, group, spec_.sign);
      copy(packed, out, false, last ? scale : 1);
      if (last) scale = 1;
      in = out;
    }
    if (scale != 1) copy(out, out, false, scale);
  }

  // Axes of the real step (the half axis last, up to two more) and the others.
  void split_real_axes(Shape& real, Shape& others) const {
    const i64 half = spec_.axes.back();
    for (i64 k = 0; k + 1 < spec_.axes.size(); ++k) {
      const i64 a = spec_.axes[k];
      if (spec_.in.layout.shape[a] <= 1) continue;
      (real.size() < 2 ? real : others).push_back(a);
    }
    real.push_back(half);
  }

  void from_real(const Data& in, const Data& out) {
    Shape real, others;
    split_real_axes(real, others);
    if (!direct(FftKind::real_to_complex, in, out, real, -1, 16)) {
      const Data packed = buffer(in.layout.shape, real, in.dtype),
                 half = buffer(out.layout.shape, real, out.dtype);
      copy(in, packed);
      packed_transform(FftKind::real_to_complex, packed, half, real, -1);
      copy(half, out);
    }
    if (spec_.sign > 0) copy(out, out, true);  // a positive sign of real data is the conjugate
    FftSpec rest = spec_;
    rest.axes = others;
    finish_complex(rest, out);
  }

  void finish_complex(const FftSpec& rest, const Data& out) {
    if (rest.axes.empty()) {
      if (rest.scale != 1) copy(out, out, false, rest.scale);
      return;
    }
    const FftSpec whole = spec_;
    spec_ = rest;
    complex_transform(out, out);
    spec_ = whole;
  }

  // cuFFT writes over the input of a transform to real numbers, so it always gets a copy.
  void to_real(const Data& in, const Data& out) {
    Shape real, others;
    split_real_axes(real, others);
    Shape order = others;
    order.append(real);
    const Data packed = buffer(in.layout.shape, order, in.dtype);
    copy(in, packed, spec_.sign < 0);
    for (i64 first = 0; first < others.size(); first += 3)
      packed_transform(
          FftKind::complex, packed, packed,
          Shape(others.begin() + first, others.begin() + std::min(first + 3, others.size())), 1);
    if (direct(FftKind::complex_to_real, packed, out, real, 1, 16)) {
      if (spec_.scale != 1) copy(out, out, false, spec_.scale);
      return;
    }
    const Data dense = buffer(out.layout.shape, order, out.dtype);
    packed_transform(FftKind::complex_to_real, packed, dense, real, 1);
    copy(dense, out, false, spec_.scale);
  }

  FftSpec spec_;
  Device device_;
  bool wide_;
  bool pack_real_;
  WorkspacePlan workspace_;
  i64 work_bytes_ = 0;
  std::vector<Step> steps_;
};

}  // namespace
}  // namespace cuda

Prepared prepare_fft_cuda(const FftSpec& spec, Device device) {
  require<NotAvailable>(!spec.weight, "fft: filters in one step run in host memory only");
  if (spec.out.layout.size() == 0) return {{&cuda::run_nothing, nullptr}};
  cuda::Builder builder(spec, device, false);
  const std::shared_ptr<cuda::FftState> state = builder.build();
  Prepared p;
  p.workspace = builder.workspace();
  if (spec.kind != FftKind::complex) {
    cuda::Builder packing(spec, device, true);
    state->packed = packing.build();
    state->real_operand = spec.kind == FftKind::real_to_complex ? 0 : 1;
    state->alignment = static_cast<std::uintptr_t>(size_of(complex_of(spec.in.dtype)));
    p.workspace = std::max(p.workspace, packing.workspace());
  }
  p.task = {&cuda::Builder::run, state};
  double points = 1;
  for (i64 a : spec.axes)
    points *= static_cast<double>(std::max(spec.in.layout.shape[a], spec.out.layout.shape[a]));
  p.flops = 5 * static_cast<double>(std::max(spec.in.layout.size(), spec.out.layout.size())) *
            std::log2(std::max(points, 2.0));
  return p;
}

}  // namespace tessera
