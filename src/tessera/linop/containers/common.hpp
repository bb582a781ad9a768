// SPDX-License-Identifier: Apache-2.0
#pragma once
// What containers ask of all their parts at once. Not installed knowledge of any one container.
//   std::optional<i64> n = common_size("Add", operators, d);

#include <unordered_map>
#include <vector>

#include "tessera/linop/core/linop.hpp"

namespace tessera {

// The size that some part knows; DimError when two parts differ.
std::optional<i64> common_size(std::string_view who, const std::vector<NamedLinop>& operators,
                               NamedDimension d);
// The dim as long as d that some part knows.
std::optional<NamedDimension> common_same_size(const std::vector<NamedLinop>& operators,
                                               NamedDimension d);
// The same for all dims, found in one walk over the parts.
class CommonSizes {
 public:
  CommonSizes(std::string_view who, const std::vector<NamedLinop>& operators);
  std::optional<i64> operator()(NamedDimension d) const;

 private:
  std::unordered_map<std::uint32_t, i64> sizes_;  // by id
};
std::optional<Device> common_device_of(const std::vector<NamedLinop>& operators);
std::vector<NamedLinop> adjoints(const std::vector<NamedLinop>& operators);
std::vector<NamedLinop> renamed_all(const std::vector<NamedLinop>& operators, const Renames& r);
// The normals of operators side by side, under one list of names: where some act point by point
// along a dim and others mix, all are named as those that mix. None where outputs differ otherwise.
std::vector<NamedLinop> normals_alike(const std::vector<NamedLinop>& operators);
bool any_real_linear(const std::vector<NamedLinop>& operators);
// Of real numbers only: its adjoint gives nothing else.
bool takes_real(const NamedLinop& a);
// The operator with its wildcards settled as they stand in `names`: for config().shape_inference.
NamedLinop settled(const NamedLinop& a, const NamedShape& names);
// The part of one operator of a container whose names are `names`: what it calls by a wildcard is
// named first, so that a dim which it does not act on point by point is not cut unseen.
NamedLinop part_within(const NamedLinop& a, const NamedShape& names, const Tile& tile);
// Zeros in the place of a tile that no block of a container reaches. `like`, the container with a
// block of the shape outside, tells the sizes; those that it knows only with the input are asked
// of it then.
NamedLinop zero_part(const NamedLinop& like);
DType common_dtype(const std::vector<NamedLinop>& operators, DType input);

}  // namespace tessera
