// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/io/io_ring.hpp"

#ifdef TESSERA_URING
#include <liburing.h>

#include <sched.h>

#include <cassert>
#include <cstring>
#endif

#include "tessera/base/text.hpp"

namespace tessera::store {

#ifdef TESSERA_URING

struct IoRing::Impl {
  io_uring ring{};
  bool open = false;
  ~Impl() {
    if (open) io_uring_queue_exit(&ring);
  }
};

std::unique_ptr<IoRing> IoRing::open(std::string& why) {
  auto impl = std::make_unique<Impl>();
  if (const int failed = io_uring_queue_init(entries, &impl->ring, 0); failed < 0) {
    why = cat("the kernel refuses it: ", std::strerror(-failed));
    return nullptr;
  }
  impl->open = true;
  io_uring_probe* probe = io_uring_get_probe_ring(&impl->ring);
  const bool able = probe && io_uring_opcode_supported(probe, IORING_OP_READ) &&
                    io_uring_opcode_supported(probe, IORING_OP_WRITE);
  if (probe) io_uring_free_probe(probe);
  if (able) return std::unique_ptr<IoRing>(new IoRing(std::move(impl)));
  why = "the kernel is too old for it";
  return nullptr;
}

void IoRing::push(int file, bool write, void* memory, i64 bytes, i64 offset, void* who) {
  io_uring_sqe* entry = io_uring_get_sqe(&impl_->ring);
  assert(entry);
  const auto length = static_cast<unsigned>(bytes);
  const auto at = static_cast<std::uint64_t>(offset);
  if (!who)
    io_uring_prep_nop(entry);
  else if (write)
    io_uring_prep_write(entry, file, memory, length, at);
  else
    io_uring_prep_read(entry, file, memory, length, at);
  io_uring_sqe_set_data(entry, who);
  while (io_uring_submit(&impl_->ring) < 0) sched_yield();  // the kernel is short of memory
}

std::pair<void*, i64> IoRing::wait() {
  io_uring_cqe* entry = nullptr;
  while (io_uring_wait_cqe(&impl_->ring, &entry) != 0) {  // EINTR
  }
  const std::pair<void*, i64> out{io_uring_cqe_get_data(entry), entry->res};
  io_uring_cqe_seen(&impl_->ring, entry);
  return out;
}

#else

struct IoRing::Impl {};
std::unique_ptr<IoRing> IoRing::open(std::string& why) {
  why = "the library was built without liburing";
  return nullptr;
}
void IoRing::push(int, bool, void*, i64, i64, void*) {}
std::pair<void*, i64> IoRing::wait() { return {}; }

#endif

IoRing::IoRing(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
IoRing::~IoRing() = default;

}  // namespace tessera::store
