// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/exchange/panels.hpp"

#include "tessera/distributed/array/relayout.hpp"

namespace tessera::dist {
namespace {

// A part of both arrays: all of the split axis, an interval of each of the others.
struct Panel {
  Array in, out;  // of this rank
  Shape shape, result;
  i64 first = 0;  // of the axis that is split
};

class Panels {
 public:
  Panels(const DNDarray& x, const DNDarray& out, const OnLines& f, i64 most)
      : x_(x), out_(out), f_(f), most_(most), axis_(*x.split()) {
    other_ = longest_other(x.shape(), axis_);
  }

  void run(const Panel& p) const {
    const i64 ranks = x_.comm().size();
    const i64 bytes = std::max(count_of(p.shape) * size_of(x_.dtype()),
                               count_of(p.result) * size_of(out_.dtype())) /
                      ranks;
    i64 cut = p.shape[other_] >= 2 * ranks ? other_ : -1;
    for (i64 a = 0; cut < 0 && a < p.shape.size(); ++a)
      if (a != axis_ && a != other_ && p.shape[a] > 1) cut = a;
    if (bytes <= most_ || cut < 0) return map(p);
    const i64 half = p.shape[cut] / 2;
    run(part(p, cut, 0, half));
    run(part(p, cut, half, p.shape[cut]));
  }

 private:
  Panel part(const Panel& p, i64 a, i64 begin, i64 end) const {
    Panel q = p;
    q.in = p.in.slice(a, begin, end);
    q.out = p.out.slice(a, begin, end);
    q.shape[a] = q.result[a] = end - begin;
    if (a == other_) q.first += begin;
    return q;
  }

  void map(const Panel& p) const {
    const Communicator& comm = x_.comm();
    const int ranks = comm.size();
    const Distribution lines{other_, Partition::even(p.shape[other_], ranks)};
    Array whole = Relayout(p.shape, boxes_of(p.shape, x_.distribution(), ranks),
                           boxes_of(p.shape, lines, ranks))
                      .run(p.in, x_.dtype(), comm);
    const Array y = f_(whole, p.first + lines.part.begin(comm.rank()));
    whole = Array();
    const Relayout back(p.result, boxes_of(p.result, lines, ranks),
                        boxes_of(p.result, out_.distribution(), ranks));
    if (y.dtype() == out_.dtype())
      back.run_into(y, p.out, comm);
    else
      p.out.copy_from(back.run(y, y.dtype(), comm));
  }

  const DNDarray &x_, &out_;
  const OnLines& f_;
  i64 most_, axis_, other_ = 0;
};

}  // namespace

i64 longest_other(const Shape& shape, i64 axis) {
  i64 other = axis == 0 ? 1 : 0;
  for (i64 a = 0; a < shape.size(); ++a)
    if (a != axis && shape[a] > shape[other]) other = a;
  return other;
}

void by_panels(const DNDarray& x, const DNDarray& out, const OnLines& f, i64 most) {
  Panels(x, out, f, most).run({x.local(), out.local(), x.shape(), out.shape()});
}

}  // namespace tessera::dist
