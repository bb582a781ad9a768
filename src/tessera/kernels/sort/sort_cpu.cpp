// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/sort/order_row.hpp"
#include "tessera/kernels/sort/side_by_side.hpp"
#include "tessera/kernels/sort/sort.hpp"
#include "tessera/kernels/sort/sort_keys.hpp"
#include "tessera/kernels/sort/sort_numbers.hpp"

namespace tessera {
namespace {

constexpr i64 long_row = 1 << 16;  // items from which one row is worth several threads
// Of lines that are fetched together: where networks over several lines are faster, and what leaves
// them in the cache.
constexpr i64 shortest_in_turn = 64, longest_in_turn = 8192;

struct State {
  Shape shape;  // of the rows
  Strides in, out;
  i64 rows = 1, n = 0, in_step = 0, out_step = 0;
  i64 tasks = 1, slot_bytes = 0;
  bool whole_rows = true;  // each row on one thread
  bool in_output = false;  // values: the output holds the keys
  i64 at_once = 1;         // rows, side by side
  bool in_turn = false;    // which are fetched together and sorted one after the other
};

// See Note [numbers in registers].
template <class T>
void sort_numbers(const State& s, const T* in, T* out, std::byte* slot) {
  T* const x = s.in_output ? out : reinterpret_cast<T*>(slot);
  T* const scratch = s.in_output ? reinterpret_cast<T*>(slot) : x + s.n;
  std::mutex all;
  Taken<T> taken;
  over_row(!s.whole_rows, s.n, [&](i64 begin, i64 end) {
    const Taken<T> part = take_numbers(in + begin * s.in_step, s.in_step, x + begin, end - begin);
    const std::lock_guard lock(all);
    taken.add(part);
  });
  const auto sort_piece = [&taken](T* piece, T* room, i64 n) { sort_taken(piece, room, n, taken); };
  if (s.whole_rows)
    sort_piece(x, scratch, s.n);
  else
    sort_long_row(reinterpret_cast<Valued<T>*>(x), reinterpret_cast<Valued<T>*>(scratch), s.n,
                  [&](Valued<T>* piece, Valued<T>* room, i64 n) {
                    sort_piece(&piece->value, &room->value, n);
                  });
  const Equals equals = taken.special ? equals_among<T>(in, s.in_step, x, s.n) : Equals{};
  if (!s.in_output)
    over_row(!s.whole_rows, s.n, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) out[i * s.out_step] = x[i];
    });
  restore(equals, in, s.in_step, out, s.out_step, s.n);
}

template <class T>
void sort_values(const State& s, const T* in, T* out, std::byte* slot) {
  using S = SortKey<T>;
  using K = typename S::Key;
  static_assert(sizeof(K) == sizeof(T));
  if constexpr (fits_registers<T>)
    if (sorts_in_wide_registers(sizeof(T))) return sort_numbers(s, in, out, slot);
  K* const keys = s.in_output ? reinterpret_cast<K*>(out) : reinterpret_cast<K*>(slot);
  K* const scratch = s.in_output ? reinterpret_cast<K*>(slot) : keys + s.n;
  over_row(!s.whole_rows, s.n, [&](i64 begin, i64 end) {
    wide([&] {
      for (i64 i = begin; i < end; ++i) keys[i] = S::key(in[i * s.in_step], false);
    });
  });
  s.whole_rows ? sort_row(keys, scratch, s.n) : sort_long_row(keys, scratch, s.n, sort_row<K>);
  const Equals equals = equals_in<T>(keys, 1, s.n);
  over_row(!s.whole_rows, s.n, [&](i64 begin, i64 end) {
    wide([&] {
      for (i64 i = begin; i < end; ++i) out[i * s.out_step] = S::value(keys[i]);
    });
  });
  restore(equals, in, s.in_step, out, s.out_step, s.n);
}

// Lines that share lines of the cache are fetched together; then each is sorted by itself.
template <class T>
void sort_lines_in_turn(const State& s, const T* in, std::span<const i64> from, T* out,
                        std::span<const i64> to, std::byte* slot) {
  using K = typename SortKey<T>::Key;
  T* const lines = reinterpret_cast<T*>(slot);
  T* const scratch = lines + s.at_once * s.n;
  const i64 count = static_cast<i64>(from.size()), n = s.n;
  const bool wide_now = sorts_in_wide_registers(sizeof(T));  // false: prepared for another host
  if (wide_now && are_neighbours(from, lines_at_once<T>))
    columns_to_lines(reinterpret_cast<const K*>(in + from[0]), s.in_step, n,
                     reinterpret_cast<K*>(lines));
  else
    for (i64 i = 0; i < n; ++i)
      for (i64 c = 0; c < count; ++c)
        lines[c * n + i] = in[from[static_cast<std::size_t>(c)] + i * s.in_step];
  Equals equals[lines_at_once<T>];
  for (i64 c = 0; c < count; ++c) {
    T* const x = lines + c * n;
    const Taken<T> taken = take_numbers(x, 1, x, n);
    sort_taken(x, scratch, n, taken);
    if (taken.special)
      equals[c] = equals_among<T>(in + from[static_cast<std::size_t>(c)], s.in_step, x, n);
  }
  if (wide_now && are_neighbours(to, lines_at_once<T>))
    lines_to_columns(reinterpret_cast<const K*>(lines), n, reinterpret_cast<K*>(out + to[0]),
                     s.out_step);
  else
    for (i64 i = 0; i < n; ++i)
      for (i64 c = 0; c < count; ++c)
        out[to[static_cast<std::size_t>(c)] + i * s.out_step] = lines[c * n + i];
  for (std::size_t c = 0; c < from.size(); ++c)
    restore(equals[c], in + from[c], s.in_step, out + to[c], s.out_step, n);
}

// See Note [lines side by side].
template <class T>
void sort_several_values(const State& s, const T* in, std::span<const i64> from, T* out,
                         std::span<const i64> to, std::byte* slot) {
  using K = typename SortKey<T>::Key;
  if constexpr (fits_registers<T>)
    if (s.in_turn) return sort_lines_in_turn(s, in, from, out, to, slot);
  if constexpr (std::is_unsigned_v<K>) {
    K* const block = reinterpret_cast<K*>(slot);
    load_side_by_side<T>(in, from, s.in_step, s.n, block);
    sort_side_by_side(block, s.n);
    store_side_by_side<T>(block, s.n, out, to, s.out_step);
    if constexpr (!SortKey<T>::exact)
      for (std::size_t c = 0; c < from.size(); ++c)
        restore(equals_in<T>(block + c, lines_at_once<K>, s.n), in + from[c], s.in_step,
                out + to[c], s.out_step, s.n);
  }
}

// I holds the positions of keys that compare.
template <class T, class I>
void sort_positions(const State& s, const T* in, i64* out, std::byte* slot) {
  using K = typename SortKey<T>::Key;
  if constexpr (std::is_unsigned_v<K>) {
    Word* const words = reinterpret_cast<Word*>(slot);
    order_row(Row<T>{in, s.in_step, out, s.out_step}, s.n, words, words + s.n, !s.whole_rows);
  } else {
    using E = Placed<K, I>;
    E* const items = reinterpret_cast<E*>(slot);
    E* const scratch = items + s.n;
    over_row(!s.whole_rows, s.n, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i)
        items[i] = {SortKey<T>::key(in[i * s.in_step], true), static_cast<I>(i)};
    });
    s.whole_rows ? sort_row(items, scratch, s.n) : sort_long_row(items, scratch, s.n, sort_row<E>);
    over_row(!s.whole_rows, s.n, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) out[i * s.out_step] = static_cast<i64>(items[i].position);
    });
  }
}

template <class T, class Out, auto sort_one>
void run(const void* state, const Launch& launch) {
  const State& s = *static_cast<const State*>(state);
  const T* const in = static_cast<const T*>(launch.operand[0]);
  Out* const out = static_cast<Out*>(launch.operand[1]);
  std::byte* const workspace = static_cast<std::byte*>(launch.workspace);
  const auto place = [&](i64 row, const Strides& strides) {
    i64 at = 0;
    for (i64 d = s.shape.size() - 1; d >= 0; --d) {
      at += row % s.shape[d] * strides[d];
      row /= s.shape[d];
    }
    return at;
  };
  auto rows = [&](i64 begin, i64 end, std::byte* slot) {
    if (s.at_once == 1) {
      for (i64 r = begin; r < end; ++r)
        sort_one(s, in + place(r, s.in), out + place(r, s.out), slot);
    } else if constexpr (std::is_same_v<T, Out>) {
      i64 from[64], to[64];
      for (i64 r = begin; r < end; r += s.at_once) {
        const i64 count = std::min(s.at_once, end - r);
        for (i64 c = 0; c < count; ++c) {
          from[c] = place(r + c, s.in);
          to[c] = place(r + c, s.out);
        }
        const auto many = static_cast<std::size_t>(count);
        sort_several_values<T>(s, in, {from, many}, out, {to, many}, slot);
      }
    }
  };
  if (s.tasks == 1) return rows(0, s.rows, workspace);
  const i64 blocks = (s.rows + s.at_once - 1) / s.at_once;
  auto bound = [&](i64 t) {
    return std::min((blocks / s.tasks * t + std::min(t, blocks % s.tasks)) * s.at_once, s.rows);
  };
  parallel_for(s.tasks, 1, [&](i64 first, i64 last) {
    for (i64 t = first; t < last; ++t) rows(bound(t), bound(t + 1), workspace + t * s.slot_bytes);
  });
}

void run_nothing(const void*, const Launch&) {}

struct Chosen {
  RunFn run = nullptr;
  i64 item = 0;     // bytes
  i64 at_once = 1;  // how many short rows are sorted side by side
};
Chosen choose(DType dtype, bool positions, i64 n) {
  Chosen c;
  dispatch<TESSERA_ALL_TYPES>(dtype, "sort", [&]<class T>() {
    using K = typename SortKey<T>::Key;
    using Short = std::uint32_t;
    if (!positions)
      c = {run<T, T, sort_values<T>>, sizeof(K), std::is_unsigned_v<K> ? lines_at_once<K> : 1};
    else if constexpr (std::is_unsigned_v<K>)
      c = {run<T, i64, sort_positions<T, Word>>, sizeof(Word), 1};
    else if (n <= i64{0xffffffff})
      c = {run<T, i64, sort_positions<T, Short>>, sizeof(Placed<K, Short>), 1};
    else
      c = {run<T, i64, sort_positions<T, i64>>, sizeof(Placed<K, i64>), 1};
  });
  return c;
}

}  // namespace

Prepared prepare_sort_cpu(const SortSpec& spec, Device) {
  const Layout &in = spec.in.layout, &out = spec.out.layout;
  require<ShapeError>(in.ndim() > 0 && in.shape == out.shape, "sort: an input of shape ", in.shape,
                      " and an output of shape ", out.shape,
                      "; both need one shape of rank 1 or more");
  const DType expected = spec.positions ? DType::i64 : spec.in.dtype;
  require<DTypeError>(spec.out.dtype == expected, "sort: the output is ", name(spec.out.dtype),
                      ", expected ", name(expected));
  Prepared p;
  if (in.size() == 0) {
    p.task.run = run_nothing;
    return p;
  }
  auto s = std::make_shared<State>();
  const i64 last = in.ndim() - 1;
  for (i64 d = 0; d < last; ++d) {
    s->rows *= in.shape[d];
    if (in.shape[d] == 1) continue;
    s->shape.push_back(in.shape[d]);
    s->in.push_back(in.strides[d]);
    s->out.push_back(out.strides[d]);
  }
  s->n = in.shape[last];
  s->in_step = in.strides[last];
  s->out_step = out.strides[last];
  const Chosen c = choose(spec.in.dtype, spec.positions, s->n);
  const i64 threads = num_threads();
  s->whole_rows = threads == 1 || s->rows >= threads || s->n < long_row;
  s->in_output = !spec.positions && s->out_step == 1;
  const bool in_registers = c.at_once > 1 && sorts_in_wide_registers(c.item);
  s->in_turn = in_registers && s->n > shortest_in_turn;
  if (s->n > 1 && s->n <= (s->in_turn ? longest_in_turn : longest_side_by_side) &&
      2 * s->rows >= c.at_once && !(s->in_step == 1 && in_registers))
    s->at_once = c.at_once;
  const i64 items = s->at_once > 1 ? s->at_once + s->in_turn : s->in_output ? 1 : 2;
  s->slot_bytes = (items * s->n * c.item + 63) / 64 * 64;
  if (s->whole_rows) {
    const i64 most = s->slot_bytes > (1 << 20) ? threads : 4 * threads;
    s->tasks = std::clamp(s->rows * s->n / 4096, i64{1},
                          std::min(most, (s->rows + s->at_once - 1) / s->at_once));
  }
  p.workspace = s->tasks * s->slot_bytes;
  p.task.run = c.run;
  p.task.state = std::move(s);
  return p;
}

}  // namespace tessera
