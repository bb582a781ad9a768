// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/array/dnd_array.hpp"

#include <map>

#include "tessera/distributed/array/relayout.hpp"
#include "tessera/distributed/array/relayout_stage.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {

struct DNDarray::Body {
  i64 version = 0;  // raised by every write through a handle of this memory
  i64 views = 0;    // handles made of it, copies not counted
  std::map<std::pair<i64, std::string>, std::shared_ptr<const void>> known;  // until then
};

// What was read of an array that one rank owns; every rank keeps the same books, so that all know
// without asking whether the next read is a broadcast. See Note [rows live with their owner].
struct DNDarray::Replica {
  Array whole;  // not on the owner, who has the array itself
  i64 version = -1;
};

namespace {

Array row_major(const Array& local, const Distribution& distribution) {
  return !distribution.split || local.is_contiguous() ? local : local.copy();
}

bool repeats(const Layout& l) {
  for (i64 a = 0; a < l.ndim(); ++a)
    if (l.shape[a] > 1 && l.strides[a] == 0) return true;
  return false;
}

}  // namespace

DNDarray::DNDarray(Array local, Shape shape, Distribution distribution, Communicator comm)
    : body_(std::make_shared<Body>()),
      local_(row_major(local, distribution)),
      whole_(distribution.split || !(local.shape() == shape) ? Layout::contiguous(shape)
                                                             : local.layout()),
      distribution_(std::move(distribution)),
      dtype_(local_.dtype()),
      device_(local_.device()),
      comm_(std::move(comm)) {
  if (!local_.storage().writable() || repeats(whole_)) access_ = Access::read_only;
  require_fit();
}

DNDarray DNDarray::lying(Array local, Layout whole, Distribution distribution, Communicator comm) {
  DNDarray x;
  x.body_ = std::make_shared<Body>();
  x.dtype_ = local.dtype();
  x.device_ = local.device();
  x.comm_ = std::move(comm);
  return x.with(std::move(local), std::move(whole), std::move(distribution));
}

void DNDarray::require_fit() const {
  require_distribution(distribution_);
  require<ShapeError>(local_.shape() == lshape(), "a part of shape ", local_.shape(),
                      " was given for rank ", comm_.rank(), " of ", comm_.size(),
                      "; its part of an array of shape ", shape(), " has the shape ", lshape());
}

void DNDarray::require_distribution(const Distribution& distribution) const {
  if (distribution.split) (void)boxes_of(shape(), distribution, comm_.size());
}

DNDarray DNDarray::replicated(Array whole, Communicator comm) {
  const Shape shape = whole.shape();
  return DNDarray(std::move(whole), shape, {}, std::move(comm));
}

DNDarray DNDarray::owned_by_one_rank(Array there, Shape shape, DType dtype, Device device,
                                     int owner, Communicator comm) {
  DNDarray x;
  x.body_ = std::make_shared<Body>();
  x.dtype_ = dtype;
  x.device_ = device;
  x.comm_ = std::move(comm);
  return x.owner_view(std::move(there), Layout::contiguous(shape), owner, dtype);
}

DNDarray DNDarray::owner_view(Array there, Layout whole, int owner,
                              std::optional<DType> dtype) const {
  require<ArgumentError>(owner >= 0 && owner < comm_.size(), "there is no rank ", owner, " of ",
                         comm_.size());
  DNDarray x;
  x.body_ = body_;
  x.view_ = ++body_->views;
  x.replica_ = std::make_shared<Replica>();
  x.access_ = access_;
  x.whole_ = std::move(whole);
  x.dtype_ = dtype.value_or(dtype_);
  x.device_ = device_;
  x.owner_ = owner;
  x.comm_ = comm_;
  if (comm_.rank() == owner) {
    require<ShapeError>(there.shape() == x.shape() && there.dtype() == x.dtype_,
                        "the owner of an array of shape ", x.shape(), " of ", x.dtype_,
                        " has one of shape ", there.shape(), " of ", there.dtype());
    x.local_ = std::move(there);
  }
  return x;
}

DNDarray DNDarray::with(Array local, Layout whole, Distribution distribution) const {
  if (owner_) {
    require<ShapeError>(!distribution.split, "a view of an array that one rank owns has no split");
    const DType dtype = local ? local.dtype() : dtype_;
    return owner_view(std::move(local), std::move(whole), *owner_, dtype);
  }
  DNDarray x = *this;
  x.view_ = ++body_->views;
  x.local_ = std::move(local);
  x.whole_ = std::move(whole);
  x.distribution_ = std::move(distribution);
  x.dtype_ = x.local_.dtype();
  x.require_fit();
  return x;
}

std::vector<i64> DNDarray::counts() const {
  if (distribution_.split) return distribution_.part.counts();
  return std::vector<i64>(static_cast<std::size_t>(comm_.size()), ndim() > 0 ? shape(0) : 1);
}

bool DNDarray::balanced() const { return !distribution_.split || distribution_.part.balanced(); }

Shape DNDarray::lshape(int rank) const {
  Shape s = shape();
  if (distribution_.split) s[*distribution_.split] = distribution_.part.count(rank);
  return s;
}

bool DNDarray::known() const { return !owner_ || replica_->version == body_->version; }

const Array& DNDarray::local() const {
  if (!owner_) return local_;
  if (!known()) {
    const Array all = broadcast_whole(local_, shape(), dtype_, device_, *owner_, comm_);
    if (comm_.rank() != *owner_) replica_->whole = all;
    replica_->version = body_->version;
  }
  return comm_.rank() == *owner_ ? local_ : replica_->whole;
}

void DNDarray::require_writable(std::string_view what) const {
  require<ArgumentError>(access_ != Access::read_only, what, " is read-only");
  require<ArgumentError>(access_ != Access::copied, what,
                         " is read-only: it is a copy where NumPy has a view, because a reshape "
                         "across a split axis, or one turned around, moves elements between ranks; "
                         "write into copy() of it, or into the array it was made of");
}

DNDarray DNDarray::read_only() const {
  DNDarray x = *this;
  x.access_ = Access::read_only;
  return x;
}

DNDarray DNDarray::moved_copy() const {
  DNDarray x = *this;
  if (writable()) x.access_ = Access::copied;
  return x;
}

DNDarray DNDarray::owned() const {
  DNDarray x = *this;
  if (access_ == Access::copied) x.access_ = Access::free;
  return x;
}

bool DNDarray::sole() const { return body_.use_count() == 1; }

void DNDarray::touch() const {
  ++body_->version;
  body_->known.clear();
}

std::shared_ptr<const void> DNDarray::recall(const std::string& what) const {
  const auto found = body_->known.find({view_, what});
  return found == body_->known.end() ? nullptr : found->second;
}

void DNDarray::remember(const std::string& what, std::shared_ptr<const void> known) const {
  constexpr std::size_t most = 8;  // plans are as large as the key: old ones go first by name
  const std::pair<i64, std::string> name{view_, what};
  if (body_->known.size() >= most && !body_->known.contains(name))
    body_->known.erase(body_->known.begin());
  body_->known[name] = std::move(known);
}

DNDarray DNDarray::resplit(std::optional<i64> axis) const {
  if (!axis) return distributed_as({});
  const i64 a = normalize_axis(*axis, ndim(), "resplit");
  if (distribution_.split == a) return *this;
  return distributed_as({a, Partition::even(shape(a), comm_.size())});
}

DNDarray DNDarray::balance() const {
  if (balanced()) return *this;
  return distributed_as(
      {distribution_.split, Partition::even(shape(*distribution_.split), comm_.size())});
}

DNDarray DNDarray::redistribute(std::span<const i64> counts) const {
  require<SplitError>(distribution_.split.has_value(),
                      "redistribute: the array has no split; resplit it first");
  const Partition part = Partition::of(counts);
  const i64 n = shape(*distribution_.split);
  require<ShapeError>(part.ranks() == comm_.size() && part.size() == n, "redistribute: expected ",
                      comm_.size(), " counts that sum up to ", n, ", got ", part.ranks(),
                      " that sum up to ", part.size());
  return distributed_as({distribution_.split, part});
}

DNDarray DNDarray::distributed_as(const Distribution& to) const {
  if (distribution_ == to) return *this;
  require_distribution(to);
  return {relayout(*this, boxes_of(shape(), to, comm_.size())), shape(), to, comm_};
}

DNDarray DNDarray::moved(Array local, DType dtype, Device device) const {
  if (owner_) return owned_by_one_rank(std::move(local), shape(), dtype, device, *owner_, comm_);
  return {std::move(local), shape(), distribution_, comm_};
}

DNDarray DNDarray::to(Device device) const {
  if (device == device_) return *this;
  return moved(local_ ? local_.to(device) : Array(), dtype_, device);
}

DNDarray DNDarray::astype(DType dtype) const {
  if (dtype == dtype_) return *this;
  return moved(local_ ? local_.astype(dtype) : Array(), dtype, device_);
}

DNDarray DNDarray::copy() const { return moved(local_ ? local_.copy() : Array(), dtype_, device_); }

Array DNDarray::gathered() const { return distributed_as({}).local(); }

Value DNDarray::item() const {
  require<ShapeError>(size() == 1, "can only convert an array of size 1 to a Python scalar");
  if (!distribution_.split) return local().item();
  const int owner = distribution_.part.owner(0);
  const Array one =
      comm_.rank() == owner ? local_.to(cpu).contiguous() : empty_dense(lshape(owner), dtype_, cpu);
  if (!comm_.alone()) comm_.broadcast(one.host_data(), size_of(dtype_), owner);
  return one.item();
}

void require_same_group(std::string_view who, const DNDarray& a, const DNDarray& b) {
  require<CommError>(a.comm() == b.comm(), who, ": operands of two groups of ranks, ", a.comm(),
                     " and ", b.comm());
  require<DeviceError>(a.device() == b.device(), who, ": operands on ", a.device(), " and ",
                       b.device(), "; move them with to()");
}

}  // namespace tessera::dist
