// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/rewrite/lower.hpp"

#include <algorithm>
#include <unordered_set>

#include "tessera/base/config.hpp"
#include "tessera/linop/containers/fetched.hpp"
#include "tessera/linop/rewrite/rewrite.hpp"

namespace tessera {
namespace {

using Operators = std::vector<NamedLinop>;

// The first pair of neighbours from `i` on that merges or changes places: where it stood, or the
// end.
std::size_t merge_step(Operators& ops, std::size_t i) {
  for (; i + 1 < ops.size(); ++i) {
    const Offers a = ops[i].offers(), b = ops[i + 1].offers();
    const bool weight_first = a.weight_shape().has_value(),
               weight_last = b.weight_shape().has_value();
    if (weight_first && weight_last) {
      const auto both = config().rewrite_diagonals ? a.merged_with(ops[i + 1]) : std::nullopt;
      if (!both) continue;
      ops[i] = *both;
      ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return i;
    }
    const auto moved = weight_last    ? a.weight_before(ops[i + 1])
                       : weight_first ? b.weight_after(ops[i])
                                      : std::nullopt;
    if (!moved) continue;
    std::swap(ops[i], ops[i + 1]);
    ops[weight_last ? i : i + 1] = *moved;
    return i;
  }
  return ops.size();
}

// What starts at `i` and is recorded in one pass: the second operator may know of it as well.
std::optional<Fused> fused_at(const Operators& ops, std::size_t i, Device device) {
  if (!config().rewrite) return std::nullopt;
  const OperatorWindow window = OperatorWindow(ops).subspan(i);
  for (std::size_t own = 0; own < std::min<std::size_t>(2, window.size()); ++own)
    if (auto fused = window[own].offers().fused(window, own, device)) return fused;
  return std::nullopt;
}

// The operators again, with what the sizes of an input of this shape allow to simplify.
Operators sized(Recorder& r, const Operators& operators, const Shape& input) {
  Operators ops = operators;
  DimSizes sizes;
  std::unordered_set<std::uint32_t> known;
  Shape s = input;
  auto learn = [&](const Dims& names) {
    const Binding b = bind_dims("Chain", names, s);
    for (i64 i = 0; i < b.dims.size(); ++i)
      if (!b.dims[i].is_wildcard() && known.insert(b.dims[i].id()).second)
        sizes.emplace_back(b.dims[i], b.sizes[i]);
  };
  for (const NamedLinop& a : operators) {
    learn(a.ishape());
    s = a.output_shape(s);
    learn(a.oshape());
  }
  std::vector<std::string> notes;
  simplify_sized(ops, sizes, notes);
  for (std::string& n : notes) r.note(std::move(n));
  return ops;
}

// Where weights are merged: beside those of the operators, which may be fetched from elsewhere.
Device beside_weights(const Operators& operators, Device device) {
  for (const NamedLinop& a : operators)
    if (a.output_device(device) != device) return device;
  for (const NamedLinop& a : operators)
    if (const std::optional<Device> d = a.device()) return *d;
  return device;
}

}  // namespace

Operators lowered(const Operators& operators, const Shape& input, DType dtype, Device device) {
  if (!config().rewrite || !config().rewrite_phases) return operators;
  DType widest = dtype;
  for (const NamedLinop& a : operators) widest = promote(widest, a.output_dtype(widest));
  SharedTables tables(complex_of(widest));
  Operators ops;
  Shape s = input;
  device = beside_weights(operators, device);
  for (const NamedLinop& a : operators) {
    const Operators parts = a.offers().expanded(s, device, tables);
    parts.empty() ? ops.push_back(a) : void(ops.insert(ops.end(), parts.begin(), parts.end()));
    s = a.output_shape(s);
    device = a.output_device(device);
  }
  // Pairs before the last change are as they were.
  for (std::size_t i = 0; (i = merge_step(ops, i)) < ops.size();) i -= i > 0 ? 1 : 0;
  return ops;
}

bool waits_inside(const Recorder& r, const NamedLinop& a) {
  if (!a.listens()) return false;
  if (a.waits_apart(r)) return true;
  const Operators parts = a.parts();
  return std::any_of(parts.begin(), parts.end(),
                     [&](const NamedLinop& part) { return waits_inside(r, part); });
}

View resident_for(Recorder& r, const NamedLinop& next, const View& v, Device device) {
  std::optional<Recorder::Residence> streams;
  if (next.as<Fetched>()) streams.emplace(r, device, Recorder::Constants::fetched);
  return r.resident(v, device);
}

void record_parts(Recorder& r, const Operators& operators, const View& x, const View& y,
                  bool adds) {
  Operators ops = sized(r, operators, x.shape());
  const bool alone =
      std::any_of(ops.begin(), ops.end(), [&](const NamedLinop& a) { return waits_inside(r, a); });
  if (!alone) ops = lowered(ops, x.shape(), x.dtype, r.device(x));
  View from = x;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    // A transfer with a listener is one of its own: others were sent at other times.
    if (const std::optional<Transfer> move = ops[i].offers().transfer();
        move && i + 1 < ops.size() && !ops[i].waits_apart(r)) {
      const Recorder::Scope scope(r, ops[i].str(), from, from);
      require<DeviceError>(r.device(from) == move->from.device, ops[i], " takes arrays on ",
                           move->from.device, ", the input is on ", r.device(from));
      const Recorder::Route route = move->route(r);
      from = resident_for(r, ops[i + 1], from, move->to.device);
      continue;
    }
    const std::optional<Fused> fused = alone ? std::nullopt : fused_at(ops, i, r.device(from));
    const std::size_t last = fused ? i + fused->count - 1 : i;
    const bool ends = last + 1 == ops.size();
    if (ends && adds && !fused) return ops[i].record_add(r, from, y);
    View to = y;
    if (!ends || adds) {
      Shape shape = from.shape();
      DType dtype = from.dtype;
      Device device = r.device(from);
      for (std::size_t k = i; k <= last; ++k) {
        shape = ops[k].output_shape(shape);
        dtype = ops[k].output_dtype(dtype);
        device = ops[k].output_device(device);
      }
      to = r.temporary(shape, dtype, device);
    }
    fused ? fused->record(r, from, to) : ops[i].record(r, from, to);
    if (ends && adds) record::add(r, y, to, y);
    from = to;
    i = last;
  }
}

}  // namespace tessera
