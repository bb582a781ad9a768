// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/matmul/blas.hpp"

#include <mutex>

#include "tessera/device/threads.hpp"

namespace tessera::blas {
namespace {

// OpenBLAS has one number of threads for the process; this counts who wants it to be one.
struct Holders {
  std::mutex mutex;
  int count = 0;
};
Holders& holders() {
  static Holders* h = new Holders;  // leaked: streams may outlive statics
  return *h;
}

}  // namespace

SingleThread::SingleThread() {
  Holders& h = holders();
  std::lock_guard lock(h.mutex);
  if (h.count++ == 0) openblas_set_num_threads(1);
}

SingleThread::~SingleThread() {
  Holders& h = holders();
  std::lock_guard lock(h.mutex);
  if (--h.count == 0) openblas_set_num_threads(process_threads());
}

}  // namespace tessera::blas
