// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a recorded copy crosses between devices: as plain blocks or rows with a pitch where the
// memory allows, packed first where it does not, and in pieces through pinned host memory between
// devices without peer access. record::copy() calls it; operators call record::copy().
//   std::optional<Rows> rows = common_rows(x, y);   record::cross(r, x, y);

#include <optional>

#include "tessera/plan/recorder.hpp"

namespace tessera {

// Two views as the same rows of bytes, each with its own pitch.
struct Rows {
  i64 rows = 1, row_bytes = 0;
  i64 from_pitch = 0, to_pitch = 0;
};

// Rows shorter than this are packed instead: links move them one by one.
inline constexpr i64 shortest_row = 64;

// nullopt unless both are of one dtype and shape, and lie in such rows.
TESSERA_API std::optional<Rows> common_rows(const View& from, const View& to);

namespace record {
// y = x on another device.
void cross(Recorder& r, const View& x, const View& y);
}  // namespace record

}  // namespace tessera
