// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/plan/device_carrier.hpp"

#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "tessera/base/error.hpp"
#include "tessera/base/signals_blocked.hpp"
#include "tessera/device/transfer_streams.hpp"

namespace tessera::streaming {
namespace {

using store::Box;

// One part of a box: where it is in the store, and where in the dense buffer.
struct BoxPart {
  Box box;
  i64 offset, bytes;
};

class BoxParts {
 public:
  BoxParts(const Box& box, const Array& buffer, i64 piece)
      : box_(box),
        dtype_(buffer.dtype()),
        dense_(Layout::contiguous(box.shape)),
        grid_(DeviceCarrier::parts(box.shape, buffer.dtype(), piece)) {
    require<PlanError>(buffer.layout().dense(), "a buffer on ", buffer.device(),
                       " is filled in one piece, got a layout of ", buffer.layout());
  }
  i64 count() const { return box_.size() > 0 ? grid_.tiles() : 0; }
  BoxPart operator[](i64 k) const {
    BoxPart part{grid_.tile(k), 0, 0};
    part.bytes = part.box.size() * size_of(dtype_);
    for (i64 d = 0; d < box_.shape.size(); ++d) {
      part.offset += part.box.begin[d] * dense_.strides[d] * size_of(dtype_);
      part.box.begin[d] += box_.begin[d];
    }
    return part;
  }
  // Host memory as the elements of a part.
  Array seen(const BoxPart& part, void* memory) const {
    return {Storage::adopt(cpu, memory, part.bytes, {}), Layout::contiguous(part.box.shape),
            dtype_};
  }

 private:
  Box box_;
  DType dtype_;
  Layout dense_;
  store::TileGrid grid_;
};

// A box of pinned memory in rows long enough to travel as it lies; `there` is the dense buffer.
std::optional<Copy> rows_of_pinned(const store::TileStore& store, const Box& box,
                                   const Array& there, bool comes_back = false) {
  constexpr i64 shortest = 4096, largest_pitch = (i64{1} << 31) - 1;
  const Array lies = store.in_memory(box);
  if (box.shape.size() != 2 || box.size() == 0 || !lies || !lies.is_pinned()) return {};
  const i64 item = size_of(lies.dtype()), row = box.shape[1] * item,
            pitch = lies.layout().strides[0] * item;
  const bool in_rows = lies.layout().strides[1] == 1 && pitch >= row && pitch <= largest_pitch;
  if (box.shape[0] > 1 && (!in_rows || row < shortest)) return {};
  if (box.shape[0] == 1 && lies.layout().strides[1] != 1) return {};
  Copy c;
  c.row_bytes = row;
  c.rows = box.shape[0];
  c.to = comes_back ? lies.data() : there.data();
  c.to_device = comes_back ? cpu : there.device();
  c.to_pitch = comes_back ? pitch : row;
  c.from = comes_back ? there.data() : lies.data();
  c.from_device = comes_back ? there.device() : cpu;
  c.from_pitch = comes_back ? row : pitch;
  return c;
}

char* bytes_at(const Array& buffer, i64 offset) {
  return static_cast<char*>(buffer.data()) + offset;
}

}  // namespace

// A box that is asked for; done when its function has returned or thrown.
class DeviceCarrier::Job : public store::Transfer::State {
 public:
  explicit Job(std::function<void()> work) : work_(std::move(work)) {}
  void run() {
    std::exception_ptr error;
    try {
      work_();
    } catch (...) {
      error = std::current_exception();
    }
    work_ = {};
    const std::lock_guard lock(mutex_);
    error_ = error;
    done_ = true;
    changed_.notify_all();
  }
  void wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    if (error_) std::rethrow_exception(error_);
  }
  bool done() const override {
    const std::lock_guard lock(mutex_);
    return done_;
  }

 private:
  std::function<void()> work_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr error_;
};

DeviceCarrier::Lane::Lane() {
  const SignalsBlocked quiet;
  thread_ = std::thread([this] { work(); });
}

DeviceCarrier::Lane::~Lane() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  more_.notify_one();
  thread_.join();
}

store::Transfer DeviceCarrier::Lane::add(std::shared_ptr<Job> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
  }
  more_.notify_one();
  return store::Transfer(std::move(job));
}

void DeviceCarrier::Lane::work() {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job->run();
  }
}

i64 DeviceCarrier::piece_bytes() {
  const i64 asked = stream_buffer_size();
  return asked > 0 ? asked : default_stream_buffer;
}

i64 DeviceCarrier::pinned_bytes() { return Staging::bytes_for(piece_bytes()); }

store::TileGrid DeviceCarrier::parts(const Shape& shape, DType dtype, i64 piece) {
  return store::TileGrid::rows(shape, dtype, piece);
}

DeviceCarrier::DeviceCarrier(Device device)
    : device_(device),
      staging_(device, piece_),
      up_(transfer_stream(cpu, device)),
      down_(transfer_stream(device, cpu)) {
  // The buffers were made in the order of the home stream.
  const Event made = Stream::home(device).record();
  up_.wait(made);
  down_.wait(made);
}

DeviceCarrier::~DeviceCarrier() = default;

store::Transfer DeviceCarrier::read(store::TileStore& from, const Box& box, const Array& into) {
  if (const auto rows = rows_of_pinned(from, box, into))
    return there_.add(std::make_shared<Job>([this, rows, into] {
      up_.copy(*rows);
      up_.record().wait();
    }));
  return there_.add(std::make_shared<Job>([this, &from, into, parts = BoxParts(box, into, piece_)] {
    staging_.fill_and_send(
        up_, parts.count(),
        [&](i64 k, void* memory) { from.read(parts[k].box, parts.seen(parts[k], memory)).wait(); },
        [&](i64 k, void* memory) {
          const BoxPart p = parts[k];
          up_.copy(bytes_at(into, p.offset), device_, memory, cpu, p.bytes);
        });
    up_.record().wait();
  }));
}

store::Transfer DeviceCarrier::write(store::TileStore& to, const Box& box, const Array& from) {
  if (const auto rows = rows_of_pinned(to, box, from, true))
    return back_.add(std::make_shared<Job>([this, rows, from] {
      down_.copy(*rows);
      down_.record().wait();
    }));
  return back_.add(std::make_shared<Job>([this, &to, from, parts = BoxParts(box, from, piece_)] {
    staging_.send_and_empty(
        down_, parts.count(),
        [&](i64 k, void* memory) {
          const BoxPart p = parts[k];
          down_.copy(memory, cpu, bytes_at(from, p.offset), device_, p.bytes);
        },
        [&](i64 k, void* memory) { to.write(parts[k].box, parts.seen(parts[k], memory)).wait(); });
  }));
}

}  // namespace tessera::streaming
