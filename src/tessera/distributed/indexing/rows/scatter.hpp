// SPDX-License-Identifier: Apache-2.0
#pragma once
// x[positions on the split axis] = value: rows go straight from who has them to who owns their
// places, the last of equal places alone. All ranks know the
// positions: only rows travel. The value fits the result's shape.
//   KnownScatter(x, key, value).run();

#include "tessera/distributed/indexing/rows/value_rows.hpp"

namespace tessera::dist {

// Every rank knows all places, some ranks have the value. Each pair of ranks knows what it
// exchanges: every row of the value that the one has and the other needs, once.
class KnownScatter {
 public:
  KnownScatter(const DNDarray& x, const NormalKey& key, const DNDarray& value);
  void count(Transfers& t) const;
  void run() const;  // collective

 private:
  // The places of `owner` whose values `holder` has; which of `rows`, numbers of the holder's own
  // rows, each of them gets.
  struct Share {
    int holder = 0;
    std::vector<i64> ids;
    Distinct rows;
  };
  Share share(int holder, int owner) const;
  Array rows_of(const Share& s) const;
  Shape shape_of(const Share& s) const;
  void write(const Share& s, const Array& rows) const;

  const DNDarray& x_;
  const DNDarray& value_;
  const IndexedRows rows_;
  const OwnRows own_;
  NumberList ids_, entries_;
  std::vector<i64> bounds_;
};

// Every rank knows all places and the whole value: each writes its own.
void write_own_places(const DNDarray& x, const NormalKey& key, const DNDarray& value);

}  // namespace tessera::dist
