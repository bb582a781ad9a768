// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/forms/stored_forms.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg.hpp"
#include "tessera/matrix/functions/elementwise.hpp"
#include "tessera/streaming/forms/form_propagator.hpp"
#include "tessera/streaming/plan/planning.hpp"
#include "tessera/streaming/stored/result_store.hpp"
#include "tessera/streaming/stored/stored_array.hpp"

namespace tessera::streaming {
namespace {

// Squares of elements, also where these are bits.
store::TileGrid grid_of(const FormResult& r) {
  if (!r.has_words()) return grid_for(r.stored_shape(), r.stored_dtype());
  const double bits = 8 * static_cast<double>(tile_bytes_for(stream_budget()));
  const i64 side = std::max<i64>(512, static_cast<i64>(std::sqrt(bits)) / 512 * 512);
  const Shape shape = r.stored_shape();
  return {shape,
          {std::clamp<i64>(side, 1, std::max<i64>(1, shape[0])),
           std::clamp<i64>(side / 64, 1, std::max<i64>(1, shape[1]))},
          DType::u64};
}

// Tiles that blocks of a side fill: the blocks themselves, or equal parts of them.
store::TileGrid grid_of(const FormResult& r, i64 side) {
  const Shape shape = r.stored_shape();
  const i64 in_word = r.has_words() ? 64 : 1, element = size_of(r.stored_dtype());
  while (side / in_word * side * element > store::TileGrid::default_tile_bytes &&
         side % (2 * in_word) == 0)
    side /= 2;
  return {shape,
          {std::clamp<i64>(side, 1, std::max<i64>(1, shape[0])),
           std::clamp<i64>(side / in_word, 1, std::max<i64>(1, shape[1]))},
          r.stored_dtype()};
}

using PlanForm = std::function<StreamPlan(const StorePtr& out, const Options& options)>;

FormSource made_on_disk(const FormResult& r, const store::TileGrid& grid, const std::string& path,
                        const std::function<JobFacts()>& facts, const PlanForm& plan) {
  require<ArgumentError>(r.form == Form::dense || !path.ends_with(".npy"), "'", path,
                         "': a .npy file does not say that a matrix is ", name(r.form),
                         "; take a name that ends in .tiles");
  return r.source(result_store({.path = path,
                                .facts = facts,
                                .shape = r.stored_shape(),
                                .dtype = r.stored_dtype(),
                                .grid = grid,
                                .half = r.is_half(),
                                .about = r.about()},
                               [&](const StorePtr& out, const Options& options,
                                   const MakeScratch&) { return plan(out, options); }));
}

// What is stored of a rectangle of an upper half, zeros elsewhere.
Array read_upper(const FormSource& m, const Range& rows, const Range& cols, i64 diagonal) {
  if (rows.begin + diagonal >= cols.end || rows.size() == 0 || cols.size() == 0)
    return zeros({rows.size(), cols.size()}, m.dtype).contiguous();
  const Array all = read_box(m.store, {{rows.begin, cols.begin}, {rows.size(), cols.size()}});
  if (rows.end + diagonal <= cols.begin + 1) return all;
  return linalg::triangle(all, false, diagonal + rows.begin - cols.begin);
}

Array read_numbers(const FormSource& m, const Range& rows, const Range& cols) {
  if (!m.is_half())
    return read_box(m.store, {{rows.begin, cols.begin}, {rows.size(), cols.size()}});
  const Array upper = read_upper(m, rows, cols, m.strict ? 1 : 0);
  if (!m.is_mirrored()) return upper;
  const Array below = read_upper(m, cols, rows, 1).transpose();
  return m.form == Form::symmetric ? ops::add(upper, below) : ops::subtract(upper, below);
}

AnyMatrix read_words(const FormSource& m, const Range& rows, const Range& cols) {
  const i64 first = cols.begin / 512 * 512;
  const i64 count = rows.size() == 0 || cols.size() == 0 ? 0 : bit_words(cols.end - first);
  Array words = zeros({rows.size(), bit_words(cols.end - first)}, DType::u64).contiguous();
  if (count > 0) words = read_box(m.store, {{rows.begin, first / 64}, {rows.size(), count}});
  if (cols.begin == first && cols.end == m.stored_cols)
    return AnyMatrix::bits({words, cols.size()});
  const i64 at_a_time = std::max<i64>(1, (i64{1} << 18) / std::max<i64>(1, count * 64));
  const Array out = Array::empty({rows.size(), bit_words(cols.size())}, DType::u64);
  for (const Range& r : cut_at_multiples(0, rows.size(), at_a_time)) {
    const Array bits = bit_unpack({words.slice(0, r.begin, r.end), count * 64});
    out.slice(0, r.begin, r.end)
        .copy_from(bit_pack(bits.slice(1, cols.begin - first, cols.end - first)).words);
  }
  return AnyMatrix::bits({out, cols.size()});
}

}  // namespace

FormSource random_bits_on_disk(Form form, i64 rows, i64 cols, double p, Random& source) {
  AnyMatrix::random_bits(form, 0, 0, p, *std::make_unique<Random>(source));  // what it refuses
  const FormResult r{form, DType::b1, rows, cols, false, form == Form::triangular_bit};
  const RandomSpec spec = source.next_uniform(DType::f64);
  const FormSource numbers{
      .form = form,
      .stored_rows = rows,
      .stored_cols = cols,
      .dtype = DType::b1,
      .strict = r.strict,
      .store =
          store::generated_store("random bits", grid_of(r), [=](const Box& box, const Array& into) {
            const i64 first = box.begin[1] * 64, last = std::min(cols, first + box.shape[1] * 64);
            const i64 width = last - first;
            const i64 step = std::max<i64>(1, (i64{1} << 18) / width);
            into.fill(Value(0));
            for (const Range& k : cut_at_multiples(0, box.shape[0], step)) {
              const Array x = Array::empty({k.size(), width}, DType::f64);
              RandomSpec here = spec;
              here.first = (box.begin[0] + k.begin) * cols + first;
              here.row = width;
              here.pitch = cols;
              draw_into(x, here);
              into.slice(0, k.begin, k.end).copy_from(bit_pack(ops::less(x, p)).words);
            }
          })};
  return copied_to_disk(numbers);
}

FormSource copied_to_disk(const FormSource& m, const std::string& path) {
  const FormMap same{"copy", [](std::span<const AnyMatrix> x) { return x[0]; }};
  return mapped_on_disk({m}, same, path);
}

FormSource product_on_disk(const FormSource& a, const FormSource& b, const FormProduct& what,
                           const std::string& path) {
  const FormResult r = product_form(a, b, what);
  const auto facts = [&] {
    return JobFacts{
        {"operation", cat(what.boolean ? "boolean_product" : "matmul", " in ", name(r.dtype))},
        {"A", a.version()},
        {"B", b.version()}};
  };
  const i64 side = form_product_side(a, b, what, {.budget = result_budget(path)});
  return made_on_disk(r, grid_of(r, side), path, facts,
                      [&](const StorePtr& out, const Options& options) {
                        return plan_form_product(a, b, out, what, options);
                      });
}

std::string explain_product(const FormSource& a, const FormSource& b, const FormProduct& what) {
  const FormResult r = product_form(a, b, what);
  // Of a store that nobody writes to the plan is the same.
  class Nothing final : public store::TileStore {
   public:
    explicit Nothing(store::TileGrid grid) : grid_(std::move(grid)) {}
    const store::TileGrid& grid() const override { return grid_; }
    std::string describe() const override {
      return cat("a new file, ", grid_.shape(), " ", name(grid_.dtype()));
    }
    bool writable() const override { return true; }
    bool on_disk() const override { return true; }
    store::Transfer read(const Box&, const Array&) override { return {}; }
    store::Transfer write(const Box&, const Array&) override { return {}; }

   private:
    store::TileGrid grid_;
  };
  return plan_form_product(a, b, std::make_shared<Nothing>(grid_of(r)), what,
                           {.budget = stream_budget()})
      .explain();
}

Array product_in_memory(const FormSource& a, const FormSource& b) {
  FormResult r = product_form(a, b);
  require<ArgumentError>(r.form == Form::dense, "matmul: a ", name(r.form),
                         " comes in memory as an array only");
  const Array out = Array::empty(r.stored_shape(), r.dtype);
  if (out.size() == 0) return out;
  plan_form_product(a, b, store::memory_store(out, out.shape()), {}, {.budget = stream_budget()})
      .run();
  return out;
}

FormSource compute_k_on_disk(const FormSource& c, double a, const std::string& path) {
  const FormResult r = propagator_form(c, a);
  const auto facts = [&] {
    return JobFacts{{"operation", cat("compute_k with a = ", Value(a).str())}, {"C", c.version()}};
  };
  const i64 side = propagator_side(c, {.budget = result_budget(path)});
  return made_on_disk(r, grid_of(r, side), path, facts,
                      [&](const StorePtr& out, const Options& options) {
                        return plan_propagator(c, a, out, options);
                      });
}

FormSource scaled_on_disk(const FormSource& m, const Value& by) {
  if (const auto view = m.scaled(by)) return *view;
  return mapped_on_disk(
      {m}, {"multiply", [by](std::span<const AnyMatrix> x) { return x[0].scaled(by).copy(); }});
}

FormSource divided_on_disk(const FormSource& m, const Value& by) {
  const c128 z = by.as<c128>();
  const double size = std::hypot(z.re, z.im);
  const std::complex<double> over = 1.0 / std::complex<double>(z.re, z.im);
  if (size > 0 && std::isfinite(size) && std::isfinite(std::abs(over)) && std::abs(over) > 0)
    if (const auto view =
            m.scaled(by.kind() == Value::Kind::complex ? Value(over) : Value(over.real())))
      return *view;
  return mapped_on_disk(
      {m}, {"divide", [by](std::span<const AnyMatrix> x) { return divide(x[0], by); }});
}

FormSource mapped_on_disk(const std::vector<FormSource>& inputs, const FormMap& map,
                          const std::string& path) {
  const FormResult r = mapped_form(inputs, map);
  const auto facts = [&] {
    JobFacts all{{"operation", map.name}};
    for (const FormSource& m : inputs) all.emplace_back(cat("input ", all.size() - 1), m.version());
    return all;
  };
  return made_on_disk(r, grid_of(r), path, facts, [&](const StorePtr& out, const Options& options) {
    return plan_form_map(inputs, map, out, options);
  });
}

Array sum_of_form(const FormSource& m, i64 axis) {
  axis = normalize_axis(axis, 2, "sum");
  return plan_row_sums(axis == 1 ? m : m.transpose(), {.budget = stream_budget()}).run();
}

AnyMatrix read_form(const FormSource& m, const Range& rows, const Range& cols) {
  require<IndexError>(0 <= rows.begin && rows.begin <= rows.end && rows.end <= m.rows() &&
                          0 <= cols.begin && cols.begin <= cols.end && cols.end <= m.cols(),
                      "read: rows ", rows.begin, " to ", rows.end, " and columns ", cols.begin,
                      " to ", cols.end, " of ", m.describe());
  const Range r = m.transposed ? cols : rows, c = m.transposed ? rows : cols;
  AnyMatrix out = m.has_words() ? read_words(m, r, c) : AnyMatrix::dense(read_numbers(m, r, c));
  if (m.conjugated) out = out.conj();
  if (m.is_scaled()) out = out.scaled(m.scale);
  if (m.transposed) out = out.transpose();
  return out.plain() ? out : out.copy();
}

}  // namespace tessera::streaming
