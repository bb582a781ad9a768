// SPDX-License-Identifier: Apache-2.0
#pragma once
// The distributed n-d array: one axis is split over the ranks of a communicator, or every rank
// holds the whole (split = none). A small value handle; copying it shares memory, basic indexing
// gives views. Shapes, counts and owners of every result are known on all ranks without a message.
// All members but the plain readers are collective: every rank calls them, in the same order.
//   DNDarray x = dist::arange(10, {.split = 0});   DNDarray y = x[{Slice{1, 8, 2}}];
//   x.assign({Array::of<i64>({7, 2})}, v);   Array all = x.gathered();
//
// Note [rows live with their owner]: x[3] of an array split along axis 0 is whole on every rank
// when read, but its memory is its owner's: the handle knows the owner, reading broadcasts, writing
// reaches x. What was read is kept until something is written through any handle of the same
// memory, so that replicas can never differ.
//
// Note [views and copies]: whether a function gives a view, and whether that may be written,
// follows from shapes, splits and keys alone and is known to every rank, so that no result depends
// on how many ranks there are. Where NumPy gives a view and elements would have to change their
// rank (a reshape across the cuts, a split axis turned around), the result is a copy that cannot be
// written: a write that NumPy takes to the source is refused, on every rank, rather than lost.

#include <optional>

#include "tessera/array/array.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/distributed/array/partition.hpp"

namespace tessera::dist {

class DistIndex;  // distributed/indexing/key.hpp

// Where the parts of an array are: the axis that is split, and how. No split: every rank has
// all.
struct Distribution {
  std::optional<i64> split;
  Partition part;  // of shape[*split]; meaningless without a split
  friend bool operator==(const Distribution& a, const Distribution& b) {
    return a.split == b.split && (!a.split || a.part == b.part);
  }
};

// What an array that was made of a whole one remembers of its integers
// (recall(value_range)).
struct ValueRange {
  i64 least = 0, most = 0;
};
inline const std::string value_range = "range";

class TESSERA_API DNDarray {
 public:
  DNDarray() = default;  // no array: only assignment is allowed
  // This rank's part of an array that all ranks describe alike. ShapeError when `local` does not
  // fit. Not collective, nothing is checked with other ranks. A part along a split is made
  // row-major where it is not, unless `whole` tells how all parts lie.
  DNDarray(Array local, Shape shape, Distribution distribution, Communicator comm);
  static DNDarray lying(Array local, Layout whole, Distribution distribution, Communicator comm);
  // The same array on every rank, bit for bit (the caller's promise).
  static DNDarray replicated(Array whole, Communicator comm);
  // Only `owner` has it (the others pass an array without elements); see the note above.
  static DNDarray owned_by_one_rank(Array there, Shape shape, DType dtype, Device device, int owner,
                                    Communicator comm);

  explicit operator bool() const { return static_cast<bool>(body_); }
  const Shape& shape() const { return whole_.shape; }
  i64 shape(i64 axis) const { return whole_.shape[axis]; }
  i64 ndim() const { return whole_.ndim(); }
  i64 size() const { return count_of(whole_.shape); }
  // The layout that this view would have in one memory that held the whole array: what NumPy has.
  const Layout& whole() const { return whole_; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  const Communicator& comm() const { return comm_; }
  std::optional<i64> split() const { return distribution_.split; }
  const Distribution& distribution() const { return distribution_; }
  const Partition& part() const { return distribution_.part; }
  // Per rank along the split; without one every rank has all: shape[0], and 1 of rank 0.
  std::vector<i64> counts() const;
  bool balanced() const;  // by the rule of Partition::even; true without a split
  bool distributed() const { return distribution_.split.has_value() && !comm_.alone(); }
  Shape lshape() const { return lshape(comm_.rank()); }
  Shape lshape(int rank) const;
  std::optional<int> owner() const { return owner_; }  // of an array that one rank owns

  // What this rank holds; writing into it is the caller's own responsibility. For an array that one
  // rank owns the whole, which is a broadcast unless nothing was written since the last: collective
  // then.
  const Array& local() const;
  // As it lies, without a broadcast: an empty handle on ranks that do not own it.
  const Array& resident() const { return local_; }
  // Writing is for all ranks or for none. ArgumentError "assignment destination is read-only", to
  // be asked for before anything that only some ranks do.
  bool writable() const { return access_ == Access::free; }
  void require_writable(std::string_view what = "assignment destination") const;
  // The same handle, not to be written through it: a broadcast view.
  DNDarray read_only() const;
  // Of a copy where NumPy has a view (see the note above): until it is known that nobody sees the
  // difference, who writes into it is told that it is one.
  DNDarray moved_copy() const;
  DNDarray owned() const;  // ... it is known: nothing else refers to what it was copied from
  bool sole() const;       // no other handle shares this memory
  // After writing through local() or resident(), on every rank.
  void touch() const;
  // What was worked out about the values of this handle and its copies (by a text that says what),
  // until touch(). Every rank keeps the same books. Null when there is nothing.
  std::shared_ptr<const void> recall(const std::string& what) const;
  void remember(const std::string& what, std::shared_ptr<const void> known) const;

  // A handle over the same memory that shares its writes (views made by indexing and transposing);
  // `whole`: its shape, and its layout made of whole() as the local one of the local part.
  // Of an array that one rank owns: another of the same owner, `distribution` without a split.
  DNDarray with(Array local, Layout whole, Distribution distribution) const;
  // The same where only `owner` has what is seen (the others pass an empty handle): x[3]. The dtype
  // where it differs from this array's.
  DNDarray owner_view(Array there, Layout whole, int owner,
                      std::optional<DType> dtype = std::nullopt) const;
  // local() sends nothing: false where one rank owns it and it was written since it was last read.
  bool known() const;

  // Copies in another distribution; the handle itself where nothing changes.
  DNDarray resplit(std::optional<i64> axis) const;
  DNDarray balance() const;
  DNDarray redistribute(std::span<const i64> counts) const;  // ShapeError unless they sum up
  DNDarray distributed_as(const Distribution& to) const;     // the general one
  DNDarray to(Device device) const;
  DNDarray astype(DType dtype) const;
  DNDarray copy() const;
  Array gathered() const;  // the whole array, on every rank, on this rank's device
  Value item() const;      // one element; ShapeError otherwise

  // NumPy's indexing, get and set (distributed/indexing/get.cpp, set.cpp).
  DNDarray operator[](const DistIndex& key) const;
  void assign(const DistIndex& key, const DNDarray& value) const;
  void assign(const DistIndex& key, const Array& value) const;  // the same on every rank

 private:
  void require_fit() const;
  void require_distribution(const Distribution& distribution) const;
  DNDarray moved(Array local, DType dtype, Device device) const;  // new memory, distributed as this

  struct Body;     // what the handles of one memory share: how often it was written
  struct Replica;  // what copies of one handle of an owner share: what was last read
  std::shared_ptr<Body> body_;
  i64 view_ = 0;  // which of the handles over this memory, counted alike on all ranks
  std::shared_ptr<Replica> replica_;
  enum class Access : std::uint8_t { free, read_only, copied };
  Access access_ = Access::free;
  Array local_;
  Layout whole_;
  Distribution distribution_;
  DType dtype_ = DType::f32;
  Device device_ = cpu;
  std::optional<int> owner_;
  Communicator comm_ = Communicator::self();
};

// One device and one communicator for all operands: DeviceError, CommError name both sides.
TESSERA_API void require_same_group(std::string_view who, const DNDarray& a, const DNDarray& b);

}  // namespace tessera::dist

namespace tessera {
using dist::DNDarray;
}  // namespace tessera
