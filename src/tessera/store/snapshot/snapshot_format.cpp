// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/snapshot/snapshot_format.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tessera/store/snapshot/crc32c.hpp"

namespace tessera {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

template <class T>
void put_number(std::byte* to, T v) {
  std::memcpy(to, &v, sizeof v);
}

template <class T>
T number_at(std::span<const std::byte> bytes, i64 at) {
  T v{};
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

bool is_power_of_two(i64 n) { return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n)); }

// A number that is there, whole and not negative.
i64 natural(const json& object, const char* key, const std::string& who) {
  const auto found = object.find(key);
  require<IoError>(found != object.end() && found->is_number_integer(), who, ": an array without '",
                   key, "' in its list of arrays");
  const bool fits = !found->is_number_unsigned() ||
                    found->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
  const i64 v = fits ? found->get<i64>() : -1;
  require<IoError>(v >= 0, who, ": '", key, "' of an array is ", found->dump(),
                   "; expected a number from 0 to 2^63 - 1");
  return v;
}

std::string text_at(const json& object, const char* key, const std::string& who) {
  const auto found = object.find(key);
  require<IoError>(found != object.end() && found->is_string(), who, ": an array without '", key,
                   "' in its list of arrays");
  return found->get<std::string>();
}

Shape shape_at(const json& object, DType dtype, const std::string& who) {
  const auto found = object.find("shape");
  require<IoError>(found != object.end() && found->is_array() && found->size() <= max_rank, who,
                   ": an array without a shape of at most ", max_rank, " axes");
  Shape shape;
  i64 bytes = size_of(dtype);
  for (const json& n : *found) {
    require<IoError>(
        n.is_number_integer() && (!n.is_number_unsigned() || n.get<std::uint64_t>() >> 63 == 0) &&
            n.get<i64>() >= 0,
        who, ": a size of ", n.is_number() ? n.dump() : n.type_name(), " in the shape of an array");
    shape.push_back(n.get<i64>());
  }
  // Zeros count for nothing here: strides are products of the other sizes.
  for (const i64 n : shape)
    require<IoError>(!__builtin_mul_overflow(bytes, std::max<i64>(n, 1), &bytes), who,
                     ": an array of shape ", shape, " has more bytes than can be counted");
  return shape;
}

SnapshotEntry entry_of(const json& object, const std::string& who) {
  require<IoError>(object.is_object(), who, ": its list of arrays holds ", object.type_name(),
                   "s; expected objects");
  SnapshotEntry e;
  e.name = text_at(object, "name", who);
  const std::string dtype = text_at(object, "dtype", who);
  const auto known = parse_dtype(dtype);
  require<IoError>(known && name(*known) == dtype, who, ": an array of dtype '", dtype,
                   "', which is not known");
  e.dtype = *known;
  e.shape = shape_at(object, e.dtype, who);
  e.offset = natural(object, "offset", who);
  e.piece = natural(object, "piece", who);
  e.sums = natural(object, "sums", who);
  return e;
}

void check_place(const SnapshotEntry& e, i64 alignment, i64 end, const std::string& who) {
  const i64 bytes = e.bytes();
  require<IoError>(
      is_power_of_two(e.piece) && e.piece >= snapshot_in_memory && e.piece <= i64{1} << 30, who,
      ": array '", e.name, "' has pieces of ", e.piece,
      " bytes; expected a power of two from 128 to 2^30");
  require<IoError>(e.offset % alignment == 0 && e.offset >= alignment && e.offset <= end &&
                       bytes <= end - e.offset,
                   who, ": array '", e.name, "' of ", bytes, " bytes is said to begin at byte ",
                   e.offset, " of ", end);
  require<IoError>(e.sums >= alignment && e.sums <= end && 4 * e.pieces() <= end - e.sums, who,
                   ": the checksums of array '", e.name, "' are said to begin at byte ", e.sums,
                   " of ", end);
}

void check_apart(const std::vector<SnapshotEntry>& entries, const std::string& who) {
  std::vector<const SnapshotEntry*> by_place, by_name;
  for (const SnapshotEntry& e : entries) {
    by_name.push_back(&e);
    if (e.bytes() > 0) by_place.push_back(&e);
  }
  std::sort(by_place.begin(), by_place.end(),
            [](const auto* a, const auto* b) { return a->offset < b->offset; });
  for (std::size_t i = 1; i < by_place.size(); ++i) {
    const SnapshotEntry &a = *by_place[i - 1], &b = *by_place[i];
    require<IoError>(b.offset - a.offset >= a.bytes(), who, ": arrays '", a.name, "' and '", b.name,
                     "' are said to lie on the same bytes");
  }
  std::sort(by_name.begin(), by_name.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
  for (std::size_t i = 1; i < by_name.size(); ++i)
    require<IoError>(by_name[i - 1]->name != by_name[i]->name, who, ": two arrays are called '",
                     by_name[i]->name, "'");
}

}  // namespace

std::array<std::byte, slot_bytes> encoded(const SnapshotSlot& s) {
  std::array<std::byte, slot_bytes> out{};
  put_number(out.data(), s.generation);
  put_number(out.data() + 8, s.metadata);
  put_number(out.data() + 16, s.metadata_bytes);
  put_number(out.data() + 24, s.end);
  put_number(out.data() + 32, s.metadata_sum);
  put_number(out.data() + 36, crc32c(out.data(), 36));
  return out;
}

std::optional<SnapshotSlot> decode_slot(std::span<const std::byte> b) {
  if (static_cast<i64>(b.size()) < slot_bytes) return {};
  if (number_at<std::uint32_t>(b, 36) != crc32c(b.data(), 36)) return {};
  SnapshotSlot s{number_at<std::uint64_t>(b, 0), number_at<i64>(b, 8), number_at<i64>(b, 16),
                 number_at<i64>(b, 24), number_at<std::uint32_t>(b, 32)};
  return s;
}

std::vector<std::byte> encoded_head(i64 alignment, const SnapshotSlot& slot) {
  std::vector<std::byte> head(static_cast<std::size_t>(alignment));
  std::memcpy(head.data(), snapshot_magic, sizeof snapshot_magic);
  put_number(head.data() + 8, snapshot_version);
  put_number(head.data() + 12, static_cast<std::uint32_t>(alignment));
  const auto bytes = encoded(slot);
  for (const i64 at : {first_slot, alignment / 2})
    std::memcpy(head.data() + at, bytes.data(), bytes.size());
  return head;
}

i64 alignment_of(std::span<const std::byte> head, const std::string& who) {
  require<IoError>(head.size() >= 16 && std::memcmp(head.data(), snapshot_magic, 8) == 0, who,
                   " is no .tessera file: it does not begin with \\x89TESSERA");
  const auto version = number_at<std::uint32_t>(head, 8);
  require<IoError>(version == snapshot_version, who, ": a .tessera file of version ", version,
                   "; this library reads version ", snapshot_version);
  const i64 alignment = number_at<std::uint32_t>(head, 12);
  require<IoError>(is_power_of_two(alignment) && alignment >= snapshot_in_memory &&
                       alignment <= largest_alignment,
                   who, ": an alignment of ", alignment,
                   " bytes; expected a power of two from 128 to 2^20");
  return alignment;
}

SnapshotSlot newest_slot(std::span<const std::byte> head, i64 file_bytes, const std::string& who) {
  const i64 alignment = alignment_of(head, who);
  std::optional<SnapshotSlot> newest;
  for (const i64 at : {first_slot, alignment / 2}) {
    if (at + slot_bytes > static_cast<i64>(head.size())) continue;
    const auto slot = decode_slot(head.subspan(static_cast<std::size_t>(at), slot_bytes));
    if (slot && (!newest || slot->generation > newest->generation)) newest = slot;
  }
  require<IoError>(newest.has_value(), who,
                   ": no valid header slot; both are damaged, or the file was never finished");
  const SnapshotSlot& s = *newest;
  require<IoError>(s.end <= file_bytes, who, ": the file ends after ", file_bytes,
                   " bytes, and its header speaks of ", s.end);
  require<IoError>(s.metadata >= alignment && s.metadata_bytes >= 0 && s.metadata <= s.end &&
                       s.metadata_bytes <= s.end - s.metadata,
                   who, ": ", s.metadata_bytes, " bytes of metadata are said to begin at byte ",
                   s.metadata, " of ", s.end);
  return s;
}

std::string encoded_index(std::span<const SnapshotEntry> entries) {
  json list = json::array();
  std::vector<std::string_view> names;
  for (const SnapshotEntry& e : entries) {
    json shape = json::array();
    for (const i64 n : e.shape) shape.push_back(n);
    list.push_back({{"name", e.name},
                    {"dtype", name(e.dtype)},
                    {"shape", std::move(shape)},
                    {"offset", e.offset},
                    {"piece", e.piece},
                    {"sums", e.sums}});
    names.push_back(e.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  require<ArgumentError>(twice == names.end(), "save: two arrays are called '",
                         twice == names.end() ? std::string_view() : *twice, "'");
  try {
    return json{{"arrays", std::move(list)}}.dump();
  } catch (const json::exception&) {
    throw ArgumentError("save: a name of an array is no UTF-8");
  }
}

std::vector<SnapshotEntry> decode_index(std::string_view text, i64 alignment, i64 end,
                                        const std::string& who) {
  const json index = json::parse(text, nullptr, false);
  const auto list = index.is_object() ? index.find("arrays") : index.end();
  require<IoError>(index.is_object() && list != index.end() && list->is_array(), who,
                   ": its metadata do not begin with a list of arrays");
  std::vector<SnapshotEntry> entries;
  for (const json& object : *list) {
    entries.push_back(entry_of(object, who));
    check_place(entries.back(), alignment, end, who);
  }
  check_apart(entries, who);
  return entries;
}

}  // namespace tessera
