// SPDX-License-Identifier: Apache-2.0
// tessera_bench [out.json]: every figure beside its peer, as a table and as JSON.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ratio.hpp"
#include "tessera/device/threads.hpp"

int main(int argc, char** argv) {
  using namespace tessera::bench;
  std::printf("%d threads; speed = time of the peer / our time\n", tessera::num_threads());
  bench_memory();
  bench_matmul();
  bench_linalg();
  bench_bits();
  bench_fft();
  bench_chain();
  bench_tiles();
  bench_device();
  bench_cuda_algebra();
  bench_solve();
  bench_split();
  if (argc < 2) return 0;
  nlohmann::json all = nlohmann::json::array();
  for (const Row& r : rows())
    all.push_back({{"name", r.name},
                   {"peer", r.peer},
                   {"ours_s", r.ours},
                   {"peer_s", r.theirs},
                   {"speed", r.speed},
                   {"goal", r.goal},
                   {"note", r.note}});
  std::ofstream(argv[1]) << all.dump(1) << "\n";
}
