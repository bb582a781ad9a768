// SPDX-License-Identifier: Apache-2.0
// Element-wise work on large arrays against the machine's own rates: memcpy and a triad on all
// threads.
#include <cstring>

#include "ratio.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {

void bench_memory() {
  const i64 n = i64{1} << 25;  // 128 MiB of float32: far beyond the caches
  const Array a = full({n}, Value(1.5), DType::f32), b = full({n}, Value(2.5), DType::f32),
              c = zeros({n}, DType::f32);
  const float *pa = a.host<float>(), *pb = b.host<float>();
  float* pc = c.host<float>();
  compare(
      "copy 128 MiB", "memcpy, same threads", 0.9, [&] { c.copy_from(a); },
      [&] {
        parallel_for(n, n / (4 * num_threads()), [&](i64 begin, i64 end) {
          std::memcpy(pc + begin, pa + begin,
                      static_cast<std::size_t>(end - begin) * sizeof(float));
        });
      });
  const std::array<ArrayOrValue, 2> operands{a, b};
  compare(
      "add 128 MiB", "triad loop, same threads", 0.9,
      [&] { elementwise(ElementOp::add, operands, c); },
      [&] {
        parallel_for(n, n / (4 * num_threads()), [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; ++i) pc[i] = pa[i] + pb[i];
        });
      });
}

}  // namespace tessera::bench
