// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks as a grid, and matrices on it in blocks that go round the ranks of each row and column
// (block-cyclic). A grid lives for one call: making it costs little beside a factorisation, and
// nothing of it outlasts its communicator.
//   Grid grid(comm);   Matrix a(grid, given);   ...   a.back(given);

#include <vector>

#include "tessera/distributed/linalg/linalg_backend.hpp"
#include "tessera/distributed/linalg/scalapack/routines.hpp"

namespace tessera::dist::scalapack {

class Grid {
 public:
  explicit Grid(const Communicator& comm);
  ~Grid();
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;
  int rows = 1, columns = 1, row = 0, column = 0;
  int context = -1;                   // rows x columns
  int by_rows = -1, by_columns = -1;  // one column of ranks, one row of them

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int handle_ = -1;
};

// A matrix on the grid: its own memory, filled from a distributed one or with zeros.
class Matrix {
 public:
  Matrix(const Grid& grid, i64 rows, i64 columns, DType dtype, i64 block);
  Matrix(const Grid& grid, const DistributedMatrix& from, i64 block);
  void back(DistributedMatrix& to) const;

  void* data() const { return local_.host_data(); }
  const int* d() const { return descriptor_; }
  int local_rows() const { return local_rows_; }
  int local_columns() const { return local_columns_; }
  int block() const { return descriptor_[4]; }
  DType dtype() const { return local_.dtype(); }
  // The row or column of the whole matrix that a local one is.
  i64 global_row(i64 i) const { return global(i, grid_.row, grid_.rows); }
  i64 global_column(i64 j) const { return global(j, grid_.column, grid_.columns); }
  // Zeros where f(row, column) says so.
  template <class F>
  void clear(F&& f) const {
    const auto item = static_cast<std::size_t>(size_of(dtype()));
    auto* p = static_cast<std::byte*>(data());
    for (i64 j = 0; j < local_columns_; ++j)
      for (i64 i = 0; i < local_rows_; ++i)
        if (f(global_row(i), global_column(j)))
          std::fill_n(p + static_cast<std::size_t>(j * leading_ + i) * item, item, std::byte{0});
  }

 private:
  i64 global(i64 k, int me, int ranks) const {
    return (k / block() * ranks + me) * block() + k % block();
  }
  const Grid& grid_;
  int local_rows_ = 0, local_columns_ = 0, leading_ = 1;
  int descriptor_[9] = {};
  Array local_;
};

// Blocks of 64, smaller where not every rank would have one.
i64 block_for(const Grid& grid, i64 rows, i64 columns);

}  // namespace tessera::dist::scalapack
