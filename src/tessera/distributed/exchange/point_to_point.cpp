// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/exchange/point_to_point.hpp"

namespace tessera::dist {

void exchange(const std::vector<TravelPart>& sends, const std::vector<TravelPart>& receives,
              const DeviceLane* lane, const Communicator& comm) {
  std::vector<TravelPart> out, in;
  const Array *from = nullptr, *to = nullptr;
  for (const TravelPart& p : sends) {
    if (p.rank == comm.rank())
      from = &p.block;
    else if (p.block.size() > 0)
      out.push_back(p);
  }
  for (const TravelPart& p : receives) {
    if (p.rank == comm.rank())
      to = &p.block;
    else if (p.block.size() > 0)
      in.push_back(p);
  }
  exchange_parts(out, in, lane, comm);
  if (from && to) to->copy_from(*from);
}

namespace {

// From here on what may be computed meanwhile is worth a thread.
constexpr i64 worth_a_thread = i64{1} << 20;

bool worth_it(const std::vector<TravelPart>& parts) {
  i64 bytes = 0;
  for (const TravelPart& p : parts) bytes += p.block.device() == cpu ? p.block.bytes() : 0;
  return bytes >= worth_a_thread;
}

}  // namespace

Moving::Moving(std::vector<TravelPart> sends, std::vector<TravelPart> receives,
               const DeviceLane* lane, const Communicator& comm) {
  if (!worth_it(sends) && !worth_it(receives)) {
    exchange(sends, receives, lane, comm);
    return;
  }
  done_ = std::async(std::launch::async, [out = std::move(sends), in = std::move(receives), comm] {
    exchange(out, in, nullptr, comm);
  });
}

void Moving::wait() {
  if (done_.valid()) done_.get();
}

Array stand_in(const Shape& shape, DType dtype) {
  return Array::scalar(Value(0), dtype).view({shape, Strides(shape.size(), 0), 0});
}

Array stand_in(const Layout& layout, DType dtype) {
  static std::byte nowhere;  // an address that nobody reads from
  const i64 bytes = (layout.span().second + 1) * size_of(dtype);
  return Array(Storage::adopt(cpu, &nowhere, bytes, [] {}), layout, dtype);
}

}  // namespace tessera::dist
