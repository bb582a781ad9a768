// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/linalg/scalapack/grid.hpp"

#include <algorithm>
#include <limits>

#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist::scalapack {
namespace {

constexpr int one = 1, zero = 0;

int counted(i64 n) {
  require<ShapeError>(n <= std::numeric_limits<int>::max(), "ScaLAPACK counts in 32 bits: ", n,
                      " is too large");
  return static_cast<int>(n);
}

// A matrix as it was distributed: a block of rows or of columns each.
void describe(const Grid& grid, const DistributedMatrix& m, int* d) {
  const bool rows = m.axis == 0;
  const int values[] = {1,
                        rows ? grid.by_rows : grid.by_columns,
                        counted(m.rows),
                        counted(m.columns),
                        counted(std::max<i64>(1, rows ? m.block : m.rows)),
                        counted(std::max<i64>(1, rows ? m.columns : m.block)),
                        0,
                        0,
                        counted(std::max<i64>(1, m.local.shape(0)))};
  std::copy(std::begin(values), std::end(values), d);
}

}  // namespace

Grid::Grid(const Communicator& comm) {
  int mine = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &mine);
  std::vector<int> all(static_cast<std::size_t>(comm.size()));
  comm.allgather(&mine, sizeof mine, all.data());
  MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, comm.size(), all.data(), &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm_);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  handle_ = Csys2blacs_handle(comm_);
  for (int r = 1; r * r <= comm.size(); ++r)
    if (comm.size() % r == 0) rows = r;
  columns = comm.size() / rows;
  auto make = [&](int& c, int m, int n) {
    c = handle_;
    Cblacs_gridinit(&c, "R", m, n);
  };
  make(context, rows, columns);
  make(by_rows, comm.size(), 1);
  make(by_columns, 1, comm.size());
  Cblacs_gridinfo(context, &rows, &columns, &row, &column);
}

Grid::~Grid() {
  for (const int c : {context, by_rows, by_columns}) Cblacs_gridexit(c);
  Cfree_blacs_system_handle(handle_);
  MPI_Comm_free(&comm_);
}

Matrix::Matrix(const Grid& grid, i64 m, i64 n, DType dtype, i64 block) : grid_(grid) {
  const int rows = counted(m), columns = counted(n), b = counted(block);
  local_rows_ = numroc_(&rows, &b, &grid.row, &zero, &grid.rows);
  local_columns_ = numroc_(&columns, &b, &grid.column, &zero, &grid.columns);
  leading_ = std::max(1, local_rows_);
  const int values[] = {1, grid.context, rows, columns, b, b, 0, 0, leading_};
  std::copy(std::begin(values), std::end(values), descriptor_);
  // With a column behind the last one: see Note [reading beyond the end].
  local_ = empty_dense({local_columns_ + 1, leading_}, dtype);
  local_.fill(Value(0));
}

Matrix::Matrix(const Grid& grid, const DistributedMatrix& from, i64 block)
    : Matrix(grid, from.rows, from.columns, from.local.dtype(), block) {
  int d[9];
  describe(grid, from, d);
  pick(dtype(), psgemr2d_, pdgemr2d_, pcgemr2d_, pzgemr2d_)(&d[2], &d[3], from.local.host_data(),
                                                            &one, &one, d, data(), &one, &one,
                                                            descriptor_, &grid.context);
}

void Matrix::back(DistributedMatrix& to) const {
  int d[9];
  describe(grid_, to, d);
  pick(dtype(), psgemr2d_, pdgemr2d_, pcgemr2d_, pzgemr2d_)(&d[2], &d[3], data(), &one, &one,
                                                            descriptor_, to.local.host_data(), &one,
                                                            &one, d, &grid_.context);
}

i64 block_for(const Grid& grid, i64 rows, i64 columns) {
  const i64 least = std::min(rows, columns), most = std::max(grid.rows, grid.columns);
  return std::clamp<i64>(least / most, 1, 64);
}

}  // namespace tessera::dist::scalapack
