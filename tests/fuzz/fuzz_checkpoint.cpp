// SPDX-License-Identifier: Apache-2.0
// Mutates checkpoints of every solver and resumes them: an Error comes of it, or a result. Each
// case is told before it runs, so that a crash names it.   usage: fuzz_checkpoint [SECONDS [FIRST
// CASE [only [SOLVER]]]]
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "fuzz/checkpoints.hpp"

namespace tessera::fuzz {
namespace {

std::string own_folder() {
  // In memory where there is such a folder: the disk is not what is tested.
  const char* base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  const std::string folder = cat(base, "/tessera_fuzz_checkpoint_", static_cast<i64>(getpid()));
  std::filesystem::create_directories(folder);
  return folder;
}

// The case that runs, written where a crash leaves it.
void tell(const char* device, const char* solver, std::uint64_t number, const std::string& folder) {
  std::FILE* f = std::fopen((folder + "/case.txt").c_str(), "w");
  if (f == nullptr) return;
  std::fprintf(f, "%s, %s, case %llu\n", device, solver, static_cast<unsigned long long>(number));
  std::fclose(f);
}

int run(double seconds, std::uint64_t first, bool one, i64 only) {
  const std::string folder = own_folder();
  std::printf("fuzz_checkpoint: the case that runs is told in %s/case.txt\n", folder.c_str());
  std::fflush(stdout);
  const Device devices[] = {cpu, Device{Kind::sim, 0}};
  std::vector<Checkpoints> all;
  for (const Device d : devices) all.emplace_back(folder, d);
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t number = first, cases = 0, accepted = 0;
  do {
    for (i64 solver = only < 0 ? 0 : only; solver < (only < 0 ? all[0].count() : only + 1);
         ++solver) {
      const Checkpoints& c = all[number % 2];
      tell(number % 2 == 0 ? "cpu" : "sim:0", c.name(solver), number, folder);
      try {
        accepted += c.run(solver, number);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "%s, case %llu: no error of ours: %s\n", c.name(solver),
                     static_cast<unsigned long long>(number), e.what());
        return 1;
      }
      ++cases;
    }
    ++number;
  } while (!one && std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() <
                       seconds);
  std::filesystem::remove_all(folder);
  std::printf("fuzz_checkpoint: %llu cases of %lld solvers, %llu accepted, from case %llu\n",
              static_cast<unsigned long long>(cases), static_cast<long long>(all[0].count()),
              static_cast<unsigned long long>(accepted), static_cast<unsigned long long>(first));
  return 0;
}

}  // namespace
}  // namespace tessera::fuzz

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  return tessera::fuzz::run(seconds, first, argc > 3, argc > 4 ? std::atoll(argv[4]) : -1);
}
