// SPDX-License-Identifier: Apache-2.0
// tessera_bench [out.json [part...]]: every figure beside its peer, as a table and as JSON; all
// parts, or those that are named.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "ratio.hpp"
#include "tessera/device/threads.hpp"

namespace {

struct Part {
  std::string_view name;
  void (*run)();
};

}  // namespace

int main(int argc, char** argv) {
  using namespace tessera::bench;
  std::printf("%d threads; speed = time of the peer / our time\n", tessera::num_threads());
  constexpr Part parts[] = {
      {"memory", bench_memory},     {"matmul", bench_matmul}, {"linalg", bench_linalg},
      {"bits", bench_bits},         {"fft", bench_fft},       {"chain", bench_chain},
      {"tiles", bench_tiles},       {"device", bench_device}, {"cuda_algebra", bench_cuda_algebra},
      {"dispatch", bench_dispatch}, {"solve", bench_solve},   {"split", bench_split}};
  for (const Part& part : parts) {
    const auto named = [&](const char* text) { return part.name == text; };
    if (argc <= 2 || std::any_of(argv + 2, argv + argc, named)) part.run();
  }
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
