// SPDX-License-Identifier: Apache-2.0
#pragma once
// How an operator is cut and where its tiles go. A value that is never changed: resolve() gives
// another one with everything filled in.
//   BatchSpec spec{.batch_sizes = {{"C", 4}}, .device_matrix = {"sim:0", "sim:1"}};

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"
#include "tessera/split/rank_device.hpp"

namespace tessera {

// An n-d array of places; empty: nobody chose.
struct TESSERA_API DeviceMatrix {
  Shape shape;
  std::vector<RankDevice> places;  // row-major

  DeviceMatrix() = default;
  DeviceMatrix(std::initializer_list<RankDevice> row)
      : DeviceMatrix(std::vector<RankDevice>(row)) {}
  DeviceMatrix(std::vector<RankDevice> row)
      : shape{static_cast<i64>(row.size())}, places(std::move(row)) {}
  // ArgumentError when the number of places is not that of the shape.
  DeviceMatrix(Shape shape, std::vector<RankDevice> places);
  bool empty() const { return places.empty(); }
  auto state() const { return std::tuple(shape, places); }
  static DeviceMatrix from_state(Shape shape, std::vector<RankDevice> places) {
    return places.empty() ? DeviceMatrix() : DeviceMatrix(std::move(shape), std::move(places));
  }
  // Exactly the shape of the grid, whatever this one's: axis by axis from the right, what is too
  // short is repeated and what is too long is cut off. A list runs along the last axis of the grid
  // that has more than one tile.
  DeviceMatrix broadcast_to(const Shape& grid) const;
  std::string str() const;  // "[sim:0, sim:1]", "[[cpu, sim:0], [cpu, sim:0]]"
  friend bool operator==(const DeviceMatrix&, const DeviceMatrix&) = default;
};

struct TESSERA_API BatchSpec {
  DimSizes batch_sizes;          // the largest tile along each dim
  DeviceMatrix device_matrix{};  // where tiles compute; empty: on the base device
  std::optional<RankDevice>
      base_device{};  // where input and output live; nullopt: where the operator is
  // Tiles keep their arrays on their devices. Without: they stay where the operator has them, and
  // every run sends them, tile by tile; for operators larger than their devices.
  bool resident = true;
  // Streams of the caller's. What is computed on the base device (the sums of tiles, tiles that are
  // there) goes on base_stream, which is one of it. Transfers between the base device and tiles go
  // on transfer_stream: all of them where it is a stream of the base device, else those of the
  // device whose stream it is. Without: the run chooses.
  std::optional<Stream> base_stream{}, transfer_stream{};

  // One place for each tile of the grid that these sizes make of the operator.
  DeviceMatrix broadcast_device_matrix(const NamedLinop& a,
                                       const std::optional<Shape>& input = {}) const;
  // The same with a base device and one place per tile.
  BatchSpec resolve(const NamedLinop& a, const RankDevice& default_device,
                    const std::optional<Shape>& input = {}) const;
  std::string str() const;
  // Without the streams, which are of this process.
  auto state() const { return std::tuple(batch_sizes, device_matrix, base_device, resident); }
  static BatchSpec from_state(DimSizes sizes, DeviceMatrix places, std::optional<RankDevice> base,
                              bool stays) {
    return {std::move(sizes), std::move(places), base, stays, {}, {}};
  }
  friend bool operator==(const BatchSpec&, const BatchSpec&) = default;
};

}  // namespace tessera
