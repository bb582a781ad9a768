// SPDX-License-Identifier: Apache-2.0
// Reductions and scans between machines by MPI's own calls, with our arithmetic (comm/combine):
// MPI's has other NaNs, no complex minima and no half types. Where all ranks are on one machine the
// defaults of Transport are quicker.
#include <cstring>
#include <map>

#include "tessera/comm/combine.hpp"
#include "tessera/comm/mpi/mpi_transport.hpp"

namespace tessera::mpi {
namespace {

constexpr i64 most_numbers = i64{1} << 26;  // of one call: bounds the memory beside the data

// MPI hands nothing but the type of the elements to who combines them: a type for each way. Looked
// at inside of calls of MPI alone, which are made one at a time (World::call).
struct Ways {
  std::map<std::pair<DType, Combine>, MPI_Datatype> types;
  std::map<MPI_Datatype, std::pair<DType, Combine>> meaning;
  MPI_Op op = MPI_OP_NULL;
};
Ways& ways() {
  static auto* all = new Ways;  // MPI may ask until the process ends
  return *all;
}

// inout = in op inout: `in` is of the earlier ranks, and stays as it is.
void combine_as_told(void* in, void* inout, int* length, MPI_Datatype* type) {
  const std::pair<DType, Combine> way = ways().meaning.at(*type);
  const std::size_t bytes = static_cast<std::size_t>(*length * size_of(way.first));
  std::vector<std::byte> earlier(bytes);
  std::memcpy(earlier.data(), in, bytes);
  combine(earlier.data(), inout, *length, way.first, way.second);
  std::memcpy(inout, earlier.data(), bytes);
}

struct Reduction {
  MPI_Datatype type;
  MPI_Op op;
};
Reduction reduction_of(World& world, DType dtype, Combine how) {
  Reduction found{MPI_DATATYPE_NULL, MPI_OP_NULL};
  world.call([&] {
    Ways& all = ways();
    int code = MPI_SUCCESS;
    if (all.op == MPI_OP_NULL) code = MPI_Op_create(&combine_as_told, /*commutes*/ 0, &all.op);
    MPI_Datatype& type = all.types.try_emplace({dtype, how}, MPI_DATATYPE_NULL).first->second;
    if (code == MPI_SUCCESS && type == MPI_DATATYPE_NULL) {
      code = MPI_Type_contiguous(static_cast<int>(size_of(dtype)), MPI_BYTE, &type);
      if (code == MPI_SUCCESS) code = MPI_Type_commit(&type);
      all.meaning[type] = {dtype, how};
    }
    found = {type, all.op};
    return code;
  });
  return found;
}

}  // namespace

void MpiTransport::allreduce(void* data, i64 count, DType dtype, Combine op) {
  if (count == 0 || size() == 1) return;
  if (mailbox()) return Transport::allreduce(data, count, dtype, op);
  const Reduction way = reduction_of(world_, dtype, op);
  for (i64 begin = 0; begin < count; begin += most_numbers)
    collective([&](MPI_Request* r) {
      return MPI_Iallreduce(MPI_IN_PLACE, static_cast<std::byte*>(data) + begin * size_of(dtype),
                            static_cast<int>(std::min(most_numbers, count - begin)), way.type,
                            way.op, comm_, r);
    });
}

void MpiTransport::exclusive_scan(void* data, i64 count, DType dtype, Combine op) {
  if (count > 0 && size() > 1 && mailbox())
    return Transport::exclusive_scan(data, count, dtype, op);
  const Reduction way = reduction_of(world_, dtype, op);
  for (i64 begin = 0; begin < count && size() > 1; begin += most_numbers)
    collective([&](MPI_Request* r) {
      return MPI_Iexscan(MPI_IN_PLACE, static_cast<std::byte*>(data) + begin * size_of(dtype),
                         static_cast<int>(std::min(most_numbers, count - begin)), way.type, way.op,
                         comm_, r);
    });
  if (rank_ == 0 && count > 0)
    std::memset(data, 0, static_cast<std::size_t>(count * size_of(dtype)));
}

}  // namespace tessera::mpi
