// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two matrices of Note [four steps], as ranks hold them: the line that is transformed, seen as
// rows, and the memory of the result. What fft_line.cpp needs and nobody else.
//   SecondMatrix second(part, 0, 0, high, DType::c128, cpu, comm);
//   Array mine = FirstMatrix(x, high, 1, second.columns()).columns(second.columns());
//
// Note [rows that are cut]: ranks have intervals of the line, which end inside of rows. What such a
// row of the first matrix has in the columns of a rank is brought there beforehand. Of the second
// one each rank has the rows that begin in its interval, with room for what reaches beyond it, and
// sends that on at the end.

#include <utility>
#include <vector>

#include "tessera/distributed/array/dnd_array.hpp"
#include "tessera/distributed/array/relayout.hpp"

namespace tessera::dist {

class FirstMatrix {
 public:
  // `wanted`: the columns that each rank will ask for; `unit`: elements of x that make a point.
  FirstMatrix(const DNDarray& x, i64 high, i64 unit, Boxes wanted);
  // Columns [points[r].begin, points[r].end) of all rows, on rank r.
  Array columns(const Boxes& points) const;

 private:
  void bring_cut_rows(const DNDarray& x);
  Boxes in_elements(Boxes boxes) const;

  Shape shape_;  // in elements
  i64 unit_;
  DType dtype_;
  Communicator comm_;
  Boxes wanted_, rows_;
  Array whole_;
  std::vector<std::pair<i64, Array>> cut_;
};

// The memory of a result as rows of `high` points, which are distributed as `given` says, and of
// `more` points behind the last; `front` points of this rank's memory lie before all.
struct SecondMatrix {
  SecondMatrix(const Partition& given, i64 more, i64 front, i64 high, DType dtype, Device device,
               const Communicator& comm);
  // Ends of rows go to the ranks whose intervals they lie in.
  DNDarray finished() const;
  // The columns of the first matrix that become the rows of each rank.
  Boxes columns() const;

  Partition part, rows;
  i64 behind;
  Array line;  // of this rank
  i64 head;    // points before its first row
  DNDarray matrix;
};

}  // namespace tessera::dist
