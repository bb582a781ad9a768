// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/cuda/check.hpp"
#include "tessera/kernels/sleep/sleep.hpp"

namespace tessera {
namespace {

// One thread watches the device's clock of nanoseconds; it leaves its multiprocessor to others
// while it sleeps.
__global__ void sleep_kernel(unsigned long long nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    __nanosleep(1000);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

}  // namespace

Prepared prepare_sleep_cuda(const SleepSpec& spec, Device) {
  Prepared p;
  p.task.state = std::make_shared<const double>(spec.seconds);
  p.task.run = [](const void* state, const Launch& launch) {
    const double seconds = *static_cast<const double*>(state);
    sleep_kernel<<<1, 1, 0, static_cast<cudaStream_t>(launch.stream)>>>(
        static_cast<unsigned long long>(seconds * 1e9));
    check(cudaGetLastError(), "launching a sleep");
  };
  return p;
}

}  // namespace tessera
