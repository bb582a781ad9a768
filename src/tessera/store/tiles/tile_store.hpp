// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where tiles come from and go to: the seam between algorithms that stream and what holds the
// numbers (memory, a tiled file, a .npy file, a function). Boxes need not be tiles; the grid says
// which boxes are cheap. Reads and writes are asynchronous: a Transfer says when one is done, and
// throws at wait() what went wrong. The array of a transfer stays alive until it is done; the
// caller does not touch it before. Transfers of one store may overtake each other: who reads what
// was written waits for the write.
//   auto s = create_tiled_file("a.tiles", TileGrid::square({n, n}, DType::f64));
//   Transfer t = s->read(s->grid().tile(0), buffer);   t.wait();

#include <functional>
#include <memory>

#include "tessera/array/array.hpp"
#include "tessera/store/tiles/tile_grid.hpp"

namespace tessera::store {

class TESSERA_API Transfer {
 public:
  Transfer() = default;  // done
  // What is asked and awaited: `wait` blocks until done and throws what failed, `done` asks.
  struct State {
    virtual ~State() = default;
    virtual void wait() = 0;
    virtual bool done() const = 0;
  };
  explicit Transfer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void wait() const {
    if (state_) state_->wait();
  }
  bool done() const { return !state_ || state_->done(); }

 private:
  std::shared_ptr<State> state_;
};

enum class Access : std::uint8_t { normal, sequential, strided, reverse, random, once };

class TESSERA_API TileStore {
 public:
  TileStore() = default;
  TileStore(const TileStore&) = delete;
  TileStore& operator=(const TileStore&) = delete;
  virtual ~TileStore() = default;

  virtual const TileGrid& grid() const = 0;
  // "tiled file a.tiles, 4 x 2 tiles of 32 MiB": for explain() and errors.
  virtual std::string describe() const = 0;
  virtual bool writable() const = 0;
  virtual bool on_disk() const = 0;
  // Where a file is that can be opened again, later or by others; "" where there is none.
  virtual std::string path() const { return {}; }
  // A text that says which numbers these are: the same text, in another process too, means the same
  // numbers. "" where that cannot be said.
  virtual std::string version() const { return {}; }
  // Elements of `box` come into / from a host array of the box's shape and the grid's dtype, with
  // any strides. Refusals (outside, wrong dtype, read-only) are thrown at once.
  virtual Transfer read(const Box& box, const Array& into) = 0;
  virtual Transfer write(const Box& box, const Array& from) = 0;
  // The elements of a box where they lie in host memory; no array where they do not.
  virtual Array in_memory(const Box&) const { return {}; }
  // Bytes that a read of a box into memory of that layout takes from where the tiles are: those of
  // the box, and what lies between them where that is read along.
  virtual i64 bytes_to_read(const Box& box, const Layout& into) const;
  // Advice; a store that can do nothing with it does nothing.
  virtual void advise(Access) {}
  virtual void prefetch(const Box&) {}  // bring it nearer, for a read that follows
  virtual void discard(const Box&) {}   // it is not needed again soon
  // Bytes of tiles that a box touches that are in memory by way of the system's page cache.
  virtual i64 resident(const Box&) const { return 0; }
  // All that was written before is on disk when this returns.
  virtual void flush() {}
  // What a file says that its numbers stand for, where they are not an array; "" otherwise.
  virtual std::string about() const { return {}; }
};

// What every store refuses at once: a box outside, another shape or dtype, memory of a device.
TESSERA_API void check_transfer(std::string_view who, const TileGrid& grid, const Box& box,
                                const Array& array);
// The box as an array of its own in host memory; an array into the box; both wait.
TESSERA_API Array read_box(TileStore& store, const Box& box);
TESSERA_API void write_box(TileStore& store, const Box& box, const Array& from);

// The version of a store that is what its numbers are, however they are cut and wherever they lie:
// `read` gives boxes, a megabyte or a row at a time.
using ReadBox = std::function<void(const Box& box, const Array& into)>;
TESSERA_API std::string version_of_numbers(const TileGrid& grid, const ReadBox& read);

// Tiles of an array that is in memory (shared, not copied).
TESSERA_API std::shared_ptr<TileStore> memory_store(Array array, const Shape& tile);
// Tiles that a function makes, again and again, when they are asked for: zeros, random numbers.
// `make` fills a host array with the elements of a box; it is called from several threads.
using MakeTile = std::function<void(const Box& box, const Array& into)>;
TESSERA_API std::shared_ptr<TileStore> generated_store(std::string name, TileGrid grid,
                                                       MakeTile make);

}  // namespace tessera::store
