// SPDX-License-Identifier: Apache-2.0
#include "tessera/linop/rewrite/memory_map.hpp"

#include <algorithm>
#include <tuple>

#include "tessera/array/compact.hpp"

namespace tessera {
namespace {

std::uintptr_t address(const Storage& s) { return reinterpret_cast<std::uintptr_t>(s.data()); }

// Arrays in memory that belongs together: one storage, or several over the same bytes (an array of
// another library that was taken over twice).
struct Region {
  std::uintptr_t begin, end;
  std::vector<Array> arrays;
};

std::vector<Region> regions(std::vector<Array> arrays) {
  std::stable_sort(arrays.begin(), arrays.end(), [](const Array& a, const Array& b) {
    return std::tuple(a.device().kind, a.device().index, address(a.storage())) <
           std::tuple(b.device().kind, b.device().index, address(b.storage()));
  });
  std::vector<Region> all;
  for (Array& a : arrays) {
    const std::uintptr_t begin = address(a.storage()),
                         end = begin + static_cast<std::uintptr_t>(a.storage().bytes());
    const bool inside =
        !all.empty() && all.back().arrays.front().device() == a.device() &&
        (begin < all.back().end || all.back().arrays.front().storage() == a.storage());
    if (!inside) all.push_back({begin, end, {}});
    all.back().end = std::max(all.back().end, end);
    all.back().arrays.push_back(std::move(a));
  }
  return all;
}

std::vector<ByteView> views_of(const Region& r) {
  std::vector<ByteView> views;
  views.reserve(r.arrays.size());
  for (const Array& a : r.arrays)
    views.push_back(
        {static_cast<i64>(address(a.storage()) - r.begin) + a.layout().offset * size_of(a.dtype()),
         a.shape(), a.layout().strides, size_of(a.dtype())});
  return views;
}

// Elements that a view means several times are copied once; what still overlaps goes piece by
// piece.
void copy_elements(const Layout& from, const Array& source, const Layout& to, const Array& target) {
  Layout in = from, out = to;
  for (i64 i = 0; i < in.ndim(); ++i)
    if (in.strides[i] == 0 && in.shape[i] > 1) in.shape[i] = out.shape[i] = 1;
  if (!out.self_overlaps()) {
    target.view(out).copy_from(source.view(in));
    return;
  }
  i64 axis = 0;
  while (in.shape[axis] == 1) ++axis;
  for (i64 k = 0; k < in.shape[axis]; ++k)
    copy_elements(in.select(axis, k), source, out.select(axis, k), target);
}

// The block's bytes, on the device where they come from.
Array gathered(const CompactBlock& block, const Region& region) {
  const Array& first = region.arrays[block.places.front().view];
  if (block.source) {
    const i64 skipped = static_cast<i64>(address(first.storage()) - region.begin),
              start = *block.source - skipped;
    if (start >= 0 && start + block.bytes <= first.storage().bytes())
      return Array(first.storage(), Layout{{block.bytes}, {1}, start}, DType::u8);
  }
  const Storage storage = Storage::allocate(first.device(), block.bytes);
  std::vector<std::pair<Layout, i64>> done;  // the same bytes again, in another order or twice
  for (const CompactBlock::Place& p : block.places) {
    const Array& a = region.arrays[p.view];
    const std::pair same(p.layout, size_of(a.dtype()));
    if (std::find(done.begin(), done.end(), same) != done.end()) continue;
    done.push_back(same);
    copy_elements(a.layout(), a, p.layout, Array(storage, p.layout, a.dtype()));
  }
  return Array(storage, Layout::contiguous({block.bytes}), DType::u8);
}

}  // namespace

bool MemoryMap::Key::operator<(const Key& o) const {
  auto parts = [](const Key& k) {
    return std::tuple(k.data, k.dtype, std::vector<i64>(k.shape.begin(), k.shape.end()),
                      std::vector<i64>(k.strides.begin(), k.strides.end()));
  };
  return parts(*this) < parts(o);
}

MemoryMap::Key MemoryMap::key_of(const Array& a) {
  return {reinterpret_cast<std::uintptr_t>(a.data()), a.dtype(), a.shape(), a.layout().strides};
}

void MemoryMap::add(const Array& a) {
  if (device_ && a.device() == *device_) return;
  const auto [it, fresh] = entries_.emplace(key_of(a), Entry{a, {}});
  if (fresh) waiting_.push_back(it->first);
}

void MemoryMap::add(const NamedLinop& a) {
  (void)a.mapped(
      [this](const Array& array) {
        add(array);
        return array;
      },
      device_);
}

void MemoryMap::lay_out() {
  std::vector<Array> arrays;
  arrays.reserve(waiting_.size());
  for (const Key& k : waiting_) arrays.push_back(entries_.at(k).from);
  for (const Region& region : regions(std::move(arrays)))
    for (const CompactBlock& block : compact(views_of(region))) {
      const Array bytes = gathered(block, region);
      const bool borrowed = bytes.storage() == region.arrays[block.places.front().view].storage();
      const Device device = target(bytes);
      const Storage storage =
          (borrowed && device == bytes.device() ? bytes.copy() : bytes.to(device)).storage();
      bytes_ += block.bytes;
      for (const CompactBlock::Place& p : block.places) {
        const Array& from = region.arrays[p.view];
        entries_.at(key_of(from)).to = Array(storage, p.layout, from.dtype());
      }
    }
  waiting_.clear();
}

NamedLinop MemoryMap::place(const NamedLinop& a) {
  add(a);
  lay_out();
  return a.mapped(
      [this](const Array& array) {
        if (device_ && array.device() == *device_) return array;
        return entries_.at(key_of(array)).to;
      },
      device_);
}

bool crosses_devices(const NamedLinop& a) {
  const std::vector<NamedLinop> parts = a.parts();
  return a.offers().transfer() || std::any_of(parts.begin(), parts.end(), crosses_devices);
}

NamedLinop NamedLinop::to(Device device) const {
  if (!crosses_devices(*this)) return MemoryMap(device).place(*this);
  const std::optional<Device> from = this->device();
  require<DeviceError>(from == device, str(),
                       " says itself which devices it runs on and takes its ", "input on ",
                       from.value_or(cpu), ": it cannot move to ", device,
                       "; move the operator that it was made of, or batch that with base_device");
  return *this;
}

NamedLinop NamedLinop::deep_copy() const {
  const NamedLinop fresh = MemoryMap().place(*this);
  return fresh == *this ? copy() : fresh;
}

std::vector<std::pair<Device, i64>> bytes_by_device(const NamedLinop& a) {
  std::vector<std::pair<Device, i64>> all;
  for (const Region& r : regions(a.arrays())) {
    const Device d = r.arrays.front().device();
    if (all.empty() || !(all.back().first == d)) all.emplace_back(d, 0);
    all.back().second += bytes_of(views_of(r));
  }
  return all;
}

i64 bytes_together(const std::vector<Array>& arrays) {
  i64 n = 0;
  for (const Region& r : regions(arrays)) n += bytes_of(views_of(r));
  return n;
}

std::string memory_report(const NamedLinop& a) {
  std::string text;
  const std::vector<Array> arrays = a.arrays();
  for (const auto& [device, bytes] : bytes_by_device(a)) {
    const auto held = std::count_if(arrays.begin(), arrays.end(),
                                    [d = device](const Array& x) { return x.device() == d; });
    text += cat(text.empty() ? "" : "\n", device, ": ", bytes_text(bytes), " in ", held,
                held == 1 ? " array" : " arrays");
  }
  return text.empty() ? "no arrays" : text;
}

i64 NamedLinop::bytes() const { return bytes_together(arrays()); }

}  // namespace tessera
