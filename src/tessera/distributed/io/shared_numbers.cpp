// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/io/shared_numbers.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tessera/array/npy_file.hpp"
#include "tessera/distributed/array/relayout.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

constexpr i64 short_run = 4096;            // bytes: below, arrays change hands first
constexpr i64 slab_bytes = i64{32} << 20;  // of one rank, at a time

// The text of what an action throws as an IoError or the like, empty when it does not.
template <class F>
std::string problem_of(F&& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

// A file that is removed unless it is kept.
struct Temporary {
  std::string name;
  bool ours = false;
  ~Temporary() {
    if (ours) unlink(name.c_str());
  }
};

// The new file beside the old one. Rank 0 makes it and removes it unless it is committed.
class NewFile {
 public:
  NewFile(const std::string& path, const Communicator& comm, const BeginFile& begin) : comm_(comm) {
    const std::string problem = comm.rank() == 0 ? problem_of([&] { make(path, begin); }) : "";
    comm.agree<IoError>(problem);
    i64 facts[2] = {static_cast<i64>(file_.name.size()), data_};
    comm.broadcast(facts, sizeof facts, 0);
    file_.name.resize(static_cast<std::size_t>(facts[0]));
    comm.broadcast(file_.name.data(), facts[0], 0);
    data_ = facts[1];
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  const std::string& name() const { return file_.name; }
  i64 data() const { return data_; }

  void commit(const std::string& problem) {
    comm_.agree<IoError>(problem);
    std::string last;
    if (comm_.rank() == 0) {
      keep_permissions(path_, file_.name);
      if (rename(file_.name.c_str(), path_.c_str()) == 0)
        file_.ours = false;
      else
        last = cat("cannot write '", path_, "': ", std::strerror(errno));
    }
    comm_.agree<IoError>(last);
  }

 private:
  void make(const std::string& path, const BeginFile& begin) {
    static std::atomic<int> counter{0};
    path_ = follow_links(path);
    struct stat status {};
    require<IoError>(stat(path_.c_str(), &status) != 0 || S_ISREG(status.st_mode), "cannot write '",
                     path_, "': it is not a regular file");
    file_.name = cat(path_, ".", static_cast<i64>(getpid()), ".", counter.fetch_add(1), ".tmp");
    file_.ours = true;
    data_ = begin(file_.name);
  }

  const Communicator& comm_;
  std::string path_;
  Temporary file_;
  i64 data_ = 0;
};

i64 bytes_of_row(const Shape& shape, i64 item) {
  return shape[0] == 0 ? item : count_of(shape) / shape[0] * item;
}

// [0, rows) in slabs of some megabytes.
template <class F>
void in_slabs(i64 rows, i64 row_bytes, i64 limit, F&& f) {
  const i64 at_once = std::max<i64>(1, limit / std::max<i64>(1, row_bytes));
  for (i64 r = 0; r < rows; r += at_once) f(r, std::min(rows, r + at_once));
}

// A rank's runs in the file are short, and would be long if it had whole rows.
bool changes_hands(const Shape& shape, i64 item, const Distribution& distribution) {
  if (!distribution.split || *distribution.split == 0 || distribution.part.ranks() == 1)
    return false;
  i64 longest = 0;
  for (int r = 0; r < distribution.part.ranks(); ++r)
    longest = std::max(longest, distribution.part.count(r));
  for (i64 a = *distribution.split + 1; a < shape.size(); ++a) longest *= shape[a];
  return longest * item < short_run && count_of(shape) * item > slab_bytes / 64;
}

Array on_host(const Array& x) { return x.to(cpu).contiguous(); }

class Writer {
 public:
  Writer(std::optional<SharedWriter>& file, i64 data, const DNDarray& x)
      : file_(file), data_(data), x_(x), item_(size_of(x.dtype())) {}

  // What this rank has, as it lies.
  void own_part() {
    const Array& mine = x_.local();  // on all ranks: a broadcast where one of them has it
    if (x_.ndim() == 0) {
      if (x_.comm().rank() == 0) put(on_host(mine), Region::of({}));
      return;
    }
    Region region = Region::of(x_.shape());
    if (x_.split())
      region.axes[static_cast<std::size_t>(*x_.split())] = {x_.part().begin(x_.comm().rank()),
                                                            mine.shape(*x_.split()), 1};
    const i64 first = region.axes[0].start;
    in_slabs(mine.shape(0), bytes_of_row(mine.shape(), item_), slab_bytes, [&](i64 from, i64 to) {
      region.axes[0] = {first + from, to - from, 1};
      put(on_host(mine.slice(0, from, to)), region);
    });
  }

  // Whole rows, slab by slab; the exchange goes on when writing fails.
  std::string rows() {
    const Communicator& comm = x_.comm();
    const Boxes from = boxes_of(x_.shape(), x_.distribution(), comm.size());
    std::string problem;
    in_slabs(x_.shape(0), bytes_of_row(x_.shape(), item_), slab_bytes * comm.size(),
             [&](i64 begin, i64 end) {
               Shape slab = x_.shape();
               slab[0] = end - begin;
               const Partition part = Partition::even(slab[0], comm.size());
               const Relayout move(slab, from, boxes_of(slab, {0, part}, comm.size()));
               const Array whole_rows =
                   move.run(x_.local().slice(0, begin, end).to(cpu), x_.dtype(), comm);
               Region region = Region::of(x_.shape());
               region.axes[0] = {begin + part.begin(comm.rank()), part.count(comm.rank()), 1};
               if (problem.empty()) problem = problem_of([&] { put(on_host(whole_rows), region); });
             });
    return problem;
  }

 private:
  void put(const Array& dense, const Region& region) {
    if (dense.size() > 0 && file_)
      file_->write_region(data_, item_, region, static_cast<const std::byte*>(dense.host_data()));
  }

  std::optional<SharedWriter>& file_;  // none: it could not be opened
  i64 data_;
  const DNDarray& x_;
  i64 item_;
};

// The same numbers with a split wherever ranks can share the work.
DNDarray shared_out(const DNDarray& x) { return x.split() || x.ndim() == 0 ? x : x.resplit(0); }

// What a load means, with the axes in the order of the file and all steps forwards.
struct Wanted {
  Region region;
  Shape reversed;            // axes to be turned afterwards, as the caller counts them
  std::optional<i64> split;  // in the order of the file
  bool turned = false;       // the split axis is one of the reversed
  Partition part;            // of the result

  Shape shape() const { return region.shape(); }
  // Of the split axis as it lies in the file, what this rank wants.
  Box box(int rank) const {
    const i64 n = part.size(), b = part.begin(rank), e = part.end(rank);
    return turned ? Box{*split, n - e, n - b} : Box{*split, b, e};
  }
  // An interval of one axis of what is wanted.
  Region piece(i64 axis, i64 begin, i64 end) const {
    Region r = region;
    SliceRange& a = r.axes[static_cast<std::size_t>(axis)];
    a = {a.start + begin * a.step, end - begin, a.step};
    return r;
  }
};

Wanted wanted_of(const std::string& path, const NpyHeader& head, const LoadOptions& o) {
  const i64 ndim = head.shape.size();
  require<IndexError>(static_cast<i64>(o.slices.size()) <= ndim, "load '", path,
                      "': ", o.slices.size(), " slices for an array of shape ", head.shape);
  Wanted w;
  auto in_file = [&](i64 axis) { return head.fortran ? ndim - 1 - axis : axis; };
  w.region = Region::of(head.shape);
  for (i64 a = 0; a < ndim; ++a) {
    SliceRange r{0, head.shape[a], 1};
    if (a < static_cast<i64>(o.slices.size()))
      r = resolve_slice(o.slices[static_cast<std::size_t>(a)], head.shape[a]);
    if (r.step < 0) {
      r = {r.start + (r.length - 1) * r.step, r.length, -r.step};
      w.reversed.push_back(a);
    }
    if (r.length == 0) r = {0, 0, 1};
    w.region.file[in_file(a)] = head.shape[a];
    w.region.axes[static_cast<std::size_t>(in_file(a))] = r;
  }
  if (!o.split) return w;
  const i64 axis = normalize_axis(*o.split, ndim, cat("load '", path, "'"));
  w.split = in_file(axis);
  w.part = Partition::even(w.shape()[*w.split], o.comm.size());
  w.turned = std::find(w.reversed.begin(), w.reversed.end(), axis) != w.reversed.end();
  return w;
}

// Reads that go on after the first failure with numbers that nobody will see.
struct Reader {
  const ReadRegion& read;
  DType dtype;
  std::string problem{};

  Array operator()(const Region& region) {
    Array x;
    if (problem.empty()) problem = problem_of([&] { x = read(region); });
    return problem.empty() ? x : tessera::zeros(region.shape(), dtype);
  }
};

// Whole rows are read, slab by slab, and change hands.
Array read_rows(const Wanted& w, Reader& read, const Communicator& comm) {
  const Shape shape = w.shape();
  Shape own = shape;
  Boxes to;
  for (int r = 0; r < comm.size(); ++r) to.push_back(w.box(r));
  own[*w.split] = w.part.count(comm.rank());
  const Array mine = empty_dense(own, read.dtype);
  const i64 row = bytes_of_row(shape, size_of(read.dtype));
  in_slabs(shape[0], row, slab_bytes * comm.size(), [&](i64 begin, i64 end) {
    Shape slab = shape;
    slab[0] = end - begin;
    const Partition part = Partition::even(slab[0], comm.size());
    const Array rows =
        read(w.piece(0, begin + part.begin(comm.rank()), begin + part.end(comm.rank())));
    Relayout(slab, boxes_of(slab, {0, part}, comm.size()), to)
        .run_into(rows, mine.slice(0, begin, end), comm);
  });
  return mine;
}

}  // namespace

void save_numbers(const std::string& path, const DNDarray& x, const BeginFile& begin) {
  const DNDarray shared = shared_out(x);
  NewFile file(path, x.comm(), begin);
  std::optional<SharedWriter> out;
  std::string problem = problem_of([&] { out.emplace(file.name()); });
  if (changes_hands(x.shape(), size_of(x.dtype()), shared.distribution())) {
    const std::string later = Writer(out, file.data(), shared).rows();
    if (problem.empty()) problem = later;
  } else if (problem.empty()) {
    problem = problem_of([&] { Writer(out, file.data(), shared).own_part(); });
  }
  if (problem.empty()) problem = problem_of([&] { out->close(); });
  file.commit(problem);
}

NpyHeader header_for_all(const Communicator& comm, const std::function<NpyHeader()>& look) {
  NpyHeader h;
  comm.agree<IoError>(comm.rank() == 0 ? problem_of([&] { h = look(); }) : "");
  i64 facts[6] = {static_cast<i64>(h.dtype), h.swapped, h.fortran, h.data, h.bytes, h.shape.size()};
  comm.broadcast(facts, sizeof facts, 0);
  h.dtype = static_cast<DType>(facts[0]);
  h.swapped = facts[1] != 0;
  h.fortran = facts[2] != 0;
  h.data = facts[3];
  h.bytes = facts[4];
  h.shape.resize(facts[5]);
  comm.broadcast(h.shape.data(), facts[5] * static_cast<i64>(sizeof(i64)), 0);
  return h;
}

DNDarray load_numbers(const std::string& path, const NpyHeader& head, const LoadOptions& options,
                      const ReadRegion& read_one) {
  const Communicator& comm = options.comm;
  const Wanted w = wanted_of(path, head, options);
  Reader read{read_one, head.dtype};
  Array mine;
  if (w.split && changes_hands(w.shape(), size_of(head.dtype), {w.split, w.part})) {
    mine = read_rows(w, read, comm);
  } else if (w.split) {
    const Box box = w.box(comm.rank());
    mine = read(w.piece(*w.split, box.begin, box.end));
  } else {
    mine = read(w.region);
  }
  comm.agree<IoError>(read.problem);
  Shape shape = w.shape();
  std::optional<i64> split = w.split;
  if (head.fortran) {
    mine = mine.transpose();
    std::reverse(shape.begin(), shape.end());
    if (split) split = shape.size() - 1 - *split;
  }
  if (!w.reversed.empty()) mine = flip(mine, w.reversed).contiguous();
  return DNDarray(mine.to(options.device), shape, {split, w.part}, comm);
}

}  // namespace tessera::dist
