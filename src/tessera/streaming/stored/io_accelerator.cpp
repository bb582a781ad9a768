// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/stored/io_accelerator.hpp"

#include <array>
#include <utility>

namespace tessera::streaming {
namespace {

constexpr std::array<std::pair<std::string_view, Access>, 6> patterns = {
    {{"normal", Access::normal},
     {"sequential", Access::sequential},
     {"strided", Access::strided},
     {"reverse", Access::reverse},
     {"random", Access::random},
     {"once", Access::once}}};

}  // namespace

Access access_from(std::string_view text) {
  for (const auto& [name, pattern] : patterns)
    if (name == text) return pattern;
  throw ArgumentError(cat("hint: expected normal, sequential, strided, reverse, random or once, ",
                          "got '", text, "'"));
}

IOAccelerator::IOAccelerator(const StoredArray& array) : shape_(array.shape()) {
  if (array.is_formula())
    stores_ = Program(array.expression()).sources();
  else
    stores_ = {array.store()};
}

Box IOAccelerator::checked(std::string_view who, const Box& box) const {
  store::TileGrid(shape_, Shape(shape_.size(), 1), DType::u8).check(who, box);
  return box;
}

void IOAccelerator::prefetch(const Box& box) const {
  if (checked("prefetch", box).size() == 0) return;
  for (const StorePtr& s : stores_) s->prefetch(beside(box, s->grid().shape()));
}

void IOAccelerator::discard(const Box& box) const {
  if (checked("discard", box).size() == 0) return;
  for (const StorePtr& s : stores_) s->discard(beside(box, s->grid().shape()));
}

void IOAccelerator::hint(Access pattern) const {
  for (const StorePtr& s : stores_) s->advise(pattern);
}

i64 IOAccelerator::resident(const Box& box) const {
  i64 bytes = 0;
  if (checked("resident", box).size() == 0) return bytes;
  for (const StorePtr& s : stores_) bytes += s->resident(beside(box, s->grid().shape()));
  return bytes;
}

void IOAccelerator::flush() const {
  for (const StorePtr& s : stores_) s->flush();
}

}  // namespace tessera::streaming
