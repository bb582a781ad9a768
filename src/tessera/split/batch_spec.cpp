// SPDX-License-Identifier: Apache-2.0
#include "tessera/split/batch_spec.hpp"

#include "tessera/split/split_linop.hpp"

namespace tessera {
namespace {

std::string text_of(const DeviceMatrix& m, i64 axis, i64& next) {
  if (axis == m.shape.size()) return m.places[static_cast<std::size_t>(next++)].str();
  std::string text = "[";
  for (i64 i = 0; i < m.shape[axis]; ++i) text += cat(i ? ", " : "", text_of(m, axis + 1, next));
  return text + "]";
}

// Both with as many axes, ones in front.
Shape with_rank(const Shape& s, i64 rank) {
  Shape r(rank - s.size(), 1);
  r.append(s);
  return r;
}

// A list beside a grid whose last axes are single tiles belongs to the last axis that is not.
Shape aligned_list(const Shape& list, const Shape& grid) {
  Shape s = list;
  for (i64 k = grid.size(); list.size() == 1 && k-- > 0 && grid[k] == 1;)
    if (k > 0) s.push_back(1);
  return s;
}

}  // namespace

DeviceMatrix::DeviceMatrix(Shape s, std::vector<RankDevice> p)
    : shape(std::move(s)), places(std::move(p)) {
  require<ArgumentError>(count_of(shape) == static_cast<i64>(places.size()),
                         "device_matrix: ", places.size(), " places do not fill the shape ", shape);
}

DeviceMatrix DeviceMatrix::broadcast_to(const Shape& grid) const {
  require<ArgumentError>(!empty(), "device_matrix: no devices given");
  const Shape own = aligned_list(shape, grid);
  const i64 rank = std::max(own.size(), grid.size());
  const Shape from = with_rank(own, rank), to = with_rank(grid, rank);
  const i64 count = count_of(grid);
  DeviceMatrix m;
  m.shape = grid;
  for (i64 i = 0; i < count; ++i) {
    i64 rest = i, at = 0, step = 1;
    for (i64 k = rank; k-- > 0;) {
      at += rest % to[k] % from[k] * step;
      rest /= to[k];
      step *= from[k];
    }
    m.places.push_back(places[static_cast<std::size_t>(at)]);
  }
  return m;
}

std::string DeviceMatrix::str() const {
  i64 next = 0;
  return empty() ? "[]" : text_of(*this, 0, next);
}

DeviceMatrix BatchSpec::broadcast_device_matrix(const NamedLinop& a,
                                                const std::optional<Shape>& input) const {
  Shape grid;
  for (const auto& [d, chunk] : batch_sizes) grid.push_back(tiles_along(a, d, chunk, input));
  const DeviceMatrix given = device_matrix.empty()
                                 ? DeviceMatrix{base_device.value_or(a.device().value_or(cpu))}
                                 : device_matrix;
  return given.broadcast_to(grid);
}

BatchSpec BatchSpec::resolve(const NamedLinop& a, const RankDevice& default_device,
                             const std::optional<Shape>& input) const {
  BatchSpec r = *this;
  r.base_device = base_device.value_or(default_device);
  r.device_matrix = r.broadcast_device_matrix(a, input);
  return r;
}

std::string BatchSpec::str() const {
  return cat("BatchSpec(", to_text(batch_sizes),
             device_matrix.empty() ? "" : cat(", device_matrix=", device_matrix.str()),
             base_device ? cat(", base_device=", base_device->str()) : "",
             resident ? "" : ", resident=False",
             base_stream ? cat(", base_stream=", base_stream->id()) : "",
             transfer_stream ? cat(", transfer_stream=", transfer_stream->id()) : "", ")");
}

}  // namespace tessera
