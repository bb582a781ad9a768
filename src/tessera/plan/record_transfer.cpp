// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/record_transfer.hpp"

#include <algorithm>

#include "tessera/base/config.hpp"
#include "tessera/device/registry.hpp"
#include "tessera/device/streamer.hpp"
#include "tessera/device/transfer_streams.hpp"

namespace tessera {
namespace {

constexpr i64 largest_pitch = (i64{1} << 31) - 1;  // of CUDA's copies of rows

struct Axis {
  i64 n, from, to;
};

// The axes of both, innermost first, without those of size one; neighbours that run on in both are
// one.
std::vector<Axis> merged_axes(const Layout& from, const Layout& to) {
  std::vector<Axis> axes;
  for (i64 a = from.ndim(); a-- > 0;) {
    const Axis axis{from.shape[a], from.strides[a], to.strides[a]};
    if (axis.n == 1) continue;
    if (!axes.empty() && axes.back().n * axes.back().from == axis.from &&
        axes.back().n * axes.back().to == axis.to)
      axes.back().n *= axis.n;
    else
      axes.push_back(axis);
  }
  return axes;
}

// Bytes [first, first + bytes) of `rows` rows.
View piece(const View& v, i64 pitch, i64 row, i64 rows, i64 first, i64 bytes) {
  return {v.slot,
          Layout{{rows, bytes},
                 {rows > 1 ? pitch : bytes, 1},
                 v.layout.offset * size_of(v.dtype) + row * pitch + first},
          DType::u8};
}

bool connected(Device a, Device b) {
  if (a.kind == Kind::cpu || b.kind == Kind::cpu) return true;
  return a.kind == b.kind && compute_device(a.kind).peer_access(a.index, b.index);
}

// Note [staging]: two buffers in pinned host memory. A piece arrives in one while the piece before
// leaves the other: the hops are on different lanes, and the schedule lets a piece arrive as soon
// as the one before the last has left.
void stage(Recorder& r, const View& from, const View& to, const Rows& w) {
  if (w.rows * w.row_bytes == 0) return;
  const RowParts parts(w.rows, w.row_bytes, std::max<i64>(config().staging_bytes, 1));
  const i64 pieces = parts.count();
  const bool cuda = r.device(from).kind == Kind::cuda || r.device(to).kind == Kind::cuda;
  const Kind kind = cuda ? Kind::cuda : r.device(from).kind;
  std::vector<View> buffers;
  for (i64 i = 0; i < std::min<i64>(pieces, 2); ++i)
    buffers.push_back(r.pinned(parts.width * parts.height, kind));
  for (i64 k = 0; k < pieces; ++k) {
    const auto [row, rows, first, bytes] = parts[k];
    const View between =
        piece(buffers[static_cast<std::size_t>(k) % buffers.size()], bytes, 0, rows, 0, bytes);
    const std::string part = pieces > 1 ? cat(", part ", k + 1, " of ", pieces) : std::string();
    r.transfer(piece(from, w.from_pitch, row, rows, first, bytes), between, part);
    r.transfer(between, piece(to, w.to_pitch, row, rows, first, bytes), part);
  }
}

void send(Recorder& r, const View& from, const View& to, const Rows& rows) {
  if (connected(r.device(from), r.device(to))) return r.transfer(from, to);
  stage(r, from, to, rows);
}

}  // namespace

std::optional<Rows> common_rows(const View& from, const View& to) {
  if (from.dtype != to.dtype || from.shape() != to.shape()) return std::nullopt;
  const i64 item = size_of(from.dtype);
  if (from.layout.size() == 0) return Rows{};
  const std::vector<Axis> axes = merged_axes(from.layout, to.layout);
  if (axes.empty()) return Rows{.row_bytes = item};
  const Axis& line = axes.front();
  if (axes.size() > 2 || line.from != 1 || line.to != 1) return std::nullopt;
  Rows rows{.row_bytes = line.n * item};
  if (axes.size() == 1) return rows;
  const Axis& step = axes.back();
  rows.rows = step.n;
  rows.from_pitch = step.from * item;
  rows.to_pitch = step.to * item;
  const bool apart = step.from >= line.n && step.to >= line.n &&
                     std::max(rows.from_pitch, rows.to_pitch) <= largest_pitch;
  return apart && rows.row_bytes >= shortest_row ? std::optional(rows) : std::nullopt;
}

void Recorder::transfer(const View& from, const View& to, std::string_view part) {
  const std::optional<Rows> rows = common_rows(from, to);
  require<PlanError>(rows.has_value(), scope_text(),
                     "a transfer needs memory in rows, of one shape and dtype on both sides; got ",
                     from.layout, " and ", to.layout);
  const auto place = [this](const View& v) {
    const Slot& s = slots_[static_cast<std::size_t>(v.slot)];
    return s.pinned ? std::string("pinned host") : s.device.str();
  };
  Step step;
  step.kind = Step::Kind::transfer;
  const Device a = device(from), b = device(to);
  step.label = cat(scope_text(), "transfer ", place(from), " -> ", place(to), part);
  step.device = transfer_owner(a, b);
  if (stream_ && (stream_->device() == a || stream_->device() == b)) {
    step.stream = stream_;
    step.device = stream_->device();
  }
  step.listeners = listeners_;
  step.operands = {access(from), access(to)};
  step.rows = rows->rows;
  step.from_pitch = rows->from_pitch;
  step.to_pitch = rows->to_pitch;
  step.bytes = rows->rows * rows->row_bytes;
  push(std::move(step));
}

namespace record {

void cross(Recorder& r, const View& x, const View& y) {
  if (const auto rows = common_rows(x, y)) return send(r, x, y, *rows);
  const View dense{-1, Layout::contiguous(y.shape()), y.dtype};
  const std::optional<Rows> out = common_rows(x, dense), in = common_rows(dense, y);
  View from = x, to = y;
  // One side is packed: rather that of an accelerator than that of the host.
  if (!out || (in && r.device(y).kind == Kind::cpu)) {
    from = r.temporary(y.shape(), y.dtype, r.device(x));
    copy(r, x, from);
  }
  if (from.slot == x.slot || !in) to = r.temporary(y.shape(), y.dtype, r.device(y));
  send(r, from, to, *common_rows(from, to));
  if (to.slot != y.slot) copy(r, to, y);
}

}  // namespace record
}  // namespace tessera
