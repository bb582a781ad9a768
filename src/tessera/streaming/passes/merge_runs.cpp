// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/passes/merge_runs.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/kernels/sort/merge.hpp"

namespace tessera::streaming {
namespace {

// What is left of a run: some of it in memory, the rest in the store.
class RunWindow {
 public:
  RunWindow(const Array& memory, i64 begin, i64 length, i64 taken)
      : memory_(memory), begin_(begin), next_(begin + taken), end_(begin + length) {}
  i64 taken() const { return next_ - (last_ - first_) - begin_; }
  bool goes_on() const { return next_ < end_; }
  Array items() const { return memory_.slice(0, first_, last_); }
  void take(i64 n) { first_ += n; }

  // Begins to read as much as there is room for, once half of the window is free.
  void fill(const StoredLine& from) {
    const i64 left = last_ - first_;
    if (!goes_on() || 2 * left > memory_.size()) return;
    auto* data = static_cast<std::byte*>(memory_.data());
    const i64 item = size_of(memory_.dtype());
    std::memmove(data, data + first_ * item, static_cast<std::size_t>(left * item));
    const i64 n = std::min(memory_.size() - left, end_ - next_);
    first_ = 0;
    last_ = left + n;
    const Box box = from.box(next_, n);
    next_ += n;
    // The items in the layout of the box, whose other axes have one index.
    coming_ = from.store->read(box, memory_.slice(0, left, last_).reshape(box.shape));
  }
  void wait() {
    const store::Transfer t = std::exchange(coming_, {});
    t.wait();
  }
  void settle() noexcept {
    try {
      wait();
    } catch (...) {  // the first error is on its way already
    }
  }

 private:
  Array memory_;
  i64 begin_, next_, end_;  // of the run, and of what was not asked for yet
  i64 first_ = 0, last_ = 0;
  store::Transfer coming_;
};

}  // namespace

struct RunMerge::State {
  State(StoredLine from, StoredLine to, i64 begin, const std::vector<i64>& lengths,
        const std::vector<i64>& taken, const std::array<Array, 4>& memory, i64 width)
      : from_(std::move(from)), to_(std::move(to)), memory_(memory), begin_(begin), done_(begin) {
    i64 at = 0, start = begin;
    for (std::size_t i = 0; i < lengths.size(); ++i, at += width) {
      const i64 before = taken.empty() ? 0 : taken[i];
      windows_.emplace_back(memory_[0].slice(0, at, at + width), start, lengths[i], before);
      start += lengths[i];
      done_ += before;
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    for (RunWindow& w : windows_) w.settle();
    for (store::Transfer& t : leaving_) try {
        t.wait();
      } catch (...) {  // the first error is on its way already
      }
  }

  void run_until(i64 count) {
    for (RunWindow& w : windows_) w.fill(from_);
    while (done_ - begin_ < count) round();
    for (store::Transfer& t : leaving_) finish(t);
    for (RunWindow& w : windows_) w.wait();
  }
  std::vector<i64> taken() const {
    std::vector<i64> out;
    for (const RunWindow& w : windows_) out.push_back(w.taken());
    return out;
  }

 private:
  static void finish(store::Transfer& t) {
    const store::Transfer now = std::exchange(t, {});
    now.wait();
  }

  void round() {
    std::vector<Array> items;
    std::vector<bool> goes_on;
    for (RunWindow& w : windows_) {
      w.wait();
      items.push_back(w.items());
      goes_on.push_back(w.goes_on());
    }
    const std::vector<i64> counts = mergeable(items, goes_on);
    i64 sum = 0;
    for (const i64 n : counts) sum += n;
    // The oldest result has been written before its memory is used again.
    const std::size_t mine = next_, room = (next_ + 1) % 3;
    finish(leaving_[mine]);
    const Array taken = memory_[1 + mine].slice(0, 0, sum);
    i64 at = 0;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      if (counts[i] > 0)
        taken.slice(0, at, at + counts[i]).copy_from(items[i].slice(0, 0, counts[i]));
      at += counts[i];
      windows_[i].take(counts[i]);
      windows_[i].fill(from_);
    }
    finish(leaving_[room]);
    const Array result = merged(taken, counts, memory_[1 + room].slice(0, 0, sum));
    const std::size_t holder = result.data() == taken.data() ? mine : room;
    const Box box = to_.box(done_, sum);
    leaving_[holder] = to_.store->write(box, result.reshape(box.shape));
    done_ += sum;
    next_ = (holder + 1) % 3;
  }

  StoredLine from_, to_;
  std::array<Array, 4> memory_;
  std::vector<RunWindow> windows_;
  std::array<store::Transfer, 3> leaving_;  // of memory 1, 2, 3
  i64 begin_, done_;
  std::size_t next_ = 0;
};

Box StoredLine::box(i64 begin, i64 length) const {
  Box b{at, Shape(at.size(), 1)};
  b.begin.push_back(begin);
  b.shape.push_back(length);
  return b;
}

RunMerge::RunMerge(StoredLine from, StoredLine to, i64 begin, const std::vector<i64>& lengths,
                   const std::vector<i64>& taken, const std::array<Array, 4>& memory, i64 width)
    : state_(std::make_unique<State>(std::move(from), std::move(to), begin, lengths, taken, memory,
                                     width)) {}
RunMerge::~RunMerge() = default;
void RunMerge::run_until(i64 count) { state_->run_until(count); }
std::vector<i64> RunMerge::taken() const { return state_->taken(); }

}  // namespace tessera::streaming
