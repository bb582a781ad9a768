// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiles/slab.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::store {
namespace {

constexpr i64 block = File::block;
constexpr i64 limit = IoEngine::piece - 2 * block;  // bytes of a buffer, widened to whole blocks
constexpr i64 small_gap = i64{32} << 10;            // read along rather than asked for once more
constexpr i64 large_run = i64{256} << 10;           // written by itself rather than gathered

i64 down(i64 n) { return n / block * block; }
i64 up(i64 n) { return (n + block - 1) / block * block; }

// Past the page cache; a file that is not made yet will be read so.
bool is_direct(const Slab& slab) {
  return slab.direct && (!slab.file || slab.file->direct()) && !slab.convert;
}

// How the boxes of a slab are moved: all that reads, writes and counts goes this way.
class SlabWay {
 public:
  SlabWay(const Slab& slab, bool write)
      : slab_(slab),
        write_(write),
        direct_(is_direct(slab)),
        item_(size_of(slab.dtype)),
        shape_(slab.shape) {
    if (slab.column_major) std::reverse(shape_.begin(), shape_.end());
    steps_ = Layout::contiguous(shape_).strides;
  }

 protected:
  enum class Way : std::uint8_t { straight, gather, scatter, cut };
  struct Choice {
    Way way = Way::straight;
    i64 axis = 0, count = 1;  // of a cut: so many indices of the axis at a time
  };

  i64 first(const Box& box) const {  // element of the slab
    return std::inner_product(steps_.begin(), steps_.end(), box.begin.begin(), i64{0});
  }
  i64 place(const Box& box) const { return slab_.offset + first(box) * item_; }
  i64 span(const Box& box) const {  // bytes from the first element to the end of the last
    i64 last = 0;
    for (i64 d = 0; d < steps_.size(); ++d) last += (box.shape[d] - 1) * steps_[d];
    return (last + 1) * item_;
  }
  i64 run_size(const Box& box) const {  // elements that lie together
    i64 n = 1, d = steps_.size() - 1;
    for (; d >= 0 && box.shape[d] == shape_[d]; --d) n *= box.shape[d];
    return d >= 0 ? n * box.shape[d] : n;
  }
  // What scatter() reads: to whole blocks past the page cache.
  std::pair<i64, i64> scattered(const Box& box) const {
    const i64 begin = place(box), end = begin + span(box);
    return direct_ ? std::pair{down(begin), up(end)} : std::pair{begin, end};
  }

  // `dense`: the memory lies as the box does, where it can go straight.
  Choice choose(const Box& box, bool dense) const {
    const i64 useful = box.size() * item_, all = span(box);
    i64 axis = 0;
    while (axis < steps_.size() - 1 && box.shape[axis] == 1) ++axis;
    const i64 each = steps_.empty() ? item_ : steps_[axis] * item_;
    const i64 run = run_size(box) * item_;
    const bool near = all - useful <= small_gap * (useful / run);
    if (all == useful && dense && !slab_.convert) return {Way::straight};
    if (write_ && useful <= limit && (all == useful || run < large_run)) return {Way::gather};
    if (!write_ && all <= limit && near) return {Way::scatter};
    i64 count = 1;  // indices of the axis at a time
    if (all == useful || (near && !write_))
      count = limit / each;
    else if (write_ && run < large_run)
      count = limit * box.shape[axis] / useful;
    // Pieces that end at blocks need not go through the page cache.
    const i64 even = block / std::gcd(block, each);
    count = std::max<i64>(count >= even ? count / even * even : count, 1);
    return {Way::cut, axis, count};
  }

  template <class Visit>
  static void each_part(const Box& box, const Choice& cut, Visit visit) {
    for (i64 k = 0; k < box.shape[cut.axis]; k += cut.count) {
      Box part = box;
      part.begin[cut.axis] += k;
      part.shape[cut.axis] = std::min(cut.count, box.shape[cut.axis] - k);
      visit(part, k);
    }
  }
  static Box turned(Box box) {
    std::reverse(box.begin.begin(), box.begin.end());
    std::reverse(box.shape.begin(), box.shape.end());
    return box;
  }

  const Slab& slab_;
  bool write_, direct_;
  i64 item_;
  Shape shape_;
  Strides steps_;
};

class SlabCount : SlabWay {
 public:
  explicit SlabCount(const Slab& slab) : SlabWay(slab, false) {}

  i64 run(const Box& box, Layout into) const {
    if (box.size() == 0) return 0;
    if (!slab_.column_major) return bytes(box, into);
    std::reverse(into.shape.begin(), into.shape.end());
    std::reverse(into.strides.begin(), into.strides.end());
    return bytes(turned(box), into);
  }

 private:
  i64 bytes(const Box& box, const Layout& into) const {
    const Choice choice = choose(box, into.dense());
    if (choice.way == Way::straight) return box.size() * item_;
    if (choice.way == Way::scatter) {
      const auto [from, to] = scattered(box);
      return to - from;
    }
    i64 sum = 0;
    each_part(box, choice, [&](const Box& part, i64) {
      Layout there = into;
      there.shape = part.shape;
      sum += bytes(part, there);
    });
    return sum;
  }
};

class SlabWalk : SlabWay {
 public:
  SlabWalk(IoEngine& engine, const Batch& batch, const Slab& slab, bool write)
      : SlabWay(slab, write), engine_(engine), batch_(batch) {}

  void run(const Box& box, const Array& memory) {
    if (box.size() == 0) return;
    if (slab_.column_major)
      visit(turned(box), memory.transpose());
    else
      visit(box, memory);
  }

 private:
  void visit(const Box& box, const Array& memory) {
    const Choice choice = choose(box, memory.is_contiguous() && goes_straight(box, memory));
    switch (choice.way) {
      case Way::straight:
        return straight(place(box), static_cast<std::byte*>(memory.data()), box.size() * item_,
                        nullptr);
      case Way::gather: return gather(box, memory);
      case Way::scatter: return scatter(box, memory);
      case Way::cut:
        each_part(box, choice, [&](const Box& part, i64 k) {
          visit(part, memory.slice(choice.axis, k, k + part.shape[choice.axis]));
        });
    }
  }

  // Memory that lies otherwise within its blocks than the file does cannot go past the page cache:
  // what is long goes through buffers that can.
  bool goes_straight(const Box& box, const Array& memory) const {
    const auto at = static_cast<i64>(reinterpret_cast<std::uintptr_t>(memory.data()));
    return !direct_ || box.size() * item_ < large_run ||
           (at - place(box)) % File::memory_block == 0;
  }

  // Bytes that lie together in the file and in memory.
  void straight(i64 offset, std::byte* memory, i64 bytes,
                const std::shared_ptr<const IoBuffer>& buffer) {
    const i64 head = up(offset) - offset;
    const bool whole = direct_ && bytes > head &&
                       reinterpret_cast<std::uintptr_t>(memory + head) % File::memory_block == 0;
    for (i64 done = 0; done < bytes;) {
      i64 n = std::min(bytes - done, IoEngine::piece - (offset + done) % block);
      if (whole && done < head)
        n = head - done;
      else if (whole && n > block)
        n = down(n);
      engine_.submit({.file = slab_.file,
                      .batch = batch_,
                      .write = write_,
                      .direct = direct_,
                      .offset = offset + done,
                      .bytes = n,
                      .memory = memory + done,
                      .needed = -1,
                      .buffer = buffer,
                      .after = {}});
      done += n;
    }
  }

  Array view(std::byte* data, i64 bytes, const Shape& shape, const Strides& steps) const {
    return {Storage::adopt(cpu, data, bytes, {}), Layout{shape, steps, 0}, slab_.dtype};
  }

  // Reads all that lies between the first and the last element, and keeps what was asked for.
  void scatter(const Box& box, const Array& memory) {
    const i64 begin = place(box), bytes = span(box), end = begin + bytes;
    const auto [from, to] = scattered(box);
    const std::shared_ptr<const IoBuffer> buffer = engine_.buffer(to - from);
    std::byte* data = buffer->data() + (begin - from);
    auto keep = [source = view(data, bytes, box.shape, steps_), memory, convert = slab_.convert,
                 data, bytes] {
      if (convert) convert(data, bytes);
      memory.copy_from(source);
    };
    engine_.submit({.file = slab_.file,
                    .batch = batch_,
                    .write = false,
                    .direct = direct_,
                    .offset = from,
                    .bytes = to - from,
                    .memory = buffer->data(),
                    .needed = end - from,
                    .buffer = buffer,
                    .after = std::move(keep)});
  }

  // Packs the elements, and writes each run of them to its place.
  void gather(const Box& box, const Array& memory) {
    const i64 bytes = box.size() * item_, run = run_size(box) * item_;
    const i64 shift = direct_ ? place(box) % block : 0;
    const std::shared_ptr<const IoBuffer> buffer = engine_.buffer(bytes + shift);
    std::byte* data = buffer->data() + shift;
    view(data, bytes, box.shape, Layout::contiguous(box.shape).strides).copy_from(memory);
    if (slab_.convert) slab_.convert(data, bytes);
    Box at = box;
    for (i64 done = 0; done < bytes; done += run) {
      straight(place(at), data + done, run, buffer);
      next_run(box, at);
    }
  }

  // Moves `at` to where the next run begins.
  void next_run(const Box& box, Box& at) const {
    i64 d = steps_.size() - 1;
    while (d >= 0 && box.shape[d] == shape_[d]) --d;
    for (--d; d >= 0; --d) {
      if (++at.begin[d] < box.begin[d] + box.shape[d]) return;
      at.begin[d] = box.begin[d];
    }
  }

  IoEngine& engine_;
  const Batch& batch_;
};

struct FileTransfer final : Transfer::State {
  explicit FileTransfer(Batch b) : batch(std::move(b)) {}
  void wait() override { batch->wait(); }
  bool done() const override { return batch->done(); }
  Batch batch;
};

}  // namespace

void read_slab(IoEngine& engine, const Batch& batch, const Slab& slab, const Box& box,
               const Array& into) {
  SlabWalk(engine, batch, slab, false).run(box, into);
}

i64 slab_bytes_to_read(const Slab& slab, const Box& box, const Layout& into) {
  return SlabCount(slab).run(box, into);
}

void write_slab(IoEngine& engine, const Batch& batch, const Slab& slab, const Box& box,
                const Array& from) {
  SlabWalk(engine, batch, slab, true).run(box, from);
}

Transfer transfer(const Array& array, const std::function<void(const Batch&)>& submit) {
  array.host_data();  // waits for what still writes or reads it
  auto batch = std::make_shared<IoBatch>();
  batch->keep = std::make_shared<const Array>(array);
  try {
    submit(batch);
  } catch (...) {
    try {
      batch->wait();  // others may not touch the array before
    } catch (const Error&) {
      // The first reason is the one to tell.
    }
    throw;
  }
  return Transfer(std::make_shared<FileTransfer>(std::move(batch)));
}

Array part_of(const Array& array, const Box& box, const Box& part) {
  Array v = array;
  for (i64 d = 0; d < box.begin.size(); ++d) {
    const i64 k = part.begin[d] - box.begin[d];
    if (k != 0 || part.shape[d] != box.shape[d]) v = v.slice(d, k, k + part.shape[d]);
  }
  return v;
}

Box intersection(const Box& a, const Box& b) {
  Box out = a;
  for (i64 d = 0; d < a.begin.size(); ++d) {
    out.begin[d] = std::max(a.begin[d], b.begin[d]);
    const i64 end = std::min(a.begin[d] + a.shape[d], b.begin[d] + b.shape[d]);
    out.shape[d] = std::max<i64>(0, end - out.begin[d]);
  }
  return out;
}

std::function<void(std::byte*, i64)> only_truth(DType dtype) {
  if (dtype != DType::b1) return {};
  return [](std::byte* p, i64 n) {
    for (i64 i = 0; i < n; ++i) p[i] = std::byte{p[i] != std::byte{0}};
  };
}

void move_now(IoEngine& engine, const std::shared_ptr<const File>& file, bool write,
              std::span<std::byte> bytes) {
  auto batch = std::make_shared<IoBatch>();
  engine.submit({.file = file,
                 .batch = batch,
                 .write = write,
                 .direct = false,
                 .offset = 0,
                 .bytes = static_cast<i64>(bytes.size()),
                 .memory = bytes.data(),
                 .needed = -1,
                 .buffer = {},
                 .after = {}});
  batch->wait();
}

}  // namespace tessera::store
