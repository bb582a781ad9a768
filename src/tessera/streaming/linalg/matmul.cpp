// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/linalg/matmul.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/kernels/eager.hpp"
#include "tessera/streaming/linalg/blocks.hpp"
#include "tessera/streaming/linalg/strip_cut.hpp"

namespace tessera::streaming {
namespace {

constexpr i64 strips = 4;  // of a block of C, which are computed and written one by one
constexpr i64 a_slots = 3, b_slots = 2, panel_slots = 2, narrow_slots = 2;
constexpr i64 enough_terms = 1024,
              enough_terms_there = 4096;  // of a product: more make it no faster
constexpr i64 most_rows = i64{1} << 30;   // of a block: BLAS counts in 32 bits
constexpr double exact_at_a_time = 1e8;   // multiplications of integers between two looks around

struct Factor {
  i64 store = 0;
  Turn turn = Turn::none;
  DType dtype = DType::f32;

  // Rows and columns of op(x), as a box of the store, into a buffer as they lie there.
  Move move(i64 row, i64 rows, i64 column, i64 columns, i64 buffer) const {
    Box box{{row, column}, {rows, columns}};
    if (turn != Turn::none) {
      std::swap(box.begin[0], box.begin[1]);
      std::swap(box.shape[0], box.shape[1]);
    }
    return {store, box, dense_view(buffer, box.shape, dtype)};
  }
  // What lies in its buffer, which may be a part of the rows there.
  Block block(const Buffers& b, const Move& m) const {
    return {b.at<std::byte>(m.view.buffer) + m.view.layout.offset * size_of(dtype),
            m.view.layout.strides[0], turn != Turn::none, turn == Turn::adjoint};
  }
};

struct Product {
  Factor a, b, c;
  i64 m = 0, n = 0, k = 0, element = 0;
  c128 alpha{1, 0}, beta{0, 0};
  DType dtype = DType::f32;
  i64 tile_a = 1, tile_b = 1;  // along k, of files
  bool narrows = false;        // C has fewer bits than the sums
  Device device = cpu;
  // Blocks of C: where they are computed faster than they travel, one is written beside the next.
  i64 blocks_of_c() const { return device == cpu ? 1 : 2; }
  bool reads_c() const { return beta.re != 0 || beta.im != 0; }
};

// How a product is cut: a block of C of tm x tn over strips of width tk, or all of one factor
// beside strips of the other; or tm whole rows of A and C beside tk whole rows of B.
struct ProductCut {
  enum class Stays : std::uint8_t {
    block_of_c,
    all_of_a,
    all_of_b,
    rows
  } stays = Stays::block_of_c;
  i64 tm = 1, tn = 1, tk = 1;

  i64 strip() const { return (tm + strips - 1) / strips; }
  i64 strips_of_c() const { return (tm + strip() - 1) / strip(); }
  i64 held(const Product& p) const {
    const auto bytes = [&](i64 rows, i64 columns) {
      return StreamPlan::rounded(rows * columns * p.element);
    };
    const auto narrow = [&](i64 rows, i64 columns) {
      return p.narrows ? narrow_slots * StreamPlan::rounded(rows * columns * size_of(p.c.dtype))
                       : 0;
    };
    if (stays == Stays::all_of_a)
      return bytes(p.m, p.k) + panel_slots * (bytes(p.k, tn) + bytes(p.m, tn)) + narrow(p.m, tn);
    if (stays == Stays::all_of_b)
      return bytes(p.k, p.n) + panel_slots * (bytes(tm, p.k) + bytes(tm, p.n)) + narrow(tm, p.n);
    if (stays == Stays::rows)
      return bytes(tm, p.k) + bytes(tm, p.n) + b_slots * bytes(tk, p.n) + narrow(tm, p.n);
    return p.blocks_of_c() * strips_of_c() * bytes(strip(), tn) + a_slots * bytes(strip(), tk) +
           b_slots * bytes(tk, tn) + narrow(strip(), tn);
  }
  // Elements of A and B that are read.
  double traffic(const Product& p) const {
    const double b = static_cast<double>(p.k) * static_cast<double>(p.n);
    const i64 times_b = stays == Stays::block_of_c ? (p.m + tm - 1) / tm : 1;
    return traffic_of_a(p) + b * static_cast<double>(times_b);
  }
  double traffic_of_a(const Product& p) const {
    const double a = static_cast<double>(p.m) * static_cast<double>(p.k);
    const i64 times_a = stays == Stays::block_of_c ? (p.n + tn - 1) / tn : 1;
    return a * static_cast<double>(times_a);
  }
};

// Blocks of equal size, as few as with blocks of at most `most`.
i64 evenly(i64 n, i64 most) {
  most = std::clamp<i64>(most, 1, std::max<i64>(1, n));
  const i64 parts = std::max<i64>(1, (n + most - 1) / most);
  return std::max<i64>(1, (n + parts - 1) / parts);
}

// The largest block of C beside strips of one width.
ProductCut block_cut(const Product& p, i64 tk, i64 budget) {
  ProductCut cut;
  cut.tk = tk;
  const i64 m = std::clamp<i64>(p.m, 1, most_rows), n = std::clamp<i64>(p.n, 1, most_rows);
  const auto largest = [&](i64 most, auto&& set) {
    i64 fits = 1;
    for (i64 above = most + 1; above - fits > 1;) {
      const i64 middle = fits + (above - fits) / 2;
      set(middle);
      (cut.held(p) <= budget ? fits : above) = middle;
    }
    set(fits);
  };
  largest(std::max(m, n), [&](i64 t) {
    cut.tm = std::min(t, m);
    cut.tn = std::min(t, n);
  });
  cut.tm = evenly(m, cut.tm);  // what equal blocks leave is given to the other side
  largest(n, [&](i64 t) { cut.tn = t; });
  cut.tn = evenly(n, cut.tn);
  largest(m, [&](i64 t) { cut.tm = t; });
  cut.tm = evenly(m, cut.tm);
  return cut;
}

ProductCut best_product_cut(const Product& p, i64 budget) {
  ProductCut least;
  ProductCut best = least;
  // Thin strips cost speed: a product that adds 24 terms takes twice its time; on an accelerator, where
  // all of the block passes through its memory for each strip, one that adds 128.
  const double beside = p.device == cpu ? 0 : 104;
  const auto cost = [&](const ProductCut& c) {
    const double width = static_cast<double>(c.tk);
    const double thin = (1 + 24 / width) * (1 + beside / width);
    if (c.stays != ProductCut::Stays::block_of_c) return c.traffic(p) * thin;
    const double a = c.traffic_of_a(p), b = c.traffic(p) - a;
    const auto strip = [&](i64 tile) {
      return strip_cost(c.tk, tile, p.element) * (1 + beside / width);
    };
    return a * (p.a.turn == Turn::none ? strip(p.tile_a) : thin) +
           b * (p.b.turn != Turn::none ? strip(p.tile_b) : thin);
  };
  // Strips end where tiles do, or cut them into equal parts: what lies beside is read along.
  for (const i64 tile : {p.tile_a, p.tile_b})
    for (const i64 tk :
         strip_widths(p.k, tile, p.device == cpu ? enough_terms : enough_terms_there)) {
      const ProductCut cut = block_cut(p, tk, budget);
      if (cut.held(p) <= budget && cost(cut) < cost(best)) best = cut;
    }
  const i64 longest = std::max({p.m, p.n, p.k});
  if (longest > most_rows) return best;
  for (const auto stays : {ProductCut::Stays::all_of_a, ProductCut::Stays::all_of_b}) {
    ProductCut cut{.stays = stays, .tm = 1, .tn = 1, .tk = std::max<i64>(1, p.k)};
    i64& t = stays == ProductCut::Stays::all_of_a ? cut.tn : cut.tm;
    const i64 all = stays == ProductCut::Stays::all_of_a ? p.n : p.m;
    while (t < (all + 3) / 4) {  // four strips at least, so that reads and writes overlap
      t *= 2;
      if (cut.held(p) <= budget) continue;
      t /= 2;
      break;
    }
    t = std::min(t, std::max<i64>(1, (all + 3) / 4));
    if (cut.held(p) <= budget && t >= std::min<i64>(all, 16) && cost(cut) < 0.99 * cost(best))
      best = cut;
  }
  return best;
}

// Whole rows of all three, for files by rows, of which blocks of columns are read with what lies between.
std::optional<ProductCut> row_cut(const Product& p, const Options& options) {
  if (p.device != cpu || p.a.turn != Turn::none || p.b.turn != Turn::none || p.reads_c())
    return std::nullopt;
  constexpr i64 rows_of_b = 32;  // as few as products take without losing speed
  ProductCut cut{
      .stays = ProductCut::Stays::rows, .tm = 1, .tn = p.n, .tk = std::min(p.k, rows_of_b)};
  const i64 budget = budget_of(options);
  if (p.k == 0 || std::max(p.n, p.k) > most_rows || cut.held(p) > budget) return std::nullopt;
  i64 above = std::min(p.m, most_rows) + 1;
  while (above - cut.tm > 1) {
    ProductCut middle = cut;
    middle.tm = cut.tm + (above - cut.tm) / 2;
    if (middle.held(p) <= budget)
      cut = middle;
    else
      above = middle.tm;
  }
  cut.tm = evenly(p.m, cut.tm);
  return cut;
}

// By the kernel of arrays: integers, which wrap as in memory, and everything on a device.
MatmulSpec spec_of(const Product& p, const Operand& a, const Operand& b, const Operand& c,
                   bool is_first) {
  MatmulSpec spec{a, b, c};
  spec.conj_a = p.a.turn == Turn::adjoint && is_complex(p.dtype);
  spec.conj_b = p.b.turn == Turn::adjoint && is_complex(p.dtype);
  spec.alpha = p.alpha;
  spec.beta = is_first ? p.beta : c128{1, 0};
  return spec;
}

void multiply_by_kernel(const Buffers& b, const Product& p, const Move& a, const Move& right,
                        const BufferView& c, bool is_first) {
  const auto seen = [&](const Factor& f, const Move& m) {
    const Array x = b(m.view);
    return f.turn == Turn::none ? x : x.transpose();
  };
  const Array x = seen(p.a, a), y = seen(p.b, right), z = b(c);
  const double row = static_cast<double>(z.shape(1)) * static_cast<double>(x.shape(1));
  const i64 rows = p.device == cpu
                       ? std::max<i64>(1, static_cast<i64>(exact_at_a_time / std::max(row, 1.0)))
                       : std::max<i64>(1, z.shape(0));
  for (i64 r = 0; r < z.shape(0); r += rows) {
    if (rows < z.shape(0)) poll_stream();
    const i64 end = std::min(r + rows, z.shape(0));
    const Array left = x.slice(0, r, end), out = z.slice(0, r, end);
    launch_now(&KernelTable::matmul, "matmul",
               spec_of(p, operand_of(left), operand_of(y), operand_of(out), is_first), p.device,
               {&left, &y, &out});
  }
}

// Bytes that the kernel takes beside the buffers.
i64 workspace_of(const Product& p, const ProductCut& cut) {
  if (p.device == cpu) return 0;  // as it is added to what a run holds there only
  const bool all_a = cut.stays == ProductCut::Stays::all_of_a,
             all_b = cut.stays == ProductCut::Stays::all_of_b;
  const i64 m = all_a   ? p.m
                : all_b ? cut.tm
                        : cut.strip(),
            n = all_b ? p.n : cut.tn, k = all_a || all_b ? p.k : cut.tk;
  const auto seen = [&](const Factor& f, i64 rows, i64 columns) {
    const bool turned = f.turn != Turn::none;
    const Layout lies = Layout::contiguous(turned ? Shape{columns, rows} : Shape{rows, columns});
    return Operand{turned ? Layout{{rows, columns}, {lies.strides[1], lies.strides[0]}, 0} : lies,
                   p.dtype};
  };
  const Operand c{Layout::contiguous({m, n}), p.dtype};
  const Kernel<MatmulSpec>& kernel = kernels_of(p.device).matmul;
  require<NotAvailable>(kernel.prepare != nullptr, no_kernel_text("matmul", p.device));
  return kernel.prepare(spec_of(p, seen(p.a, m, k), seen(p.b, k, n), c, false), p.device).workspace;
}

// The best one that leaves room for the kernel's work space.
ProductCut choose_product_cut(const Product& p, const Options& options) {
  const ProductCut least;
  const i64 budget = budget_of(options), needed = least.held(p) + workspace_of(p, least);
  require_budget("matmul", options, needed);
  for (i64 beside = needed - least.held(p); budget - beside >= least.held(p);) {
    const ProductCut cut = best_product_cut(p, budget - beside);
    const i64 work = workspace_of(p, cut);
    if (cut.held(p) + work <= budget) return cut;
    beside = std::max(work, beside + 1);
  }
  return least;
}

// One strip of C gets its share of one strip of k.
void multiply(const Buffers& b, const Product& p, const Move& a, const Move& right,
              const BufferView& c, bool is_first) {
  if (p.device != cpu || !is_inexact(p.dtype)) {
    multiply_by_kernel(b, p, a, right, c, is_first);
    if (p.device == cpu) b(c).host_data();  // has ended
    return;
  }
  const i64 k = p.a.turn == Turn::none ? a.box.shape[1] : a.box.shape[0];
  gemm(p.dtype, c.layout.shape[0], c.layout.shape[1], k, p.alpha, p.a.block(b, a),
       p.b.block(b, right), is_first ? p.beta : c128{1, 0}, b.at<std::byte>(c.buffer),
       c.layout.shape[1]);
}

// Where sums lie that will be the elements of a move, and buffers of the elements where these are
// narrower.
class Sums {
 public:
  Sums(StreamPlan& plan, const Product& p, i64 elements) : wide_(p.dtype), narrows_(p.narrows) {
    for (i64 s = 0; p.narrows && s < narrow_slots; ++s)
      narrow_.push_back(plan.add_buffer(elements * size_of(p.c.dtype)));
  }
  BufferView of(const Move& out) const { return dense_view(out.view.buffer, out.box.shape, wide_); }
  // What is written of the sums of `out`.
  Move result(const Move& out) {
    if (!narrows_) return out;
    Move m = out;
    m.view = dense_view(narrow_[next_++ % narrow_.size()], out.box.shape, out.view.dtype);
    return m;
  }
  void finish(const Buffers& b, const BufferView& sums, const Move& result) const {
    if (narrows_) b(result.view).copy_from(b(sums));
  }

 private:
  DType wide_;
  bool narrows_;
  std::vector<i64> narrow_;
  std::size_t next_ = 0;
};

void add_block_steps(StreamPlan& plan, const Product& p, const ProductCut& cut) {
  std::vector<i64> c, a, b;
  const i64 h = cut.strip();
  for (i64 s = 0; s < p.blocks_of_c() * cut.strips_of_c(); ++s)
    c.push_back(plan.add_buffer(h * cut.tn * p.element));
  for (i64 s = 0; s < a_slots; ++s) a.push_back(plan.add_buffer(h * cut.tk * p.element));
  for (i64 s = 0; s < b_slots; ++s) b.push_back(plan.add_buffer(cut.tk * cut.tn * p.element));
  Sums sums(plan, p, h * cut.tn);
  std::size_t next_a = 0, next_b = 0;
  i64 block = 0;
  for (i64 i = 0; i < p.m; i += cut.tm)
    for (i64 j = 0; j < p.n; j += cut.tn, ++block) {
      const i64 first_strip = block % p.blocks_of_c() * cut.strips_of_c();
      const i64 columns = std::min(cut.tn, p.n - j), end = std::min(i + cut.tm, p.m);
      for (i64 k = 0; k == 0 || k < p.k; k += cut.tk) {
        const i64 depth = std::min(cut.tk, p.k - k);
        const Move right = p.b.move(k, depth, j, columns, b[next_b++ % b.size()]);
        for (i64 r = i; r < end; r += h) {
          const i64 rows = std::min(h, end - r);
          const Move left = p.a.move(r, rows, k, depth, a[next_a++ % a.size()]);
          const Move out =
              p.c.move(r, rows, j, columns, c[static_cast<std::size_t>(first_strip + (r - i) / h)]);
          Step step;
          if (r == i) step.reads.push_back(right);
          if (r != i) step.uses.push_back(right.view.buffer);
          step.reads.push_back(left);
          if (k == 0 && p.reads_c()) step.reads.push_back(out);
          step.uses.push_back(out.view.buffer);
          const bool is_last = k + cut.tk >= p.k;
          const Move result = is_last ? sums.result(out) : out;
          if (is_last) step.writes.push_back(result);
          step.restarts = k == 0 && r == i && !p.reads_c();
          step.compute = [=](const Buffers& buffers) {
            multiply(buffers, p, left, right, sums.of(out), k == 0);
            if (is_last) sums.finish(buffers, sums.of(out), result);
          };
          plan.add_step(std::move(step));
        }
      }
    }
  plan.add_note(cat(p.device == cpu ? "blocks" : "two blocks", " of C of (", cut.tm, ", ", cut.tn,
                    ") stay, ", cut.tk, " columns of A and rows of B pass at a time"));
}

// Rows of A and C stay while all rows of B pass.
void add_row_steps(StreamPlan& plan, const Product& p, const ProductCut& cut) {
  const i64 of_a = plan.add_buffer(cut.tm * p.k * p.element),
            of_c = plan.add_buffer(cut.tm * p.n * p.element);
  std::vector<i64> b;
  for (i64 s = 0; s < b_slots; ++s) b.push_back(plan.add_buffer(cut.tk * p.n * p.element));
  Sums sums(plan, p, cut.tm * p.n);
  std::size_t next = 0;
  for (i64 i = 0; i < p.m; i += cut.tm) {
    const i64 rows = std::min(cut.tm, p.m - i);
    const Move all = p.a.move(i, rows, 0, p.k, of_a), out = p.c.move(i, rows, 0, p.n, of_c);
    for (i64 k = 0; k < p.k; k += cut.tk) {
      const i64 depth = std::min(cut.tk, p.k - k);
      const Move right = p.b.move(k, depth, 0, p.n, b[next++ % b.size()]);
      Move left = p.a.move(i, rows, k, depth, of_a);
      left.view.layout = all.view.layout.slice(1, k, depth);
      const bool is_last = k + cut.tk >= p.k;
      const Move result = is_last ? sums.result(out) : out;
      Step step;
      step.reads.push_back(right);
      if (k == 0) step.reads.push_back(all);
      step.uses = {of_a, of_c};
      if (is_last) step.writes.push_back(result);
      step.restarts = k == 0;
      step.compute = [=](const Buffers& buffers) {
        multiply(buffers, p, left, right, sums.of(out), k == 0);
        if (is_last) sums.finish(buffers, sums.of(out), result);
      };
      plan.add_step(std::move(step));
    }
  }
  plan.add_note(cat(cut.tm, " rows of A and C stay, ", cut.tk, " rows of B pass at a time"));
}

// All of A stays beside columns of B and C, or all of B beside rows of A and C.
void add_panel_steps(StreamPlan& plan, const Product& p, const ProductCut& cut) {
  const bool of_a = cut.stays == ProductCut::Stays::all_of_a;
  const i64 t = of_a ? cut.tn : cut.tm, all = of_a ? p.n : p.m;
  const i64 kept = plan.add_buffer((of_a ? p.m * p.k : p.k * p.n) * p.element);
  std::vector<i64> in, of_c;
  for (i64 s = 0; s < panel_slots; ++s) {
    in.push_back(plan.add_buffer(p.k * t * p.element));
    of_c.push_back(plan.add_buffer((of_a ? p.m : p.n) * t * p.element));
  }
  Sums sums(plan, p, (of_a ? p.m : p.n) * t);
  for (i64 at = 0, number = 0; at < all; at += t, ++number) {
    const i64 size = std::min(t, all - at);
    const i64 from = in[static_cast<std::size_t>(number % panel_slots)],
              to = of_c[static_cast<std::size_t>(number % panel_slots)];
    const Move left = of_a ? p.a.move(0, p.m, 0, p.k, kept) : p.a.move(at, size, 0, p.k, from);
    const Move right = of_a ? p.b.move(0, p.k, at, size, from) : p.b.move(0, p.k, 0, p.n, kept);
    const Move out = of_a ? p.c.move(0, p.m, at, size, to) : p.c.move(at, size, 0, p.n, to);
    const Move result = sums.result(out);
    if (at == 0) plan.add_preload(of_a ? left : right);
    Step step;
    step.restarts = !p.reads_c();
    step.reads.push_back(of_a ? right : left);
    if (p.reads_c()) step.reads.push_back(out);
    step.uses = {kept, to};
    step.writes.push_back(result);
    step.compute = [=](const Buffers& buffers) {
      multiply(buffers, p, left, right, sums.of(out), true);
      sums.finish(buffers, sums.of(out), result);
    };
    plan.add_step(std::move(step));
  }
  plan.add_note(of_a ? cat("all of A stays, ", t, " columns of B and C pass at a time")
                     : cat("all of B stays, ", t, " rows of A and C pass at a time"));
}

Shape turned_shape(const StorePtr& s, Turn turn) {
  const Shape& shape = s->grid().shape();
  require<ShapeError>(shape.size() == 2, "matmul: takes matrices, got a store of shape ", shape);
  return turn == Turn::none ? shape : Shape{shape[1], shape[0]};
}

}  // namespace

DType sums_of_product(DType product) {
  return product == DType::f16 || product == DType::bf16 ? DType::f32 : product;
}

StreamPlan plan_matmul(const StorePtr& a, const StorePtr& b, const StorePtr& c,
                       const MatmulOptions& what, const Options& options) {
  const Shape sa = turned_shape(a, what.turn_a), sb = turned_shape(b, what.turn_b),
              sc = turned_shape(c, Turn::none);
  require<ShapeError>(sa[1] == sb[0] && sc == Shape({sa[0], sb[1]}), "matmul: ", sa, " times ", sb,
                      " into ", sc, ": the sizes do not match");
  const DType given = c->grid().dtype(), t = sums_of_product(given);
  require<DTypeError>(a->grid().dtype() == t && b->grid().dtype() == t,
                      "matmul: ", name(a->grid().dtype()), " times ", name(b->grid().dtype()),
                      " into ", name(given), ": ", name(t), " for both factors");
  require<ArgumentError>(given == t || (what.beta.re == 0 && what.beta.im == 0),
                         "matmul: nothing is added to what is ", name(given), " already");
  require<IoError>(c->writable(), "matmul: the output is read-only: ", c->describe());
  require<ArgumentError>(c != a && c != b, "matmul: the output is one of the factors");
  StreamPlan plan(cat("matmul: ", sa, " times ", sb, ", ", name(given)), options);
  plan.compute_on(what.device);
  Product p{{plan.add_store("A", a), what.turn_a, t},
            {b == a ? 0 : plan.add_store("B", b), what.turn_b, t},
            {plan.add_store("C", c), Turn::none, given}};
  p.m = sa[0];
  p.k = sa[1];
  p.n = sb[1];
  p.element = size_of(t);
  if (a->on_disk()) p.tile_a = a->grid().tile_shape()[what.turn_a == Turn::none ? 1 : 0];
  if (b->on_disk()) p.tile_b = b->grid().tile_shape()[what.turn_b == Turn::none ? 0 : 1];
  p.alpha = what.alpha;
  p.beta = what.beta;
  p.dtype = t;
  p.narrows = given != t;
  p.device = what.device;
  if (p.m == 0 || p.n == 0) return plan;
  plan.add_work({.op = Operation::matmul, .dtype = t, .m = p.m, .n = p.n, .k = p.k});
  const ProductCut cut = choose_product_cut(p, options);
  StreamPlan by_rows = plan;
  plan.add_held(workspace_of(p, cut));
  if (cut.stays == ProductCut::Stays::block_of_c)
    add_block_steps(plan, p, cut);
  else
    add_panel_steps(plan, p, cut);
  if (const auto rows = row_cut(p, options)) {
    // Of rows at least what they are is read; what lies between, in files by columns, the plans have counted.
    const auto read = [](const StreamPlan& s) {
      return static_cast<double>(s.figures().disk().read + s.figures().host().read);
    };
    const i64 passes = (p.m + rows->tm - 1) / rows->tm;
    const double least =
        (static_cast<double>(p.m) + static_cast<double>(p.n) * static_cast<double>(passes)) *
        static_cast<double>(p.k) * static_cast<double>(p.element);
    if (least < 0.9 * read(plan)) {
      add_row_steps(by_rows, p, *rows);
      if (read(by_rows) < 0.9 * read(plan)) return by_rows;
    }
  }
  return plan;
}

}  // namespace tessera::streaming
