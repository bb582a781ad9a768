// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/strip_cut.hpp"

#include <algorithm>

namespace tessera::streaming {

std::vector<Range> cut_at_multiples(i64 begin, i64 end, i64 by) {
  std::vector<Range> out;
  for (i64 at = begin; at < end;) {
    const i64 next = std::min(end, (at / by + 1) * by);
    out.push_back({at, next});
    at = next;
  }
  return out;
}

i64 equal_parts(i64 n, i64 most) {
  if (n <= 0) return 1;
  most = std::clamp<i64>(most, 1, n);
  const i64 parts = (n + most - 1) / most;
  return (n + parts - 1) / parts;
}

std::vector<i64> strip_widths(i64 n, i64 tile, i64 enough) {
  n = std::max<i64>(n, 1);
  tile = std::clamp<i64>(tile, 1, n);
  std::vector<i64> out;
  for (i64 w = tile; w <= std::max(tile, std::min(n, enough)); w *= 2) out.push_back(w);
  for (i64 w = tile; w > 1;) out.push_back(w = (w + 1) / 2);
  if (tile < n && n <= enough) out.push_back(n);
  return out;
}

double strip_cost(i64 width, i64 tile, i64 element) {
  constexpr i64 gap_bytes = i64{32} << 10;  // read along rather than asked for once more
  const i64 along =
      width % tile == 0 ? width : std::max(width, std::min(tile, width + gap_bytes / element));
  const double w = static_cast<double>(width);
  return static_cast<double>(along) / w * (1 + 24 / w);
}

}  // namespace tessera::streaming
