// SPDX-License-Identifier: Apache-2.0
#pragma once
// A store for tests around another one: it counts bytes, moves them on threads of its own so that
// transfers overtake each other, and fails at the n-th read or write, at once or at wait().
//   auto s = std::make_shared<WatchedStore>(memory_store(a, {16, 16}));   s->fail_read_at = 3;

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "tessera/store/tiles/tile_store.hpp"

namespace tessera {

class WatchedStore final : public store::TileStore {
 public:
  explicit WatchedStore(std::shared_ptr<store::TileStore> inner, bool threads = true)
      : inner_(std::move(inner)), threads_(threads) {}
  std::atomic<i64> bytes_read{0}, bytes_written{0}, under_way{0};
  i64 fail_read_at = -1, fail_write_at = -1;  // counted from 0
  bool fail_late = false;                     // at wait(), not at once
  std::atomic<i64> reads{0}, writes{0};

  const store::TileGrid& grid() const override { return inner_->grid(); }
  std::string describe() const override { return inner_->describe(); }
  bool writable() const override { return inner_->writable(); }
  bool on_disk() const override { return inner_->on_disk(); }
  store::Transfer read(const store::Box& box, const Array& into) override {
    store::check_transfer("read", grid(), box, into);
    bytes_read += box.size() * size_of(grid().dtype());
    return start(reads++ == fail_read_at, [this, box, into] { inner_->read(box, into).wait(); });
  }
  store::Transfer write(const store::Box& box, const Array& from) override {
    store::check_transfer("write", grid(), box, from);
    bytes_written += box.size() * size_of(grid().dtype());
    return start(writes++ == fail_write_at, [this, box, from] { inner_->write(box, from).wait(); });
  }

 private:
  struct Moving final : store::Transfer::State {
    std::shared_future<void> end;
    void wait() override { end.get(); }
    bool done() const override {
      return end.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
  };
  template <class F>
  store::Transfer start(bool fails, F move) {
    if (fails && !fail_late) throw IoError("watched store: told to fail");
    if (!threads_) {
      move();
      return {};
    }
    auto state = std::make_shared<Moving>();
    const i64 number = reads + writes;
    ++under_way;
    state->end = std::async(std::launch::async, [this, fails, number, move] {
                   if (number % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
                   struct Leave {
                     std::atomic<i64>& n;
                     ~Leave() { --n; }
                   } const leave{under_way};
                   if (fails) throw IoError("watched store: told to fail");
                   move();
                 }).share();
    return store::Transfer(std::move(state));
  }
  std::shared_ptr<store::TileStore> inner_;
  bool threads_;
};

}  // namespace tessera
