// SPDX-License-Identifier: Apache-2.0
// Note [merging in place]: two neighbouring runs of which one fits into the room are merged through
// it. Longer ones are cut where the first half of the result ends; turning the middle round puts
// that half in front, as two shorter runs, and the other behind it. The merges that are left do not
// depend on one another.
#include "tessera/kernels/sort/in_place.hpp"

#include <algorithm>
#include <vector>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/sort/sort.hpp"
#include "tessera/kernels/sort/sort_keys.hpp"

namespace tessera {
namespace {

template <class E>
struct Runs {  // two sorted runs, one behind the other
  E* first;
  i64 left, right;
};

// See Note [merging in place]; `most` items fit into the room of a merge.
template <class E>
void cut(const Runs<E>& runs, i64 most, std::vector<Runs<E>>& merges) {
  const auto [a, na, nb] = runs;
  if (na == 0 || nb == 0 || !item_before(a[na], a[na - 1])) return;
  if (std::min(na, nb) <= most) {
    merges.push_back(runs);
    return;
  }
  const i64 half = (na + nb) / 2, a0 = merge_split(a, na, a + na, nb, half), b0 = half - a0;
  std::rotate(a + a0, a + na, a + na + b0);
  cut({a, a0, b0}, most, merges);
  cut({a + half, na - a0, nb - b0}, most, merges);
}

// Through `room`, which takes the shorter run; equal items of the left run go first.
template <class E>
void merge_through(const Runs<E>& runs, E* room) {
  E *const a = runs.first, *const b = a + runs.left, *const end = b + runs.right;
  if (runs.left <= runs.right) {
    const E *x = room, *const x_end = std::copy(a, b, room), *y = b;
    E* to = a;
    while (x < x_end && y < end) {
      const bool second = item_before(*y, *x);
      *to++ = second ? *y : *x;
      y += second;
      x += !second;
    }
    std::copy(x, x_end, to);
    return;
  }
  const E *y = std::copy(b, end, room), *x = b;  // behind what is left of either run
  E* to = end;
  while (x > a && y > room) {
    const bool first = item_before(y[-1], x[-1]);
    *--to = first ? x[-1] : y[-1];
    x -= first;
    y -= !first;
  }
  std::copy_backward(static_cast<const E*>(room), y, to);
}

template <class E>
void merge_all(E* x, i64 n, i64 run, E* room, i64 fit) {
  const i64 threads = num_threads(), share = std::max<i64>(1, fit / threads);
  for (; run < n; run *= 2) {
    std::vector<Runs<E>> merges;
    for (i64 i = 0; i + run < n; i += 2 * run)
      cut({x + i, run, std::min(run, n - i - run)}, share, merges);
    const i64 jobs = static_cast<i64>(merges.size()), tasks = std::min(jobs, threads);
    parallel_for(tasks, 1, [&](i64 first, i64 last) {
      for (i64 t = first; t < last; ++t)
        for (i64 j = t; j < jobs; j += tasks)
          merge_through(merges[static_cast<std::size_t>(j)], room + t * share);
    });
  }
}

}  // namespace

void sort_in_place(const Array& x, i64 room) {
  require<ShapeError>(x.ndim() == 1 && x.is_contiguous() && x.device() == cpu,
                      "sort_in_place: an array of shape ", x.shape(), " on ", x.device(),
                      ", expected a dense row on the cpu");
  // A piece is copied into two thirds of the room, and sorted with the last one.
  const i64 n = x.size(), run = std::max<i64>(2 * num_threads(), room / size_of(x.dtype()) / 3),
            fit = std::min(2 * run, n);
  const Array space = empty_dense({fit}, x.dtype());
  for (i64 begin = 0; begin < n; begin += run) {
    const Array piece = x.slice(0, begin, std::min(begin + run, n)),
                from = space.slice(0, 0, piece.size());
    from.copy_from(piece);
    launch_now(&KernelTable::sort, "sort", SortSpec{operand_of(from), operand_of(piece), false},
               cpu, {&from, &piece});
  }
  if (run >= n) return;
  dispatch<TESSERA_ALL_TYPES>(x.dtype(), "sort_in_place", [&]<class T>() {
    merge_all(static_cast<Valued<T>*>(x.host_data()), n, run,
              static_cast<Valued<T>*>(space.host_data()), fit);
  });
}

}  // namespace tessera
