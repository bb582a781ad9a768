// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/io/io_engine.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/signals_blocked.hpp"
#include "tessera/base/trace.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/store/io/io_ring.hpp"

namespace tessera::store {
namespace {

constexpr int workers = 4;
constexpr i64 smallest_buffer = i64{64} << 10;

i64 now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int handle_of(const IoRequest& r) {
  const int direct = r.direct ? r.file->direct_handle() : -1;
  return direct >= 0 ? direct : r.file->handle();
}

i64 call(const IoRequest& r, i64 length) {
  const auto n = static_cast<std::size_t>(length);
  const i64 at = r.offset + r.moved;
  std::byte* memory = r.memory + r.moved;
  const auto got =
      r.write ? pwrite(handle_of(r), memory, n, at) : pread(handle_of(r), memory, n, at);
  return got < 0 ? -errno : got;
}

std::exception_ptr failure_of(const IoRequest& r, int reason) {
  std::string text = cat(r.write ? "cannot write " : "cannot read ", r.bytes - r.moved,
                         " bytes at offset ", r.offset + r.moved, r.write ? " of '" : " from '",
                         r.file->path(), "': ", std::strerror(reason));
  if (reason == ENOSPC) text += "; the file system is full, free some space or name another folder";
  return std::make_exception_ptr(IoError(text));
}

std::exception_ptr ended_early(const IoRequest& r) {
  const i64 needed = r.needed >= 0 ? r.needed : r.bytes;
  return std::make_exception_ptr(
      IoError(cat("'", r.file->path(), "' ends at byte ", r.offset + r.moved, ", and bytes up to ",
                  r.offset + needed, " were expected: it became shorter while it was used")));
}

std::thread quiet_thread(std::function<void()> run) {
  const SignalsBlocked quiet;
  return std::thread([run = std::move(run)] {
    const OneThread alone;  // what they copy they copy themselves: the others compute
    run();
  });
}

std::byte* ask_system(i64 bytes) {
  return static_cast<std::byte*>(
      std::aligned_alloc(static_cast<std::size_t>(File::block), static_cast<std::size_t>(bytes)));
}

struct SharedEngine {
  std::mutex mutex;
  std::shared_ptr<IoEngine> engine;
};
// Never destroyed, as requests may be under way when the statics go; a forked child, where the
// threads do not exist, makes another.
std::atomic<SharedEngine*> shared_engine{nullptr};

std::atomic<i64> bytes_read_so_far{0}, bytes_written_so_far{0};

}  // namespace

IoTraffic io_traffic() {
  return {bytes_read_so_far.load(std::memory_order_relaxed),
          bytes_written_so_far.load(std::memory_order_relaxed)};
}

void IoBatch::wait() {
  std::shared_ptr<const void> unused;  // goes behind the lock
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return pending_.load(std::memory_order_relaxed) == 0; });
  unused = std::move(keep);  // the engine may hold the batch a little longer
  if (failure_) std::rethrow_exception(failure_);
}

void IoBatch::fail(std::exception_ptr what) {
  std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(what);
  failed_.store(true, std::memory_order_relaxed);
}

void IoBatch::end() {
  std::lock_guard lock(mutex_);
  if (pending_.fetch_sub(1, std::memory_order_release) == 1) ended_.notify_all();
}

IoBuffer::~IoBuffer() { engine_.give_back(data_, bytes_); }

IoEngine::IoEngine(Kind kind, i64 depth_bytes)
    : depth_(std::max<i64>(depth_bytes, 1)), reserved_(ask_system(piece)), last_(reserved_) {
  if (kind != Kind::threads) ring_ = IoRing::open(why_no_ring_);
  require<NotAvailable>(ring_ || kind != Kind::uring, "io_engine: io_uring was asked for; ",
                        why_no_ring_);
  if (ring_)
    threads_.push_back(quiet_thread([this] { reap(); }));
  else
    for (int k = 0; k < workers; ++k) threads_.push_back(quiet_thread([this] { work(); }));
}

IoEngine::~IoEngine() {
  {
    std::unique_lock lock(room_mutex_);
    room_.wait(lock, [&] { return under_way_ == 0 && requests_ == 0; });
  }
  {
    std::lock_guard lock(queue_mutex_);
    ending_ = true;
    if (ring_) ring_->push(-1, false, nullptr, 0, 0, nullptr);
    arrived_.notify_all();
  }
  for (std::thread& t : threads_) t.join();
  for (const auto& [bytes, data] : spare_) std::free(data);
  std::free(reserved_);
}

std::shared_ptr<IoEngine> IoEngine::shared() {
  static const int at_fork = pthread_atfork(nullptr, nullptr, [] { shared_engine.store(nullptr); });
  (void)at_fork;
  SharedEngine* s = shared_engine.load(std::memory_order_acquire);
  if (!s) {
    auto* fresh = new SharedEngine;
    if (shared_engine.compare_exchange_strong(s, fresh))
      s = fresh;
    else
      delete fresh;
  }
  std::lock_guard lock(s->mutex);
  if (!s->engine) s->engine = std::make_shared<IoEngine>();
  return s->engine;
}

std::string IoEngine::describe() const {
  const std::string depth = cat(", at most ", bytes_text(depth_), " under way");
  if (ring_) return "io_uring" + depth;
  return cat(workers, " threads", depth,
             why_no_ring_.empty() ? "" : cat(" (not io_uring: ", why_no_ring_, ")"));
}

i64 IoEngine::under_way() const {
  std::lock_guard lock(room_mutex_);
  return under_way_;
}

i64 IoEngine::take_room(i64 bytes) {
  std::unique_lock lock(room_mutex_);
  // What is larger than all the room goes alone.
  room_.wait(lock, [&] { return under_way_ == 0 || under_way_ + bytes <= depth_; });
  under_way_ += bytes;
  return given_back_;
}

void IoEngine::give_room_back(i64 bytes) {
  std::lock_guard lock(room_mutex_);
  under_way_ -= bytes;
  room_.notify_all();
}

std::byte* IoEngine::spare_buffer(i64 bytes) {
  std::lock_guard lock(room_mutex_);
  const auto fits = [&](const auto& spare) { return spare.first == bytes; };
  const auto it = std::find_if(spare_.begin(), spare_.end(), fits);
  if (it == spare_.end()) return nullptr;
  std::byte* data = it->second;
  spare_.erase(it);
  return data;
}

// What this library keeps for later goes back before the system is said to have no more; then
// there is the last one.
std::byte* IoEngine::fresh_buffer(i64 bytes) {
  if (std::byte* data = ask_system(bytes)) return data;
  {
    std::lock_guard lock(room_mutex_);
    for (const auto& [size, data] : spare_) std::free(data);
    spare_.clear();
  }
  trim_pool(cpu);
  if (std::byte* data = ask_system(bytes)) return data;
  std::lock_guard lock(room_mutex_);
  return bytes <= piece ? std::exchange(last_, nullptr) : nullptr;
}

// Note [memory that ends]
// Buffers come back by themselves: nobody who holds one asks for another before its request is
// submitted. So where the system has no more, the next one that comes back will do. Who waits for
// it has given its own room back, so that nobody waits for those who wait. One buffer was taken
// before anything else, and is handed out when there is no other: what is read and written in
// pieces goes on, slowly, where a program or the addresses that malloc sets aside for each thread
// have used up all there was. Its pages are not touched before.
std::shared_ptr<IoBuffer> IoEngine::buffer(i64 bytes) {
  bytes =
      static_cast<i64>(std::bit_ceil(static_cast<std::uint64_t>(std::max(bytes, smallest_buffer))));
  for (;;) {
    const i64 seen = take_room(bytes);
    std::byte* data = spare_buffer(bytes);
    try {
      if (!data) data = fresh_buffer(bytes);
    } catch (...) {
      give_room_back(bytes);
      throw;
    }
    if (data) try {
        if (config().poison) std::memset(data, 0xFF, static_cast<std::size_t>(bytes));
        return std::make_shared<IoBuffer>(*this, data, bytes);
      } catch (const std::bad_alloc&) {
        give_back(data, bytes);
        throw;
      }
    std::unique_lock lock(room_mutex_);
    under_way_ -= bytes;
    room_.notify_all();
    const auto another = [&] { return given_back_ != seen; };  // since the system was asked
    require<OutOfMemory>(under_way_ > 0 || another(), "cannot take ", bytes_text(bytes),
                         " to read or write files through");
    room_.wait(lock, [&] { return under_way_ == 0 || another(); });
  }
}

void IoEngine::give_back(std::byte* data, i64 bytes) {
  std::lock_guard lock(room_mutex_);
  i64 kept = bytes;
  for (const auto& spare : spare_) kept += spare.first;
  if (data == reserved_)
    last_ = data;
  else if (kept > depth_)
    std::free(data);
  else
    try {
      spare_.emplace_back(bytes, data);
    } catch (const std::bad_alloc&) {
      std::free(data);
    }
  under_way_ -= bytes;
  ++given_back_;
  room_.notify_all();
}

void IoEngine::inject(IoFaults faults) {
  faults_.store(nullptr);
  injected_ = std::move(faults);
  if (injected_) faults_.store(&injected_);
}

void IoEngine::submit(IoRequest request) {
  if (request.bytes == 0) return;
  auto owned = std::make_unique<IoRequest>(std::move(request));
  IoRequest& r = *owned;
  const i64 room = r.buffer ? 0 : r.bytes;
  if (room > 0) take_room(room);
  const auto whole = [](i64 n, i64 block) { return n % block == 0; };
  r.direct =
      r.direct && r.file->direct() && whole(r.offset, File::block) && whole(r.bytes, File::block) &&
      whole(static_cast<i64>(reinterpret_cast<std::uintptr_t>(r.memory)), File::memory_block);
  if (tracing()) r.started = now_ns();
  std::unique_lock lock(queue_mutex_);
  try {
    queue_.push_back(std::move(owned));
  } catch (...) {
    if (room > 0) give_room_back(room);
    throw;
  }
  // Counted once nothing can fail any more; nobody takes it from the queue before the lock goes.
  r.file->begin();
  r.batch->pending_.fetch_add(1, std::memory_order_relaxed);
  {
    std::lock_guard counted(room_mutex_);
    ++requests_;
  }
  if (ring_)
    feed(lock);
  else
    arrived_.notify_one();
}

// The length of the next call; not above zero: the result that an injected fault puts in its place.
i64 IoEngine::next_length(const IoRequest& r) const {
  const i64 left = r.bytes - r.moved;
  const IoFaults* faults = faults_.load(std::memory_order_relaxed);
  if (!faults) [[likely]]
    return left;
  switch ((*faults)(r)) {
    case IoFault::none: return left;
    case IoFault::short_call:
      return left > 1024 ? (left / 2 + 511) / 512 * 512 : std::max<i64>(1, left / 2);
    case IoFault::interrupted: return -EINTR;
    case IoFault::disk_full: return r.write ? -ENOSPC : -EIO;
    case IoFault::ended: return 0;
    default: return -EIO;
  }
}

// Takes in the result of a call; true when there is more to do.
bool IoEngine::advance(IoRequest& r, i64 result) const {
  if (result == -EINTR || result == -EAGAIN) return true;
  if (result == -EINVAL && r.direct) {
    r.file->leave_direct();
    r.direct = false;
    return true;
  }
  if (result <= 0) {
    r.batch->fail(result == 0 && !r.write
                      ? ended_early(r)
                      : failure_of(r, result == 0 ? EIO : static_cast<int>(-result)));
    return false;
  }
  r.moved += result;
  (r.write ? bytes_written_so_far : bytes_read_so_far).fetch_add(result, std::memory_order_relaxed);
  if (r.moved % File::block != 0) r.direct = false;
  return r.moved < (r.write || r.needed < 0 ? r.bytes : r.needed);
}

void IoEngine::finish(Owned r) {
  if (r->after && !r->batch->failed()) try {
      r->after();
    } catch (...) {
      r->batch->fail(std::current_exception());
    }
  if (r->started >= 0)
    add_span(r->write ? "io.write" : "io.read", "disk", r->started, now_ns() - r->started,
             r->moved);
  const i64 room = r->buffer ? 0 : r->bytes;
  std::shared_ptr<const File> file = r->file;
  const std::shared_ptr<IoBatch> batch = r->batch;
  r.reset();  // with its buffer
  file->end();
  file.reset();
  {
    std::lock_guard lock(room_mutex_);
    under_way_ -= room;
    --requests_;
    room_.notify_all();
  }
  batch->end();  // last: who waits for it finds that nobody else holds what it used
}

void IoEngine::work() {
  for (;;) {
    std::unique_lock lock(queue_mutex_);
    arrived_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Owned r = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    bool more = !r->batch->failed();
    while (more) {
      const i64 length = next_length(*r);
      more = advance(*r, length > 0 ? call(*r, length) : length);
    }
    finish(std::move(r));
  }
}

// Hands what waits to the kernel, as much as it takes.
void IoEngine::feed(std::unique_lock<std::mutex>& lock) {
  while (!queue_.empty() && in_ring_ < IoRing::entries) {
    Owned r = std::move(queue_.front());
    queue_.pop_front();
    bool more = !r->batch->failed();
    i64 length = 0;
    while (more && (length = next_length(*r)) <= 0) more = advance(*r, length);
    if (more) {
      ++in_ring_;
      IoRequest& q = *r.release();  // reap() owns it again
      ring_->push(handle_of(q), q.write, q.memory + q.moved, length, q.offset + q.moved, &q);
    } else {
      lock.unlock();
      finish(std::move(r));
      lock.lock();
    }
  }
}

void IoEngine::reap() {
  for (;;) {
    const auto [who, result] = ring_->wait();
    std::unique_lock lock(queue_mutex_);
    if (!who) {
      if (ending_) return;
      continue;
    }
    --in_ring_;
    Owned r(static_cast<IoRequest*>(who));
    const bool more = advance(*r, result);
    if (more) queue_.push_front(std::move(r));
    feed(lock);  // the disk first, then what this thread does with the result
    lock.unlock();
    if (!more) finish(std::move(r));
  }
}

}  // namespace tessera::store
