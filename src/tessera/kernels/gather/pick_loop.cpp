// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/gather/pick_loop.hpp"

namespace tessera {

void JointLoop::simplify() {
  count = 1;
  for (i64 a = 0; a < shape.size(); ++a) count *= shape[a];
  for (i64 a = shape.size() - 1; a >= 0; --a) {
    if (shape[a] != 1) continue;
    shape.erase(a);
    for (Strides& s : strides) s.erase(a);
  }
  for (i64 a = shape.size() - 2; a >= 0; --a) {
    bool even = true;
    for (const Strides& s : strides) even = even && s[a] == s[a + 1] * shape[a + 1];
    if (!even) continue;
    shape[a] *= shape[a + 1];
    shape.erase(a + 1);
    for (Strides& s : strides) s.erase(a);
  }
}

PickLoop make_pick_loop(const Operand& picked, const std::vector<Operand>& indices,
                        const Operand& other) {
  const i64 k = static_cast<i64>(indices.size());
  const Shape& lead = indices.front().layout.shape;
  PickLoop loop;
  loop.lead.shape = lead;
  for (const Operand& i : indices) {
    require<DTypeError>(i.dtype == DType::i64, "gather: positions must be int64, got ",
                        name(i.dtype));
    require<ShapeError>(i.layout.shape == lead, "gather: positions of shapes ", lead, " and ",
                        i.layout.shape);
    loop.lead.strides.push_back(i.layout.strides);
  }
  const Layout &p = picked.layout, &o = other.layout;
  require<ShapeError>(p.ndim() >= k && o.ndim() == lead.size() + p.ndim() - k, "gather: ", k,
                      " index arrays of shape ", lead, " do not fit shapes ", p.shape, " and ",
                      o.shape);
  loop.lead.strides.emplace_back(o.strides.begin(), o.strides.begin() + lead.size());
  loop.rest.shape = Shape(p.shape.begin() + k, p.shape.end());
  loop.rest.strides.emplace_back(p.strides.begin() + k, p.strides.end());
  loop.rest.strides.emplace_back(o.strides.begin() + lead.size(), o.strides.end());
  loop.sizes = Shape(p.shape.begin(), p.shape.begin() + k);
  loop.steps = Strides(p.strides.begin(), p.strides.begin() + k);
  loop.lead.simplify();
  loop.rest.simplify();
  const i64 along_lead = std::abs(inner_stride(loop.lead, k)),
            along_rest = std::abs(inner_stride(loop.rest, 1));
  loop.lead_inner = loop.lead.count > 1 && along_lead < along_rest;
  return loop;
}

void pick_offsets(const PickLoop& loop, const i64* const* indices, i64 first, i64 n, i64* picked,
                  i64* other) {
  const i64 k = loop.sizes.size();
  i64 done = 0;
  joint_runs(loop.lead, first, n, [&](const i64* at, i64 length) {
    i64 *p = picked + done, *o = other + done;
    for (i64 a = 0; a < k; ++a) {
      const i64 *from = indices[a] + at[a], stride = inner_stride(loop.lead, a);
      const i64 size = loop.sizes[a], step = loop.steps[a];
      const auto offset = [&](i64 v) { return (v < 0 ? v + size : v) * step; };
      if (a == 0 && stride == 1)
        for (i64 i = 0; i < length; ++i) p[i] = offset(from[i]);
      else if (a == 0)
        for (i64 i = 0; i < length; ++i) p[i] = offset(from[i * stride]);
      else
        for (i64 i = 0; i < length; ++i) p[i] += offset(from[i * stride]);
    }
    const i64 start = at[k], stride = inner_stride(loop.lead, k);
    for (i64 i = 0; i < length; ++i) o[i] = start + i * stride;
    done += length;
  });
}

}  // namespace tessera
