// SPDX-License-Identifier: Apache-2.0
#pragma once
// The threads of the cpu device. Dynamic scheduling: an atomic index hands out chunks, the caller
// works too, nested calls run on the threads that are free and never deadlock, the first exception
// is rethrown in the caller after all chunks have stopped. As many threads as TESSERA_NUM_THREADS,
// OMP_NUM_THREADS, the affinity mask and the cgroup limit allow; OpenBLAS and FFTW are held to the
// same number. A number that was set (TESSERA_NUM_THREADS, config().num_threads, set_num_threads)
// is taken as it is. A forked child starts threads of its own when it needs them.
//   parallel_for(n, 1024, [&](i64 begin, i64 end) { for (i64 i = begin; i < end; ++i) y[i] =
//   f(x[i]); });

#include <type_traits>

#include "tessera/base/api.hpp"

namespace tessera {

TESSERA_API int num_threads();  // for the calling thread: 1 inside of OneThread
// While one lives, what its thread calls runs on that thread alone: a device that is one thread (a
// stream of a sim device) takes no more than its share. Nests.
class TESSERA_API OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  static bool here();  // on the calling thread
};
TESSERA_API int process_threads();  // num_threads() of everybody else
// ArgumentError below 0; 0 is one, the caller's own. Work in progress keeps its threads.
TESSERA_API void set_num_threads(int n);
// Holds OpenBLAS to num_threads(). Cheap when nothing changed: call it before BLAS and LAPACK. FFTW
// has no such limit of its own: whoever makes FFTW plans asks num_threads() for their number.
TESSERA_API void limit_library_threads();

namespace detail {
using ChunkFn = void (*)(void* body, i64 begin, i64 end);
TESSERA_API void parallel_for(i64 n, i64 grain, ChunkFn run, void* body);
}  // namespace detail

// body(begin, end) over disjoint chunks of [0, n). Chunks hold at least min_grain indices; ranges
// that fit in one chunk run in the caller without touching the pool.
template <class Body>
void parallel_for(i64 n, i64 min_grain, Body&& body) {
  if (n <= 0) return;
  if (n <= min_grain) {
    body(i64{0}, n);
    return;
  }
  using Plain = std::remove_reference_t<Body>;
  detail::parallel_for(
      n, min_grain, [](void* b, i64 begin, i64 end) { (*static_cast<Plain*>(b))(begin, end); },
      const_cast<std::remove_const_t<Plain>*>(&body));
}

}  // namespace tessera
