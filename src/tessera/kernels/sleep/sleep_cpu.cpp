// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>

#include "tessera/kernels/sleep/sleep.hpp"

namespace tessera {

Prepared prepare_sleep_cpu(const SleepSpec& spec, Device) {
  Prepared p;
  p.task.state = std::make_shared<const double>(spec.seconds);
  p.task.run = [](const void* state, const Launch&) {
    std::this_thread::sleep_for(std::chrono::duration<double>(*static_cast<const double*>(state)));
  };
  return p;
}

}  // namespace tessera
