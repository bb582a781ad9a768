// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/forms/form_pass.hpp"

#include <algorithm>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/matrix/forms/checked.hpp"
#include "tessera/matrix/functions/reductions.hpp"

namespace tessera::streaming {
namespace {

using Kind = BlockPlace::Kind;
constexpr i64 slots = 2;

i64 block_bytes(const FormSource& m, i64 rows, i64 cols) {
  if (!m.store) return 0;
  return m.has_words() ? std::max(word_bytes(rows, cols), word_bytes(cols, rows))
                       : number_bytes(m.dtype, rows, cols);
}

// The largest side of blocks for which `held` fits: tiles of a file or parts of them first.
template <class Held>
i64 side_of_pass(std::string_view who, const std::vector<FormSource>& inputs, bool words,
                 const Options& options, Held&& held) {
  i64 unit = words ? 512 : 1, longest = 1, tile = 0;
  for (const FormSource& m : inputs) {
    longest = std::max({longest, m.rows(), m.cols()});
    if (m.has_words()) unit = 512;
    if (m.on_disk())
      tile = std::max(tile, m.store->grid().tile_shape()[1] * (m.has_words() ? 64 : 1));
  }
  const auto whole = [&](i64 side) { return (side + unit - 1) / unit * unit; };
  const i64 least = whole(std::min<i64>(32, longest)), budget = budget_of(options);
  if (held(least) > budget) require_budget(who, options, held(least));
  i64 side = tile > 0 ? whole(std::min(tile, longest)) : least;
  while (side > least && held(side) > budget) side = std::max(least, whole((side + 1) / 2));
  while (side < longest && tile > 0 && 2 * side * side * 8 <= store::TileGrid::default_tile_bytes &&
         held(whole(2 * side)) <= budget)
    side = whole(2 * side);
  return side;
}

// Views of one store that are parts of one matrix are parts of one small matrix as well: a
// triangle and its own transpose.
std::vector<AnyMatrix> small_inputs(const std::vector<FormSource>& inputs) {
  const FormSource& first = inputs.front();
  const i64 rows = 2, cols = first.rows() == first.cols() ? 2 : 3;
  const AnyMatrix stored = first.unscaled().small(rows, cols);
  std::vector<AnyMatrix> out;
  for (const FormSource& m : inputs) {
    const bool same = m.store && m.store == first.store && m.form == first.form;
    AnyMatrix x = same ? stored : m.unscaled().small(rows, cols);
    if (same && m.transposed != first.transposed) x = x.transpose();
    if (same && m.conjugated != first.conjugated) x = x.conj();
    out.push_back(m.is_scaled() ? x.scaled(m.scale) : x);
  }
  return out;
}

// A block of which nothing is stored.
AnyMatrix zero_block(const FormSource& m, i64 rows, i64 cols) {
  return AnyMatrix::zeros(m.has_words() ? Form::bit : Form::dense, rows, cols, m.dtype);
}

struct BlockInput {
  BlockPlace place;
  BufferView view;
};

// A block on its way into a buffer; nothing moves where nothing is stored of it.
BlockInput read_input(const FormSource& m, i64 store, i64 buffer, const Range& rows,
                      const Range& cols, Step& step) {
  BlockInput in{place_of(m, rows, cols), {}};
  if (in.place.kind == Kind::zero || !m.store) return in;
  const Box box = box_of(m, in.place);
  in.view = dense_view(buffer, box.shape, m.store->grid().dtype());
  step.reads.push_back({store, box, in.view});
  return in;
}

AnyMatrix block_matrix(const Buffers& buffers, const FormSource& m, const BlockInput& in, i64 rows,
                       i64 cols) {
  const AnyMatrix x = in.place.kind == Kind::zero
                          ? zero_block(m, rows, cols)
                          : piece_of(m, in.place, m.store ? buffers(in.view) : Array{}).matrix();
  return m.is_scaled() ? x.scaled(m.scale) : x;
}

i64 bytes_at(const FormSource& m, i64 side) {
  return block_bytes(m, std::min(side, m.rows()), std::min(side, m.cols()));
}
i64 bytes_at(const FormResult& r, i64 side) {
  const i64 rows = std::min(side, r.rows), cols = std::min(side, r.cols);
  return r.has_words() ? word_bytes(rows, cols) : number_bytes(r.dtype, rows, cols);
}

i64 map_temporary(const std::vector<FormSource>& in, const FormResult& r, i64 side) {
  i64 bytes = 3 * bytes_at(r, side);
  for (const FormSource& m : in) bytes += 2 * std::max(bytes_at(m, side), bytes_at(r, side));
  return bytes;
}
i64 map_held(const std::vector<FormSource>& in, const FormResult& r, i64 side) {
  i64 bytes = slots * StreamPlan::rounded(bytes_at(r, side)) + map_temporary(in, r, side);
  for (const FormSource& m : in) bytes += slots * StreamPlan::rounded(bytes_at(m, side));
  return bytes;
}

// What a function makes of one block of each input.
struct MapBlock {
  std::shared_ptr<const std::vector<FormSource>> in;
  std::vector<BlockInput> blocks;
  MatrixFunction function;
  i64 rows = 0, cols = 0;
  bool words = false, upper = false, strict = false;  // upper: a square on the diagonal of a half
  DType dtype = DType::f64;

  void write(const Buffers& buffers, const Array& result) const {
    std::vector<AnyMatrix> matrices;
    matrices.reserve(blocks.size());
    for (std::size_t k = 0; k < blocks.size(); ++k)
      matrices.push_back(block_matrix(buffers, (*in)[k], blocks[k], rows, cols));
    AnyMatrix m = function(matrices);
    if (words && upper) m = AnyMatrix::triangular_bits(m.words(cpu), /*check=*/false);
    if (!words && upper) m = AnyMatrix::triangular(m.array(dtype), false, strict, false);
    result.copy_from(words ? m.words(cpu).words : m.array(dtype));
    result.host_data();
  }
};

}  // namespace

FormResult mapped_form(const std::vector<FormSource>& inputs, const FormMap& map) {
  const FormSource& first = inputs.front();
  for (const FormSource& m : inputs)
    require<ShapeError>(m.rows() == first.rows() && m.cols() == first.cols(), map.name, ": ",
                        first.describe(), " and ", m.describe(), "; on disk shapes are equal");
  return result_of(map.function(small_inputs(inputs)), first.rows(), first.cols());
}

StreamPlan plan_form_map(const std::vector<FormSource>& inputs, const FormMap& map,
                         const StorePtr& out, const Options& options) {
  FormResult r = mapped_form(inputs, map);
  std::vector<FormSource> in = inputs;
  if (r.lower)
    for (FormSource& m : in) m = m.transpose();
  require<IoError>(out->writable(), map.name, ": the output is read-only: ", out->describe());
  StreamPlan plan(
      cat(map.name, ": ", r.rows, " x ", r.cols, " ", name(r.form), " of ", name(r.dtype)),
      options);
  if (r.rows == 0 || r.cols == 0) return plan;
  const auto held = [&](i64 side) { return map_held(in, r, side); };
  const i64 side = side_of_pass(map.name, in, r.has_words(), options, held);
  std::vector<i64> stores;
  std::vector<std::vector<i64>> buffers;
  for (const FormSource& m : in) {
    stores.push_back(m.store ? plan.add_store(cat("input ", stores.size()), m.store) : 0);
    buffers.emplace_back();
    for (i64 s = 0; s < slots && m.store; ++s)
      buffers.back().push_back(plan.add_buffer(bytes_at(m, side)));
  }
  const i64 out_store = plan.add_store("output", out);
  const i64 out_buffers[] = {plan.add_buffer(bytes_at(r, side)),
                             plan.add_buffer(bytes_at(r, side))};
  plan.add_held(map_temporary(in, r, side));
  const auto shared = std::make_shared<const std::vector<FormSource>>(in);
  const auto rows = cut_at_multiples(0, r.rows, side), cols = cut_at_multiples(0, r.cols, side);
  i64 number = 0;
  for (const Range& i : rows)
    for (const Range& j : cols) {
      if (r.is_half() && i.begin > j.begin) continue;
      Step step;
      MapBlock block{shared,
                     {},
                     map.function,
                     i.size(),
                     j.size(),
                     r.has_words(),
                     r.is_half() && i.begin == j.begin,
                     r.strict,
                     r.dtype};
      for (std::size_t k = 0; k < in.size(); ++k) {
        const i64 buffer = in[k].store ? buffers[k][static_cast<std::size_t>(number % slots)] : 0;
        block.blocks.push_back(read_input(in[k], stores[k], buffer, i, j, step));
      }
      const bool words = r.has_words();
      const Shape shape{i.size(), words ? bit_words(j.size()) : j.size()};
      const BufferView to = dense_view(out_buffers[number % slots], shape, r.stored_dtype());
      const Box box{{i.begin, words ? j.begin / 64 : j.begin}, shape};
      step.restarts = true;
      step.writes.push_back({out_store, box, to});
      step.compute = [block = std::move(block), to](const Buffers& b) { block.write(b, b(to)); };
      plan.add_step(std::move(step));
      ++number;
    }
  plan.add_note(cat("blocks of (", side, ", ", side, ")"));
  return plan;
}

StreamPlan plan_row_sums(const FormSource& m, const Options& options) {
  const DType t = sum(m.small(2, m.rows() == m.cols() ? 2 : 3), 1).dtype();
  StreamPlan plan(cat("sum: the rows of ", m.describe(), " of ", name(m.dtype)), options);
  const auto bytes = [&](i64 side) {
    return block_bytes(m, std::min(side, m.rows()), std::min(side, m.cols()));
  };
  // Short floats are multiplied first: their sums would be rounded.
  const bool scales = m.is_scaled() && (m.dtype == DType::f16 || m.dtype == DType::bf16);
  const auto temporary = [&](i64 side) {
    return m.rows() * size_of(t) + (scales ? 10 : 2) * bytes(side) + 4 * side * size_of(t) + 65536;
  };
  const i64 side = side_of_pass("sum", {m}, m.has_words(), options, [&](i64 s) {
    return slots * StreamPlan::rounded(bytes(s)) + temporary(s);
  });
  const i64 store = m.store ? plan.add_store("A", m.store) : 0;
  std::vector<i64> buffers;
  for (i64 s = 0; s < slots && m.store; ++s) buffers.push_back(plan.add_buffer(bytes(side)));
  plan.add_held(temporary(side));
  const auto sums = std::make_shared<Array>();
  const auto rows = cut_at_multiples(0, m.rows(), side), cols = cut_at_multiples(0, m.cols(), side);
  const auto add = [=](const BlockPlace& place, const Range& at, const Array& numbers) {
    const Array part = sums->slice(0, at.begin, at.end);
    AnyMatrix block = piece_of(m, place, numbers).matrix();
    if (scales) block = block.scaled(m.scale);
    const Array more = sum(block, 1).astype(t);
    part.copy_from(is_inexact(t) ? ops::add(part, more)
                                 : checked_elementwise(MatrixOp::add, part, more, t));
  };
  Step first;
  first.compute = [sums, n = m.rows(), t](const Buffers&) { *sums = zeros({n}, t).contiguous(); };
  plan.add_step(std::move(first));
  i64 number = 0;
  for (const Range& i : rows)
    for (const Range& j : cols) {
      const bool mirrored = m.is_mirrored() && i.begin != j.begin;
      const BlockPlace place = place_of(m, i, j), other = mirrored ? place_of(m, j, i) : place;
      if (place.kind == Kind::zero || (mirrored && i.begin > j.begin)) continue;
      Step step;
      BufferView view;
      if (m.store) {
        const Box box = box_of(m, place);
        view = dense_view(buffers[static_cast<std::size_t>(number++ % slots)], box.shape,
                          m.store->grid().dtype());
        step.reads.push_back({store, box, view});
      }
      step.compute = [=, has = m.store != nullptr](const Buffers& b) {
        const Array numbers = has ? b(view) : Array{};
        add(place, i, numbers);
        if (mirrored) add(other, j, numbers);  // read once, for both of its places
        sums->host_data();
      };
      plan.add_step(std::move(step));
    }
  plan.at_end([=](const Buffers&) -> Array {
    if (!m.is_scaled() || scales) return *sums;
    return AnyMatrix::dense(sums->expand_dims(0)).scaled(m.scale).astype(t).array().squeeze(0);
  });
  return plan;
}

}  // namespace tessera::streaming
