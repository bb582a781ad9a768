// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/snapshot/snapshot_reader.hpp"

#include <algorithm>
#include <cstring>

#include "tessera/array/npy_file.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/store/snapshot/crc32c.hpp"

namespace tessera {
namespace {

constexpr i64 read_at_once = i64{1} << 22;
constexpr i64 sums_at_once = 1024;

// A file, or bytes in memory.
struct SnapshotSource {
  std::shared_ptr<const FileReader> file;
  std::span<const std::byte> memory;

  i64 size() const { return file ? file->size() : static_cast<i64>(memory.size()); }
  void read(i64 offset, void* to, i64 n) const {
    if (file) return file->read(offset, to, n);
    if (n > 0) std::memcpy(to, memory.data() + offset, static_cast<std::size_t>(n));
  }
};

// Reads bytes of one array, in whole pieces, and checks each.
class PieceReader {
 public:
  PieceReader(const SnapshotSource& source, const SnapshotEntry& entry, const std::string& who)
      : source_(source), entry_(entry), who_(who), bytes_(entry.bytes()) {}

  void read(i64 from, i64 n, std::byte* to) {
    while (n > 0) {
      const i64 inside = from % entry_.piece;
      const i64 whole = inside != 0 ? 0
                        : from + n == bytes_
                            ? std::min(n, most_at_once())
                            : std::min(n / entry_.piece * entry_.piece, most_at_once());
      i64 done = whole;
      if (whole > 0) {
        source_.read(entry_.offset + from, to, whole);
        check(from / entry_.piece, to, whole);
      } else {
        hold(from / entry_.piece);
        done = std::min(n, static_cast<i64>(held_bytes_.size()) - inside);
        std::memcpy(to, held_bytes_.data() + inside, static_cast<std::size_t>(done));
      }
      from += done;
      to += done;
      n -= done;
    }
  }

 private:
  i64 most_at_once() const { return std::max(entry_.piece, read_at_once); }  // of whole pieces

  void hold(i64 piece) {
    if (piece == held_) return;
    const i64 from = piece * entry_.piece, n = std::min(entry_.piece, bytes_ - from);
    held_ = -1;
    held_bytes_.resize(static_cast<std::size_t>(n));
    source_.read(entry_.offset + from, held_bytes_.data(), n);
    check(piece, held_bytes_.data(), n);
    held_ = piece;
  }

  void check(i64 piece, const std::byte* p, i64 n) {
    for (; n > 0; ++piece) {
      const i64 part = std::min(n, entry_.piece);
      require<IoError>(crc32c(p, part) == sum(piece), who_, ": bytes ", piece * entry_.piece,
                       " to ", piece * entry_.piece + part, " of array '", entry_.name,
                       "' are damaged: their checksum is wrong");
      p += part;
      n -= part;
    }
  }

  std::uint32_t sum(i64 piece) {
    if (piece < first_sum_ || piece - first_sum_ >= static_cast<i64>(sums_.size())) {
      first_sum_ = piece;
      sums_.resize(static_cast<std::size_t>(std::min(sums_at_once, entry_.pieces() - piece)));
      source_.read(entry_.sums + 4 * piece, sums_.data(), 4 * static_cast<i64>(sums_.size()));
    }
    return sums_[static_cast<std::size_t>(piece - first_sum_)];
  }

  const SnapshotSource& source_;
  const SnapshotEntry& entry_;
  const std::string& who_;
  i64 bytes_;
  i64 held_ = -1, first_sum_ = 0;
  std::vector<std::byte> held_bytes_;
  std::vector<std::uint32_t> sums_;
};

// The ranges of all axes; IndexError where they do not fit.
std::vector<SnapshotRange> every_range(const SnapshotEntry& e,
                                       std::span<const SnapshotRange> given) {
  require<IndexError>(static_cast<i64>(given.size()) <= e.shape.size(), "array '", e.name,
                      "' of shape ", e.shape, " has ", e.shape.size(), " axes; ", given.size(),
                      " ranges were given");
  std::vector<SnapshotRange> all(given.begin(), given.end());
  for (i64 a = static_cast<i64>(all.size()); a < e.shape.size(); ++a)
    all.push_back({0, e.shape[a], 1});
  for (i64 a = 0; a < e.shape.size(); ++a) {
    const SnapshotRange& r = all[static_cast<std::size_t>(a)];
    const bool fits = r.begin >= 0 && r.count >= 0 && r.step > 0 &&
                      (r.count == 0 || (r.begin < e.shape[a] &&
                                        (r.count - 1) <= (e.shape[a] - 1 - r.begin) / r.step));
    require<IndexError>(fits, "array '", e.name, "': ", r.count, " elements from ", r.begin,
                        " in steps of ", r.step, " leave axis ", a, " of size ", e.shape[a]);
  }
  return all;
}

// A bool of C++ is 0 or 1, whatever a file says.
void make_bools(const Array& x) {
  if (x.dtype() != DType::b1) return;
  auto* p = static_cast<std::byte*>(x.host_data());
  for (i64 i = 0; i < x.bytes(); ++i) p[i] = std::byte{p[i] != std::byte{0}};
}

void read_ranges(PieceReader& pieces, const SnapshotEntry& e,
                 const std::vector<SnapshotRange>& ranges, std::byte* to) {
  // The last axes that are taken whole, and one more with step 1, lie together.
  i64 run = size_of(e.dtype), axis = e.shape.size() - 1;
  const auto whole = [&](i64 a) {
    const SnapshotRange& r = ranges[static_cast<std::size_t>(a)];
    return r.step == 1 && r.count == e.shape[a];
  };
  for (; axis >= 0 && whole(axis); --axis) run *= e.shape[axis];
  const i64 inner = run;
  i64 first = 0;  // of the run within its axis, in bytes
  if (axis >= 0 && ranges[static_cast<std::size_t>(axis)].step == 1) {
    first = ranges[static_cast<std::size_t>(axis)].begin * inner;
    run *= ranges[static_cast<std::size_t>(axis)].count;
    --axis;
  }
  std::vector<i64> strides(static_cast<std::size_t>(e.shape.size()), size_of(e.dtype));
  for (i64 a = e.shape.size() - 2; a >= 0; --a)
    strides[static_cast<std::size_t>(a)] =
        strides[static_cast<std::size_t>(a) + 1] * e.shape[a + 1];
  std::vector<i64> at(static_cast<std::size_t>(axis + 1), 0);
  while (true) {
    i64 from = first;
    for (std::size_t a = 0; a < at.size(); ++a)
      from += (ranges[a].begin + at[a] * ranges[a].step) * strides[a];
    pieces.read(from, run, to);
    to += run;
    i64 a = axis;
    for (; a >= 0 && ++at[static_cast<std::size_t>(a)] == ranges[static_cast<std::size_t>(a)].count;
         --a)
      at[static_cast<std::size_t>(a)] = 0;
    if (a < 0) return;
  }
}

}  // namespace

struct Snapshot::Impl {
  SnapshotSource source;
  std::string who;
  i64 alignment = 0, slot_at = first_slot;
  SnapshotSlot slot;
  std::vector<SnapshotEntry> entries;
  std::string description;

  void open() {
    std::vector<std::byte> head(static_cast<std::size_t>(std::min<i64>(16, source.size())));
    source.read(0, head.data(), static_cast<i64>(head.size()));
    alignment = alignment_of(head, who);
    head.resize(static_cast<std::size_t>(std::min(alignment, source.size())));
    source.read(0, head.data(), static_cast<i64>(head.size()));
    slot = newest_slot(head, source.size(), who);
    const auto first = decode_slot(std::span(head).subspan(
        first_slot, std::min<std::size_t>(slot_bytes, head.size() - first_slot)));
    if (!first || !(*first == slot)) slot_at = alignment / 2;
    std::string text(static_cast<std::size_t>(slot.metadata_bytes), '\0');
    source.read(slot.metadata, text.data(), slot.metadata_bytes);
    require<IoError>(crc32c(text.data(), slot.metadata_bytes) == slot.metadata_sum, who,
                     ": its metadata are damaged: their checksum is wrong");
    const std::size_t line = text.find('\n');
    require<IoError>(line != text.npos, who, ": its metadata are one line; expected two");
    entries = decode_index(std::string_view(text).substr(0, line), alignment, slot.end, who);
    description = text.substr(line + 1);
  }
  const SnapshotEntry& entry(i64 i) const {
    require<IndexError>(i >= 0 && i < static_cast<i64>(entries.size()), who, ": array ", i, " of ",
                        entries.size());
    return entries[static_cast<std::size_t>(i)];
  }
};

Snapshot::Snapshot(const std::string& path) {
  tag_io("read");
  auto impl = std::make_shared<Impl>();
  impl->source.file = std::make_shared<const FileReader>(path);
  impl->who = cat("'", path, "'");
  impl->open();
  impl_ = std::move(impl);
}

Snapshot::Snapshot(std::span<const std::byte> bytes, std::string who) {
  auto impl = std::make_shared<Impl>();
  impl->source.memory = bytes;
  impl->who = std::move(who);
  impl->open();
  impl_ = std::move(impl);
}

const std::vector<SnapshotEntry>& Snapshot::entries() const { return impl_->entries; }
const std::string& Snapshot::description() const { return impl_->description; }
const SnapshotSlot& Snapshot::slot() const { return impl_->slot; }
i64 Snapshot::slot_at() const { return impl_->slot_at; }
i64 Snapshot::alignment() const { return impl_->alignment; }

i64 Snapshot::find(std::string_view name) const {
  std::string known;
  for (std::size_t i = 0; i < impl_->entries.size(); ++i) {
    if (impl_->entries[i].name == name) return static_cast<i64>(i);
    if (i < 20) known += cat(i == 0 ? "'" : ", '", impl_->entries[i].name, "'");
  }
  throw IndexError(cat(impl_->who, ": no array '", name, "'; it has ",
                       known.empty() ? "none" : known, impl_->entries.size() > 20 ? ", ..." : ""));
}

Array Snapshot::read(i64 entry) const { return read(entry, {}); }

Array Snapshot::read(i64 entry, std::span<const SnapshotRange> given) const {
  const SnapshotEntry& e = impl_->entry(entry);
  const auto ranges = every_range(e, given);
  Shape shape;
  for (const SnapshotRange& r : ranges) shape.push_back(r.count);
  tag_io("read");
  Array out(Storage::allocate(cpu, count_of(shape) * size_of(e.dtype)), Layout::contiguous(shape),
            e.dtype);
  if (out.size() == 0) return out;
  PieceReader pieces(impl_->source, e, impl_->who);
  read_ranges(pieces, e, ranges, static_cast<std::byte*>(out.host_data()));
  make_bools(out);
  return out;
}

void Snapshot::check() const {
  std::vector<std::byte> part(static_cast<std::size_t>(read_at_once));
  for (const SnapshotEntry& e : impl_->entries) {
    PieceReader pieces(impl_->source, e, impl_->who);
    for (i64 at = 0, bytes = e.bytes(); at < bytes; at += read_at_once)
      pieces.read(at, std::min(read_at_once, bytes - at), part.data());
  }
}

}  // namespace tessera
