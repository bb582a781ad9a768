// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/containers/add.hpp"

#include "tessera/base/config.hpp"
#include "tessera/linop/containers/common.hpp"

namespace tessera {

NamedLinop sum(std::vector<NamedLinop> operators) {
  require<DimError>(!operators.empty(), "Add: no operators given");
  if (operators.size() == 1) return operators.front();
  Add add;
  for (const NamedLinop& a : operators) {
    if (const Add* inner = a.as<Add>())
      add.operators.insert(add.operators.end(), inner->operators.begin(), inner->operators.end());
    else
      add.operators.push_back(a);
  }
  for (const NamedLinop& a : add.operators)
    require<DimError>(a.shape() == add.operators.front().shape(), "Add: ", a, " does not fit ",
                      add.operators.front(),
                      "; parts of a sum need the same names (rename() gives others, Identity() and "
                      "Scalar(c) without names fit any)");
  const NamedShape s = add.shape();
  if (config().shape_inference)
    for (NamedLinop& a : add.operators) a = settled(a, s);
  for (NamedDimension d : dims_of(s)) (void)common_size("Add", add.operators, d);
  return add;
}

NamedShape Add::shape() const {
  NamedShape s = operators.front().shape();
  for (const NamedLinop& a : operators)
    s = NamedShape(resolve_wildcards(s.ishape, a.ishape()),
                   resolve_wildcards(s.oshape, a.oshape()));
  return s;
}

std::optional<i64> Add::size(NamedDimension d) const {
  if (!contains(dims_of(shape()), d)) return std::nullopt;
  if (const auto n = common_size("Add", operators, d)) return n;
  const auto other = same_size(d);
  return other ? common_size("Add", operators, *other) : std::nullopt;
}
std::optional<NamedDimension> Add::same_size(NamedDimension d) const {
  return common_same_size(operators, d);
}
std::optional<Device> Add::device() const { return common_device_of(operators); }
DType Add::output_dtype(DType t) const { return common_dtype(operators, t); }
bool Add::is_real_linear() const { return any_real_linear(operators); }

Shape Add::output_shape(const Shape& input) const {
  const Shape s = operators.front().output_shape(input);
  for (const NamedLinop& a : operators)
    require<ShapeError>(a.output_shape(input) == s, "Add: ", operators.front(), " gives shape ", s,
                        ", ", a, " gives ", a.output_shape(input));
  return s;
}

void Add::apply(Recorder& r, const View& x, const View& y) const {
  record_placed(r, placed(x, y), r.device(y));
}

std::vector<PlacedPart> Add::placed(const View& x, const View& y) const {
  std::vector<PlacedPart> all;
  all.reserve(operators.size());
  for (const NamedLinop& a : operators) all.push_back({a, x, y});
  return all;
}

bool Add::apply_add(Recorder& r, const View& x, const View& y) const {
  record_placed(r, placed(x, y), r.device(y), true);
  return true;
}

NamedLinop Add::adjoint() const { return Add{adjoints(operators)}; }
Add Add::renamed(const Renames& r) const { return Add{renamed_all(operators, r)}; }

NamedLinop Add::split(const Tile& tile) const {
  Add part;
  const NamedShape names = shape();
  for (const NamedLinop& a : operators) part.operators.push_back(part_within(a, names, tile));
  return part;
}

}  // namespace tessera
