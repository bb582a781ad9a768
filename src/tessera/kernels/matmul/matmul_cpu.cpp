// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/matmul/blas.hpp"
#include "tessera/kernels/matmul/few_columns.hpp"
#include "tessera/kernels/matmul/loops.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/kernels/matmul/triangle.hpp"

namespace tessera {
namespace {

constexpr i64 pack_block = 4096;  // rows and columns of a packed piece, at most
constexpr i64 alignment = 64;     // of the pieces of a workspace

// A matrix of an operand: sizes and strides in elements.
struct View2 {
  i64 rows = 0, columns = 0, row_step = 0, column_step = 0;
  View2 turned() const { return {columns, rows, column_step, row_step}; }
};

// How BLAS reads a matrix without a copy; ld == 0 when it cannot.
struct Form {
  i64 ld = 0;
  bool turned = false;
};

Form form_of(const View2& v) {
  Form f;
  if (v.columns <= 1 && v.rows <= 1)
    f = {1, false};
  else if (v.columns <= 1)
    f = {std::max<i64>(v.row_step, 0), false};
  else if (v.rows <= 1)
    f = v.column_step == 1 ? Form{v.columns, false} : Form{std::max<i64>(v.column_step, 0), true};
  else if (v.column_step == 1 && v.row_step >= v.columns)
    f = {v.row_step, false};
  else if (v.row_step == 1 && v.column_step >= v.rows)
    f = {v.column_step, true};
  if (f.ld > blas::max_step) f.ld = 0;
  return f;
}

enum class Path : std::uint8_t { nothing, loops, dot, gemv, few, gemm };

struct State {
  Path path = Path::nothing;
  i64 m = 0, n = 0, k = 0, batch = 1;
  View2 a, b, c;
  bool conj_a = false, conj_b = false;
  bool exchanged = false;  // a is the launch's second operand
  c128 alpha, beta;
  i64 element = 0;    // bytes
  Shape batch_shape;  // merged; strides of each operand beside it
  Strides batch_a, batch_b, batch_c;
  Form form_a, form_b, form_c;  // ld == 0: packed
  i64 block_m = 0, block_n = 0, block_k = 0;
  i64 bytes_a = 0, bytes_b = 0, bytes_c = 0;  // of one packed piece
  i64 tasks = 1;  // pieces of the batch that run at once, each with a workspace
  i64 grain = 1;  // of loops: rows per piece
  LoopArgs loop;
  LoopFn loop_fn = nullptr;

  i64 slot_bytes() const { return bytes_a + bytes_b + bytes_c; }
};

// Batch axes of size 1 go; neighbours that step evenly in all three operands become one.
void merge_batch(State& s, const MatmulSpec& spec) {
  const i64 axes = spec.out.layout.ndim() - 2;
  for (i64 i = 0; i < axes; ++i) {
    const i64 size = spec.out.layout.shape[i];
    s.batch *= size;
    if (size == 1) continue;
    const i64 a = spec.a.layout.strides[i], b = spec.b.layout.strides[i],
              c = spec.out.layout.strides[i];
    if (!s.batch_shape.empty() && s.batch_a.back() == a * size && s.batch_b.back() == b * size &&
        s.batch_c.back() == c * size) {
      s.batch_shape.back() *= size;
      s.batch_a.back() = a;
      s.batch_b.back() = b;
      s.batch_c.back() = c;
    } else {
      s.batch_shape.push_back(size);
      s.batch_a.push_back(a);
      s.batch_b.push_back(b);
      s.batch_c.push_back(c);
    }
  }
}

// out^T = op(b)^T op(a)^T: the same numbers with the roles exchanged.
void turn(State& s) {
  std::swap(s.m, s.n);
  std::swap(s.a, s.b);
  s.a = s.a.turned();
  s.b = s.b.turned();
  s.c = s.c.turned();
  std::swap(s.conj_a, s.conj_b);
  std::swap(s.batch_a, s.batch_b);
  s.exchanged = !s.exchanged;
}

// One b for the whole last batch axis, and rows that go on where the previous matrix ended: the
// axis is more rows of one product.
bool fold_rows(State& s) {
  if (s.batch_shape.empty() || s.batch_b.back() != 0 || s.m < 1 || s.batch < 1) return false;
  const i64 size = s.batch_shape.back();
  if (s.m == 1) {
    s.a.row_step = s.batch_a.back();
    s.c.row_step = s.batch_c.back();
  } else if (s.batch_a.back() != s.a.row_step * s.m || s.batch_c.back() != s.c.row_step * s.m) {
    return false;
  }
  s.m *= size;
  s.a.rows = s.c.rows = s.m;
  s.batch /= size;
  s.batch_shape.pop_back();
  s.batch_a.pop_back();
  s.batch_b.pop_back();
  s.batch_c.pop_back();
  return true;
}

void fold(State& s) {
  while (fold_rows(s)) {
  }
  turn(s);
  while (fold_rows(s)) {
  }
  turn(s);
}

bool fits(i64 size, i64 step) {
  return size <= blas::max_size && step != 0 && std::abs(step) <= blas::max_step;
}

bool has_blas(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::c64 || t == DType::c128;
}
bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

// A matrix, whose rows lie in one piece each, by a few columns that do.
bool has_few_columns(const State& s, DType dtype) {
  return (dtype == DType::f32 || dtype == DType::f64) && s.a.column_step == 1 &&
         s.b.row_step == 1 && is_for_few_columns(s.m, s.n, s.k);
}

Path choose_path(const State& s, DType dtype) {
  if (s.m == 0 || s.n == 0 || s.batch == 0) return Path::nothing;
  if (!has_blas(dtype) && !is_half(dtype)) return Path::loops;
  if (s.k <= 1 || is_for_loops(dtype, s.m, s.n, s.k)) return Path::loops;
  if (is_half(dtype)) return Path::gemm;
  if (s.m == 1 && s.n == 1 && fits(s.k, s.a.column_step) && fits(s.k, s.b.row_step))
    return Path::dot;
  if (s.n == 1 && s.form_a.ld > 0 && !s.conj_b && s.m <= blas::max_size &&
      fits(s.k, s.b.row_step) && fits(s.m, s.m == 1 ? 1 : s.c.row_step))
    return Path::gemv;
  return has_few_columns(s, dtype) ? Path::few : Path::gemm;
}

i64 padded(i64 bytes) { return (bytes + alignment - 1) / alignment * alignment; }

void plan_gemm(State& s, DType dtype) {
  if (is_half(dtype)) s.form_a.ld = s.form_b.ld = s.form_c.ld = 0;
  const bool pa = s.form_a.ld == 0, pb = s.form_b.ld == 0, pc = s.form_c.ld == 0;
  auto limit = [](i64 size, bool packed) {
    return std::min(size, packed ? pack_block : blas::max_size);
  };
  s.block_m = limit(s.m, pa || pc);
  s.block_n = limit(s.n, pb || pc);
  s.block_k = limit(s.k, pa || pb);
  const i64 each = is_half(dtype) ? 4 : s.element;
  if (pa) s.bytes_a = padded(s.block_m * s.block_k * each);
  if (pb) s.bytes_b = padded(s.block_k * s.block_n * each);
  if (pc) s.bytes_c = padded(s.block_m * s.block_n * each);
}

// Small matrices: the batch is spread over the threads and each product runs on one; larger ones
// too where that leaves few threads idle, since many threads on one product of a few hundred rows
// wait for one another most of the time. The others: one after the other, each on all threads.
void plan_tasks(State& s) {
  const i64 threads = num_threads();
  const double work = static_cast<double>(s.m) * static_cast<double>(s.n) *
                      static_cast<double>(std::max<i64>(s.k, 1));
  if (s.path == Path::loops) {
    s.grain = std::max<i64>(1, static_cast<i64>(65536 / std::max(work / double(s.m), 1.0)));
    return;
  }
  const bool small = work <= 128.0 * 128 * 128;
  const i64 rounds = (s.batch - 1) / threads + 1;
  const double busy = static_cast<double>(s.batch) / static_cast<double>(rounds * threads);
  const bool many = work <= 512.0 * 512 * 512 && busy >= (work <= 256.0 * 256 * 256 ? 0.5 : 0.75);
  if (threads == 1 || s.batch < 2 || !(small || many)) return;
  const double whole = work * static_cast<double>(s.batch);
  s.tasks = std::min({s.batch, s.slot_bytes() > 0 ? threads : 8 * threads,
                      std::max<i64>(1, static_cast<i64>(whole / 65536))});
}

struct Offsets {
  i64 a = 0, b = 0, c = 0;
};
Offsets offsets_of(const State& s, i64 index) {
  Offsets o;
  for (i64 i = s.batch_shape.size() - 1; i >= 0; --i) {
    const i64 at = index % s.batch_shape[i];
    index /= s.batch_shape[i];
    o.a += at * s.batch_a[i];
    o.b += at * s.batch_b[i];
    o.c += at * s.batch_c[i];
  }
  return o;
}

// A piece of a strided matrix becomes dense, in the order in which it lies in memory.
template <class S, class T>
blas::Matrix<T> pack(const S* from, i64 rows, i64 columns, const View2& v, bool conj, T* to) {
  const bool turned = std::abs(v.row_step) < std::abs(v.column_step);
  const i64 outer = turned ? columns : rows, inner = turned ? rows : columns;
  const i64 outer_step = turned ? v.column_step : v.row_step,
            inner_step = turned ? v.row_step : v.column_step;
  parallel_for(outer, std::max<i64>(1, 32768 / inner), [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i)
      for (i64 j = 0; j < inner; ++j) to[i * inner + j] = T(from[i * outer_step + j * inner_step]);
  });
  return {to, inner, turned, conj};
}

template <class S, class T>
void unpack(const T* from, i64 rows, i64 columns, const View2& v, const c128& beta, S* to) {
  T scale;
  if constexpr (is_complex_v<T>)
    scale = T(beta);
  else
    scale = static_cast<T>(beta.re);
  const bool add = beta != c128(0);
  parallel_for(rows, std::max<i64>(1, 32768 / columns), [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i)
      for (i64 j = 0; j < columns; ++j) {
        S& out = to[i * v.row_step + j * v.column_step];
        const T sum = from[i * columns + j];
        out = add ? S(sum + scale * T(out)) : S(sum);
      }
  });
}

template <class T>
T scalar(const c128& v) {
  if constexpr (is_complex_v<T>)
    return T(v);
  else
    return static_cast<T>(v.re);
}

// S is stored, T computed with (float for the half types).
template <class S, class T>
void gemm_one(const State& s, const S* a, const S* b, S* c, std::byte* slot) {
  T* const space_a = reinterpret_cast<T*>(slot);
  T* const space_b = reinterpret_cast<T*>(slot + s.bytes_a);
  T* const space_c = reinterpret_cast<T*>(slot + s.bytes_a + s.bytes_b);
  const T alpha = scalar<T>(s.alpha);
  for (i64 i = 0; i < s.m; i += s.block_m)
    for (i64 j = 0; j < s.n; j += s.block_n) {
      const i64 rows = std::min(s.block_m, s.m - i), columns = std::min(s.block_n, s.n - j);
      S* const out = c + i * s.c.row_step + j * s.c.column_step;
      for (i64 p = 0; p < s.k; p += s.block_k) {
        const i64 depth = std::min(s.block_k, s.k - p);
        const S* const from_a = a + i * s.a.row_step + p * s.a.column_step;
        const S* const from_b = b + p * s.b.row_step + j * s.b.column_step;
        blas::Matrix<T> ma, mb;
        T* to = space_c;
        i64 ld = columns;
        T beta = T(p == 0 ? 0 : 1);
        if constexpr (std::is_same_v<S, T>) {
          ma = {from_a, s.form_a.ld, s.form_a.turned, s.conj_a};
          mb = {from_b, s.form_b.ld, s.form_b.turned, s.conj_b};
          if (s.form_c.ld > 0) {
            to = out;
            ld = s.form_c.ld;
            if (p == 0) beta = scalar<T>(s.beta);
          }
        }
        if (s.form_a.ld == 0) ma = pack<S, T>(from_a, rows, depth, s.a, s.conj_a, space_a);
        if (s.form_b.ld == 0) mb = pack<S, T>(from_b, depth, columns, s.b, s.conj_b, space_b);
        blas::gemm<T>(rows, columns, depth, alpha, ma, mb, beta, to, ld);
      }
      if (s.form_c.ld == 0) unpack<S, T>(space_c, rows, columns, s.c, s.beta, out);
    }
}

// Whether the product is that of a matrix with its own transpose, large enough for BLAS to gain by
// half of the work.
template <class T>
bool is_symmetric(const State& s, const T* a, const T* b) {
  constexpr i64 fewest = 32;  // rows
  return a == b && s.m == s.n && s.m >= fewest && s.a.row_step == s.b.column_step &&
         s.a.column_step == s.b.row_step && s.beta == c128(0) && s.form_a.ld > 0 &&
         s.form_c.ld > 0 && s.m <= s.block_m && s.k <= s.block_k;
}

// One triangle is computed and mirrored.
template <class T>
void symmetric_one(const State& s, const T* a, T* c) {
  constexpr i64 tile = 32;
  const i64 ld = s.form_c.ld;
  for (i64 i = 0; i < s.m; ++i) std::fill_n(c + i * ld, i + 1, T(0));
  blas::syrk<T>(s.m, s.k, scalar<T>(s.alpha), {a, s.form_a.ld, s.form_a.turned, false}, c, ld);
  parallel_for((s.m - 1) / tile + 1, 8, [&](i64 begin, i64 end) {
    for (i64 i = begin * tile; i < std::min(end * tile, s.m); i += tile)
      for (i64 j = 0; j <= i; j += tile)
        for (i64 row = i; row < std::min(i + tile, s.m); ++row)
          for (i64 column = j; column < std::min(j + tile, row); ++column)
            c[column * ld + row] = c[row * ld + column];
  });
}

template <class T>
void gemv_one(const State& s, const T* a, const T* b, T* c) {
  const i64 step = s.m == 1 ? 1 : s.c.row_step;
  const T beta = scalar<T>(s.beta);
  for (i64 i = 0; i < s.m; ++i) c[i * step] = beta == T(0) ? T(0) : beta * c[i * step];
  blas::gemv<T>(s.m, s.k, scalar<T>(s.alpha), {a, s.form_a.ld, s.form_a.turned, s.conj_a}, b,
                s.b.row_step, c, step);
}

template <class T>
void dot_one(const State& s, const T* a, const T* b, T* c) {
  const T sum = scalar<T>(s.alpha) *
                blas::dot<T>(s.k, a, s.a.column_step, s.conj_a, b, s.b.row_step, s.conj_b);
  const T beta = scalar<T>(s.beta);
  *c = beta == T(0) ? sum : sum + beta * *c;
}

template <class T>
void few_one(const State& s, const T* a, const T* b, T* c) {
  const FewColumns args{
      s.n,        s.k,      s.a.row_step, s.b.column_step, s.c.row_step, s.c.column_step,
      s.alpha.re, s.beta.re};
  const i64 rows = std::max<i64>(2, (i64{1} << 15) / s.k);  // of a piece of work for a thread
  if (s.tasks > 1) return few_columns(args, a, b, c, 0, s.m);
  parallel_for((s.m - 1) / rows + 1, 1, [&](i64 begin, i64 end) {
    few_columns(args, a, b, c, begin * rows, std::min(end * rows, s.m));
  });
}

template <class S, class T>
void blas_one(const State& s, const S* a, const S* b, S* c, std::byte* slot) {
  if constexpr (std::is_same_v<S, T> && !is_complex_v<T>) {
    if (s.path == Path::few) return few_one<T>(s, a, b, c);
    if (s.path == Path::gemm && is_symmetric<T>(s, a, b)) return symmetric_one<T>(s, a, c);
  }
  if constexpr (std::is_same_v<S, T>) {
    if (s.path == Path::gemv) return gemv_one<T>(s, a, b, c);
    if (s.path == Path::dot) return dot_one<T>(s, a, b, c);
  }
  gemm_one<S, T>(s, a, b, c, slot);
}

template <class S, class T>
void run_blas(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const S* const a = static_cast<const S*>(launch.operand[s.exchanged ? 1 : 0]);
  const S* const b = static_cast<const S*>(launch.operand[s.exchanged ? 0 : 1]);
  S* const c = static_cast<S*>(launch.operand[2]);
  std::byte* const workspace = static_cast<std::byte*>(launch.workspace);
  auto range = [&](i64 begin, i64 end, std::byte* slot) {
    for (i64 i = begin; i < end; ++i) {
      const Offsets o = offsets_of(s, i);
      blas_one<S, T>(s, a + o.a, b + o.b, c + o.c, slot);
    }
  };
  std::optional<blas::SingleThread> alone;
  if (s.tasks > 1 || OneThread::here()) alone.emplace();
  if (s.tasks == 1) return range(0, s.batch, workspace);
  parallel_for(s.tasks, 1, [&](i64 begin, i64 end) {
    for (i64 t = begin; t < end; ++t)
      range(s.batch * t / s.tasks, s.batch * (t + 1) / s.tasks, workspace + t * s.slot_bytes());
  });
}

void run_loops(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const std::byte* const a = static_cast<const std::byte*>(launch.operand[s.exchanged ? 1 : 0]);
  const std::byte* const b = static_cast<const std::byte*>(launch.operand[s.exchanged ? 0 : 1]);
  std::byte* const c = static_cast<std::byte*>(launch.operand[2]);
  parallel_for(s.batch * s.m, s.grain, [&](i64 begin, i64 end) {
    while (begin < end) {
      const i64 index = begin / s.m, row = begin - index * s.m;
      const i64 rows = std::min(s.m - row, end - begin);
      const Offsets o = offsets_of(s, index);
      s.loop_fn(s.loop, a + o.a * s.element, b + o.b * s.element, c + o.c * s.element, row,
                row + rows);
      begin += rows;
    }
  });
}

void run_nothing(const void*, const Launch&) {}

RunFn blas_function(DType t) {
  switch (t) {
    case DType::f32: return run_blas<float, float>;
    case DType::f64: return run_blas<double, double>;
    case DType::c64: return run_blas<c64, c64>;
    case DType::c128: return run_blas<c128, c128>;
    case DType::f16: return run_blas<Half, float>;
    default: return run_blas<BFloat16, float>;
  }
}

void check(const MatmulSpec& spec) {
  const Layout &a = spec.a.layout, &b = spec.b.layout, &c = spec.out.layout;
  const i64 r = c.ndim();
  require<ShapeError>(r >= 2 && a.ndim() == r && b.ndim() == r, "matmul: operands of shapes ",
                      a.shape, " and ", b.shape, " for an output of shape ", c.shape,
                      "; all three need one rank of at least 2");
  bool ok = a.shape[r - 1] == b.shape[r - 2] && a.shape[r - 2] == c.shape[r - 2] &&
            b.shape[r - 1] == c.shape[r - 1];
  for (i64 i = 0; i + 2 < r; ++i) ok = ok && a.shape[i] == c.shape[i] && b.shape[i] == c.shape[i];
  require<ShapeError>(ok, "matmul: shapes ", a.shape, " and ", b.shape,
                      " do not give an output of shape ", c.shape);
  require<DTypeError>(spec.a.dtype == spec.out.dtype && spec.b.dtype == spec.out.dtype,
                      "matmul: operands of ", name(spec.a.dtype), " and ", name(spec.b.dtype),
                      " for an output of ", name(spec.out.dtype), "; the kernel takes one dtype");
}

View2 last_two(const Layout& l) {
  const i64 r = l.ndim();
  return {l.shape[r - 2], l.shape[r - 1], l.strides[r - 2], l.strides[r - 1]};
}

}  // namespace

Prepared prepare_matmul_cpu(const MatmulSpec& spec, Device device) {
  check(spec);
  if (spec.stored != MatmulSpec::Stored::all && is_inexact(spec.out.dtype) &&
      spec.out.layout.size() > 0)
    return prepare_triangle_cpu(spec, device);
  auto state = std::make_shared<State>();
  State& s = *state;
  s.a = last_two(spec.a.layout);
  s.b = last_two(spec.b.layout);
  s.c = last_two(spec.out.layout);
  s.m = s.c.rows;
  s.n = s.c.columns;
  s.k = s.a.columns;
  s.conj_a = spec.conj_a && is_complex(spec.a.dtype);
  s.conj_b = spec.conj_b && is_complex(spec.a.dtype);
  s.alpha = spec.alpha;
  s.beta = spec.beta;
  s.element = size_of(spec.out.dtype);
  merge_batch(s, spec);
  fold(s);
  // A row vector times a matrix, or an output that lies in columns: the transposed product.
  const Form out = form_of(s.c);
  if ((s.m == 1 && s.n > 1) || (out.ld > 0 && out.turned && s.n > 1)) turn(s);
  if (s.m < s.n) {  // a few rows are a few columns of the transposed product
    turn(s);
    if (!has_few_columns(s, spec.out.dtype)) turn(s);
  }
  s.form_a = form_of(s.a);
  s.form_b = form_of(s.b);
  s.form_c = form_of(s.c);
  if (s.form_c.turned) s.form_c = {};
  s.path = choose_path(s, spec.out.dtype);
  if (s.path == Path::gemm) plan_gemm(s, spec.out.dtype);
  plan_tasks(s);
  s.loop = {s.m,
            s.n,
            s.k,
            s.a.row_step,
            s.a.column_step,
            s.b.row_step,
            s.b.column_step,
            s.c.row_step,
            s.c.column_step,
            s.conj_a,
            s.conj_b,
            s.alpha,
            s.beta};
  s.loop_fn = loop_product(spec.out.dtype);
  Prepared p;
  p.workspace = s.tasks * s.slot_bytes();
  p.flops = (is_complex(spec.out.dtype) ? 8.0 : 2.0) * static_cast<double>(s.m) *
            static_cast<double>(s.n) * static_cast<double>(s.k) * static_cast<double>(s.batch);
  p.task.run = s.path == Path::nothing ? run_nothing
               : s.path == Path::loops ? run_loops
                                       : blas_function(spec.out.dtype);
  p.task.state = std::move(state);
  return p;
}

}  // namespace tessera
