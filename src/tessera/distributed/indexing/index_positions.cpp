// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/indexing/index_positions.hpp"

#include <algorithm>
#include <cstdint>

#include "tessera/base/sign_bits.hpp"
#include "tessera/distributed/wire/to_index.hpp"
#include "tessera/kernels/copy/copy.hpp"

namespace tessera::dist {
namespace {

// A distributed key remembers all of itself, as it travels, while that is not much.
std::string whole_within(i64 size) { return cat("whole within ", size); }

}  // namespace

bool ascending(std::span<const i64> v) {
  // Looked at in whole blocks: differences of numbers that are not negative do not overflow.
  // A short one first, as most lists that do not ascend end there; long ones come faster.
  i64 block = 1024;
  const i64 last = static_cast<i64>(v.size()) - 1;
  for (i64 begin = 0; begin < last; begin += block, block = 16384) {
    const i64* const from = v.data() + begin;
    const auto bits = [&](i64 i) { return static_cast<std::uint64_t>(from[i]); };
    if (any_negative(std::min(block, last - begin),
                     [&](i64 i) { return (bits(i + 1) - bits(i)) | bits(i); }))
      return false;
  }
  return v.empty() || v.back() >= 0;
}

Array checked_positions(const Array& positions, i64 axis, i64 size) {
  const Array dense = positions.to(cpu).astype(DType::i64).contiguous();
  const i64* from = dense.host<i64>();
  const i64 n = dense.size();
  const auto range = static_cast<std::uint64_t>(size);
  const auto bits = [&](i64 i) { return static_cast<std::uint64_t>(from[i]); };
  if (!any_negative(n, [&](i64 i) { return bits(i) | (range - 1 - bits(i)); })) return dense;
  std::uint64_t outside = 0;  // without branches: [-size, size) is one unsigned range
  for (i64 i = 0; i < n; ++i) outside |= static_cast<std::uint64_t>(bits(i) + range >= 2 * range);
  if (outside != 0)  // the first of them is named
    for (i64 i = 0; i < n; ++i) resolve_integer(from[i], axis, size);
  const Array out =
      Array(Storage::allocate(cpu, n * 8), Layout::contiguous(dense.shape()), DType::i64);
  i64* to = out.host<i64>();
  for (i64 i = 0; i < n; ++i) to[i] = from[i] < 0 ? from[i] + size : from[i];
  return out;
}

DType type_of_positions(i64 size) {
  if (size <= i64{1} << 8) return DType::u8;
  if (size <= i64{1} << 16) return DType::u16;
  return size <= i64{1} << 32 ? DType::u32 : DType::i64;
}

i64 bytes_of_position(const Shape& shape) {
  i64 bytes = 0;
  for (const i64 n : shape) bytes += size_of(type_of_positions(n));
  return bytes;
}

Array own_checked(const DNDarray& positions, i64 axis, i64 size, std::string& problem) {
  try {
    return checked_positions(positions.resident(), axis, size);
  } catch (const IndexError& e) {
    if (problem.empty()) problem = e.what();
    return zeros(positions.resident().shape(), DType::i64);
  }
}

DNDarray narrowed(const DNDarray& positions, i64 axis, i64 size, std::string& problem) {
  const Array mine = own_checked(positions, axis, size, problem);
  return DNDarray(mine.astype(type_of_positions(size)), positions.shape(), positions.distribution(),
                  positions.comm());
}

void check_values(const DNDarray& x, NormalKey& k) {
  const bool looked_at = count_of(k.plan.lead) > 0;  // NumPy leaves values alone that it drops
  k.ascends.assign(k.plan.arrays.size(), false);
  for (std::size_t a = 0; a < k.plan.arrays.size(); ++a) {
    if (k.distribution[a]) continue;
    const i64 axis = k.plan.axes[static_cast<i64>(a)];
    Array& p = k.plan.arrays[a];
    p = p.to(cpu).astype(DType::i64);
    if (!looked_at) continue;
    p = p.contiguous();
    const i64* v = p.host<i64>();
    k.ascends[a] =
        v[0] >= 0 && v[p.size() - 1] < x.shape(axis) && ascending({v, to_index(p.size())});
    if (!k.ascends[a]) p = checked_positions(p, axis, x.shape(axis));
  }
}

bool all_ranges_known(const NormalKey& key) {
  for (const DNDarray& a : key.distribution)
    if (a && !a.recall(value_range)) return false;
  return true;
}

bool within_ranges(const DNDarray& x, const NormalKey& key) {
  for (std::size_t a = 0; a < key.distribution.size(); ++a) {
    if (!key.distribution[a] || count_of(key.plan.lead) == 0) continue;
    const auto range =
        std::static_pointer_cast<const ValueRange>(key.distribution[a].recall(value_range));
    const i64 size = x.shape(key.plan.axes[static_cast<i64>(a)]);
    if (range->least < -size || range->most >= size) return false;
  }
  return true;
}

void throw_first_problem(const DNDarray& x, const NormalKey& key) {
  for (std::size_t a = 0; a < key.distribution.size(); ++a) {
    const i64 axis = key.plan.axes[static_cast<i64>(a)];
    checked_positions(key.distribution[a] ? key.distribution[a].gathered() : key.plan.arrays[a],
                      axis, x.shape(axis));
  }
  throw IndexError("an index array holds positions that are out of bounds");
}

bool known_whole(const DNDarray& positions, i64 size) {
  return positions.recall(whole_within(size)) != nullptr;
}

NormalKey gathered(const DNDarray& x, const NormalKey& key) {
  NormalKey k = key;
  const bool looked_at = count_of(k.plan.lead) > 0, known = all_ranges_known(key);
  if (known && !within_ranges(x, key)) throw_first_problem(x, key);
  std::string problem;
  std::vector<std::pair<std::size_t, Array>> asked;  // what was not known yet
  for (std::size_t a = 0; a < k.distribution.size(); ++a) {
    if (!k.distribution[a]) continue;
    const i64 axis = k.plan.axes[static_cast<i64>(a)], size = x.shape(axis);
    k.distribution[a] = {};
    if (!looked_at) {
      k.plan.arrays[a] = zeros(key.distribution[a].shape(), DType::i64);
      continue;
    }
    auto whole =
        std::static_pointer_cast<const Array>(key.distribution[a].recall(whole_within(size)));
    if (!whole) {
      whole = std::make_shared<const Array>(
          narrowed(key.distribution[a], axis, size, problem).gathered());
      asked.emplace_back(a, *whole);
    }
    k.plan.arrays[a] = whole->astype(DType::i64);
  }
  if (!asked.empty() && !known && !x.comm().first_problem(problem).empty())
    throw_first_problem(x, key);
  for (const auto& [a, whole] : asked)
    if (whole.bytes() <= most_remembered)
      key.distribution[a].remember(whole_within(x.shape(k.plan.axes[static_cast<i64>(a)])),
                                   std::make_shared<const Array>(whole));
  return k;
}

}  // namespace tessera::dist
