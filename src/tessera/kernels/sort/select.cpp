// SPDX-License-Identifier: Apache-2.0
// Note [selection by samples]: a few items, chosen at random and sorted, say between which two the
// wanted one lies almost certainly. One pass without a branch counts what lies before them and
// keeps what lies between, a tenth of many. So it goes on until few are left, which are sorted.
// Where the samples were wrong, or most items are equal, std::nth_element does it.
#include "tessera/kernels/sort/select.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>
#include <vector>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/sort/side_by_side.hpp"
#include "tessera/kernels/sort/sort_keys.hpp"

namespace tessera {
namespace {

constexpr i64 few = 96;              // items that are sorted
constexpr i64 most_sorted = 4096;    // items of a line that wide registers sort
constexpr i64 line_grain = 1 << 14;  // items for a thread

template <class K>
void nth_items(K* x, i64 n, std::span<const i64> places, K* found) {
  i64 begin = 0;
  for (std::size_t j = 0; j < places.size(); ++j) {
    std::nth_element(x + begin, x + places[j], x + n,
                     [](const K& a, const K& b) { return before(a, b); });
    found[j] = x[places[j]];
    begin = places[j];
  }
}

// Bounds between which items first ... last of n lie, as far as samples can tell.
template <class K, class Item>
std::pair<K, K> bounds_by_samples(const Item& item, i64 n, i64 first, i64 last) {
  constexpr i64 most = 1024;
  const i64 m = std::clamp<i64>(n / 16, 32, most);
  K sample[most], scratch[most];
  std::uint64_t state = 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(n);
  for (i64 i = 0; i < m; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    sample[i] = item(static_cast<i64>((state >> 33) % static_cast<std::uint64_t>(n)));
  }
  sort_row(sample, scratch, m);
  const double share = static_cast<double>(m) / static_cast<double>(n),
               doubt = 1.5 * std::sqrt(static_cast<double>(m));
  const auto low = static_cast<i64>(std::floor(static_cast<double>(first) * share - doubt)),
             high = static_cast<i64>(std::ceil(static_cast<double>(last) * share + doubt));
  return {low < 0 ? K(0) : sample[std::min(low, m - 1)],
          high >= m ? K(~K(0)) : sample[std::max<i64>(high, 0)]};
}

// Keeps the items between the bounds in `to`; gives how many lie before them. `kept` counts them.
template <class K, class Item>
i64 filter(const Item& item, i64 n, K low, K high, K* to, i64& kept) {
  i64 below = 0, k = 0;
  const K width = static_cast<K>(high - low);
  for (i64 i = 0; i < n; ++i) {
    const K key = item(i);
    to[k] = key;
    k += static_cast<K>(key - low) <= width;
    below += key < low;
  }
  kept = k;
  return below;
}

// Places that lie close together, among items that `item` gives; `room` holds n keys.
// False: the bounds did not hold what was looked for.
template <class K, class Item>
bool select_group(const Item& item, i64 n, std::span<const i64> places, K* room, K* found) {
  i64 before_all = 0, left = n;
  bool copied = false;
  while (left > few || !copied) {
    const i64 first = places.front() - before_all, last = places.back() - before_all;
    i64 kept = 0, below = 0;
    K low = 0, high = static_cast<K>(~K(0));
    if (left > few)
      std::tie(low, high) =
          copied ? bounds_by_samples<K>([&](i64 i) { return room[i]; }, left, first, last)
                 : bounds_by_samples<K>(item, left, first, last);
    below = copied ? filter([&](i64 i) { return room[i]; }, left, low, high, room, kept)
                   : filter(item, left, low, high, room, kept);
    copied = true;
    if (first < below || last >= below + kept) return false;
    before_all += below;
    if (low == high) {
      std::fill(found, found + places.size(), low);
      return true;
    }
    const bool stuck = kept > left / 4 * 3;
    left = kept;
    if (stuck && left > few) break;
  }
  std::vector<i64> inside(places.begin(), places.end());
  for (i64& p : inside) p -= before_all;
  nth_items<K>(room, left, inside, found);
  return true;
}

template <class T>
void select_line(const T* x, i64 n, std::span<const i64> places, typename SortKey<T>::Key* room,
                 typename SortKey<T>::Key* found) {
  using S = SortKey<T>;
  using K = typename S::Key;
  const auto item = [&](i64 i) { return S::key(x[i], false); };
  if constexpr (std::is_unsigned_v<K>) {
    if (n <= most_sorted && sorts_in_wide_registers(sizeof(K))) {
      for (i64 i = 0; i < n; ++i) room[i] = item(i);
      sort_row(room, room + n, n);
      for (std::size_t j = 0; j < places.size(); ++j) found[j] = room[places[j]];
      return;
    }
    if (n > few && static_cast<i64>(places.size()) <= 16) {
      bool all = true;
      for (std::size_t j = 0; j < places.size() && all;) {
        std::size_t end = j + 1;
        while (end < places.size() && places[end] - places[j] <= n / 64) ++end;
        if (end == j + 1 && places[j] == n - 1) {  // the last: whether there are NaNs
          K most = 0;
          for (i64 i = 0; i < n; ++i) most = std::max(most, item(i));
          found[j] = most;
        } else {
          all = select_group<K>(item, n, places.subspan(j, end - j), room, found + j);
        }
        j = end;
      }
      if (all) return;
    }
  }
  for (i64 i = 0; i < n; ++i) room[i] = item(i);
  nth_items<K>(room, n, places, found);
}

// Whether lines are many enough, and short enough, to be sorted side by side.
bool are_short(i64 lines, i64 n, i64 step, i64 key_bytes) {
  return n <= longest_side_by_side && 2 * lines * key_bytes >= 64 &&
         !(step == 1 && sorts_in_wide_registers(key_bytes));
}

// See Note [lines side by side]; along the last axis.
template <class T>
void select_side_by_side(const Array& x, std::span<const i64> places, const Array& rows) {
  using K = typename SortKey<T>::Key;
  constexpr i64 width = lines_at_once<K>;
  const Layout& layout = x.layout();
  const i64 n = layout.shape.back(), wanted = static_cast<i64>(places.size()), lines = x.size() / n;
  const T* const from = x.host<T>();
  T* const to = rows.host<T>();
  const auto place = [&](i64 line) {
    i64 at = 0;
    for (i64 d = layout.ndim() - 2; d >= 0; --d) {
      at += line % layout.shape[d] * layout.strides[d];
      line /= layout.shape[d];
    }
    return at;
  };
  parallel_for(
      (lines + width - 1) / width, std::max<i64>(1, line_grain / (n * width)),
      [&](i64 begin, i64 end) {
        const auto block = std::make_unique_for_overwrite<K[]>(static_cast<std::size_t>(n * width));
        for (i64 first = begin * width; first < std::min(end * width, lines); first += width) {
          i64 at[width];
          const i64 count = std::min(width, lines - first);
          for (i64 c = 0; c < count; ++c) at[c] = place(first + c);
          load_side_by_side<T>(from, {at, static_cast<std::size_t>(count)}, layout.strides.back(),
                               n, block.get());
          sort_side_by_side(block.get(), n);
          for (i64 c = 0; c < count; ++c)
            for (i64 j = 0; j < wanted; ++j)
              to[(first + c) * wanted + j] = SortKey<T>::value(
                  block[static_cast<std::size_t>(places[static_cast<std::size_t>(j)] * width + c)]);
        }
      });
}

// Lines along the last axis, each dense.
Array dense_lines(const Array& x, i64 axis) { return x.swap_axes(axis, -1).contiguous(); }

}  // namespace

Array entries_in_order(const Array& x, i64 axis, std::span<const i64> places) {
  const Array turned = x.swap_axes(axis, -1);
  const i64 n = turned.shape(turned.ndim() - 1), wanted = static_cast<i64>(places.size());
  Shape shape = turned.shape();
  shape.back() = wanted;
  const Array rows = empty_dense(shape, x.dtype());
  if (rows.size() == 0) return rows.swap_axes(axis, -1);
  dispatch<TESSERA_ALL_TYPES>(x.dtype(), "select", [&]<class T>() {
    using K = typename SortKey<T>::Key;
    if constexpr (std::is_unsigned_v<K>)
      if (are_short(rows.size() / wanted, n, turned.layout().strides.back(), sizeof(K)))
        return select_side_by_side<T>(turned, places, rows);
    const Array lines = turned.contiguous();
    const T* from = static_cast<const T*>(lines.host_data());
    T* to = static_cast<T*>(rows.host_data());
    const i64 room_size = n + std::min(n, most_sorted);
    parallel_for(rows.size() / wanted, std::max<i64>(1, line_grain / n), [&](i64 begin, i64 end) {
      const auto room = std::make_unique_for_overwrite<K[]>(static_cast<std::size_t>(room_size));
      std::vector<K> found(static_cast<std::size_t>(wanted));
      for (i64 l = begin; l < end; ++l) {
        select_line(from + l * n, n, places, room.get(), found.data());
        for (i64 j = 0; j < wanted; ++j)
          to[l * wanted + j] = SortKey<T>::value(found[static_cast<std::size_t>(j)]);
      }
    });
  });
  return rows.swap_axes(axis, -1);
}

namespace {

// The k first of a line by key and index, while it is read: what comes later must be better than
// the worst of those that are kept.
template <class K>
class Kept {
 public:
  struct Entry {
    K key;
    i64 index;
    bool operator<(const Entry& o) const {
      return key < o.key || (key == o.key && index < o.index);
    }
  };
  explicit Kept(i64 k) : k_(k), entries_(static_cast<std::size_t>(4 * k)) {}

  template <class Key>
  void read(const Key& key, i64 n) {
    constexpr i64 block = 16;
    i64 i = 0;
    count_ = 0;
    for (; i < std::min(k_, n); ++i) entries_[static_cast<std::size_t>(count_++)] = {key(i), i};
    shrink();
    for (; i < n; i += block) {
      const i64 end = std::min(i + block, n);
      K hit = 0;
      for (i64 j = i; j < end; ++j) hit = static_cast<K>(hit | (key(j) < worst_));
      if (hit == 0) continue;
      for (i64 j = i; j < end; ++j)
        if (const K v = key(j); v < worst_) {
          entries_[static_cast<std::size_t>(count_++)] = {v, j};
          if (count_ == static_cast<i64>(entries_.size())) shrink();
        }
    }
    std::sort(entries_.begin(), entries_.begin() + count_);
  }
  i64 index(i64 j) const { return entries_[static_cast<std::size_t>(j)].index; }

 private:
  void shrink() {
    const auto last = entries_.begin() + (k_ - 1);
    std::nth_element(entries_.begin(), last, entries_.begin() + count_);
    worst_ = last->key;
    count_ = k_;
  }
  i64 k_, count_ = 0;
  K worst_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace

Best best_entries(const Array& x, i64 k, i64 axis, bool largest) {
  const Array lines = dense_lines(x, axis);
  const i64 n = lines.shape(lines.ndim() - 1);
  Shape shape = lines.shape();
  shape.back() = k;
  const Array values = empty_dense(shape, x.dtype()), indices = empty_dense(shape, DType::i64);
  dispatch<TESSERA_ALL_TYPES>(x.dtype(), "topk", [&]<class T>() {
    using K = typename SortKey<T>::Key;
    if constexpr (std::is_unsigned_v<K>) {
      const T* from = static_cast<const T*>(lines.host_data());
      T* to = static_cast<T*>(values.host_data());
      i64* at = indices.host<i64>();
      const K turn = largest ? static_cast<K>(~K(0)) : K(0);
      parallel_for(values.size() / k, std::max<i64>(1, line_grain / n), [&](i64 begin, i64 end) {
        Kept<K> kept(k);
        for (i64 l = begin; l < end; ++l) {
          const T* line = from + l * n;
          kept.read([&](i64 i) { return static_cast<K>(SortKey<T>::key(line[i], true) ^ turn); },
                    n);
          for (i64 j = 0; j < k; ++j) {
            at[l * k + j] = kept.index(j);
            to[l * k + j] = line[kept.index(j)];
          }
        }
      });
    } else {
      throw DTypeError("topk: complex numbers are sorted");
    }
  });
  return {values.swap_axes(axis, -1), indices.swap_axes(axis, -1)};
}

}  // namespace tessera
