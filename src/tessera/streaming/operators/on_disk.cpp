// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/operators/on_disk.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "tessera/linop/containers/fetched.hpp"
#include "tessera/linop/ops/basic/dense.hpp"
#include "tessera/linop/ops/basic/diagonal.hpp"
#include "tessera/store/tiles/slab.hpp"

namespace tessera::streaming {
namespace {

thread_local const LentWeights* lent = nullptr;
std::atomic<bool> any_on_disk{false};  // since the process began

// One element in place of all.
Array placeholder(const StoredArray& weight) {
  const Array one = Array::empty(Shape(weight.ndim(), 1), weight.dtype());
  one.fill(Value(0.0));
  return one.broadcast_to(weight.shape());
}

NamedLinop on_disk(const StoredArray& weight, const NamedLinop& sketch, Dims axes) {
  any_on_disk = true;
  return OnDisk{sketch, weight.store(), {Shape(weight.ndim(), 0), weight.shape()}, std::move(axes)};
}

void collect(const NamedLinop& a, std::vector<WeightBox>& all) {
  if (const OnDisk* o = a.as<OnDisk>()) {
    WeightBox needed{o->store, o->box};
    if (std::find(all.begin(), all.end(), needed) == all.end()) all.push_back(std::move(needed));
  }
  for (const NamedLinop& part : a.parts()) collect(part, all);
}

bool contains_box(const Box& whole, const Box& part) {
  for (i64 d = 0; d < whole.begin.size(); ++d)
    if (part.begin[d] < whole.begin[d] ||
        part.begin[d] + part.shape[d] > whole.begin[d] + whole.shape[d])
      return false;
  return true;
}

}  // namespace

OnDisk OnDisk::split(const Tile& tile) const {
  OnDisk part{sketch.split(tile), store, box, axes};
  // The operator decides which of its axes a cut concerns; what it kept of them says where.
  const Shape kept = part.sketch.arrays().front().shape();
  for (i64 i = 0; i < box.shape.size(); ++i) {
    if (kept[i] == box.shape[i]) continue;
    const tessera::Cut* cut = tile.find(axes[i]);
    require<SplitError>(cut && cut->size() == kept[i], "OnDisk: ", sketch, " has ", kept[i],
                        " of the ", box.shape[i], " elements along axis ", i,
                        " after it was cut by ", tile.str(), ", which does not say where");
    part.box.begin[i] += cut->start;
    part.box.shape[i] = kept[i];
  }
  return part;
}

std::optional<NamedLinop> OnDisk::normal() const {
  if (!sketch.as<Diagonal>()) return std::nullopt;
  return OnDisk{sketch.N(), store, box, axes};
}

NamedLinop OnDisk::to(Device d) const {
  if (d == cpu) return *this;
  return Fetched{*this, d};
}

NamedLinop OnDisk::loaded() const {
  Array numbers = LentWeights::find(*store, box);
  if (!numbers) numbers = store::read_box(*store, box);
  return sketch.mapped([&](const Array&) { return numbers; });
}

std::string OnDisk::details() const {
  return cat(sketch.kind(), ", ", bytes_text(bytes()), " of ", store->describe());
}

NamedLinop diagonal_on_disk(const StoredArray& weight, const Dims& ioshape,
                            const Dims& broadcast_dims) {
  const Diagonal sketch(placeholder(weight), ioshape, broadcast_dims);
  Dims axes;
  bool named = true;  // to the right of "..."
  for (i64 back = 1; back <= weight.ndim(); ++back) {
    named = named && back <= ioshape.size() && !ioshape[ioshape.size() - back].is_ellipses();
    axes.push_back(named ? ioshape[ioshape.size() - back] : NamedDimension::ellipses());
  }
  std::reverse(axes.begin(), axes.end());
  return on_disk(weight, sketch, std::move(axes));
}

NamedLinop dense_on_disk(const StoredArray& weight, const Dims& weightshape, const Dims& ishape,
                         const Dims& oshape, const Dims& broadcast_dims) {
  return on_disk(weight, Dense(placeholder(weight), weightshape, ishape, oshape, broadcast_dims),
                 weightshape);
}

NamedLinop dense_on_disk(const StoredArray& weight) {
  const Dense sketch(placeholder(weight));
  return on_disk(weight, sketch, sketch.weightshape);
}

std::vector<WeightBox> weights_on_disk(const NamedLinop& a) {
  std::vector<WeightBox> all;
  collect(a, all);
  return all;
}

bool has_weights_on_disk(const NamedLinop& a) { return any_on_disk && !weights_on_disk(a).empty(); }

LentWeights::LentWeights(std::vector<WeightBox> boxes, std::vector<Array> arrays)
    : boxes_(std::move(boxes)), arrays_(std::move(arrays)), outer_(std::exchange(lent, this)) {}
LentWeights::~LentWeights() { lent = outer_; }

Array LentWeights::find(const store::TileStore& store, const Box& box) {
  for (const LentWeights* l = lent; l; l = l->outer_)
    for (std::size_t i = 0; i < l->boxes_.size(); ++i)
      if (l->boxes_[i].store.get() == &store && contains_box(l->boxes_[i].box, box))
        return store::part_of(l->arrays_[i], l->boxes_[i].box, box);
  return {};
}

Array sketched(const Shape& shape, DType dtype) {
  const i64 bytes = std::max<i64>(count_of(shape) * size_of(dtype), 1);
  void* zeros = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require<OutOfMemory>(zeros != MAP_FAILED, "OnDisk: the system gives no addresses for ",
                       bytes_text(bytes));
  const auto release = [=] { munmap(zeros, static_cast<std::size_t>(bytes)); };
  return Array(Storage::adopt(cpu, zeros, bytes, release, false), Layout::contiguous(shape), dtype);
}

}  // namespace tessera::streaming
