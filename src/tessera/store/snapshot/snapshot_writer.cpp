// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/snapshot/snapshot_writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "tessera/array/npy_file.hpp"
#include "tessera/base/tags.hpp"
#include "tessera/store/snapshot/crc32c.hpp"
#include "tessera/store/snapshot/snapshot_format.hpp"
#include "tessera/store/snapshot/snapshot_reader.hpp"

namespace tessera {
namespace {

using Bytes = std::function<void(const void*, i64)>;

constexpr i64 copied_at_once = i64{1} << 22;

// The elements in C order. Only what is not dense in host memory is copied, in parts.
void each_byte(const Array& x, const Bytes& sink) {
  if (x.size() == 0) return;
  if (x.ndim() == 0 || (x.device() == cpu && x.is_contiguous()) || x.bytes() <= copied_at_once) {
    const Array here = x.contiguous().to(cpu);
    return sink(here.host_data(), here.bytes());
  }
  const i64 row = x.bytes() / x.shape(0), rows = std::max<i64>(1, copied_at_once / row);
  for (i64 i = 0; i < x.shape(0); i += rows)
    each_byte(row > copied_at_once && x.ndim() > 1 ? x.select(0, i)
                                                   : x.slice(0, i, std::min(i + rows, x.shape(0))),
              sink);
}

// What comes after the head, wherever it goes.
class SnapshotBody {
 public:
  SnapshotBody(i64 begin, i64 alignment, Bytes append)
      : at_(begin), alignment_(alignment), append_(std::move(append)) {}

  void keep(SnapshotEntry entry) { entries_.push_back(std::move(entry)); }

  void add(const std::string& name, const Array& x) { add(snapshot_payload(name, x)); }
  void add(const SnapshotPayload& source) {
    pad(alignment_);
    SnapshotEntry e{source.name, source.dtype, source.shape, at_};
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(e.pieces()), 0);
    i64 done = 0;
    source.each_part([&](const void* from, i64 n) {
      require<ArgumentError>(n <= e.bytes() - done, "save: '", e.name, "' has ", e.bytes(),
                             " bytes, and more were given");
      put(from, n);
      for (const auto* p = static_cast<const std::byte*>(from); n > 0;) {
        const i64 part = std::min(n, e.piece - done % e.piece);
        std::uint32_t& sum = sums[static_cast<std::size_t>(done / e.piece)];
        sum = crc32c(p, part, sum);
        p += part;
        done += part;
        n -= part;
      }
    });
    require<ArgumentError>(done == e.bytes(), "save: '", e.name, "' has ", e.bytes(),
                           " bytes, and ", done, " were given");
    pad(8);
    e.sums = at_;
    put(sums.data(), 4 * e.pieces());
    entries_.push_back(std::move(e));
  }

  // The metadata: two texts, the first without an end of line in it.
  SnapshotSlot finish(std::string_view description, std::uint64_t generation) {
    pad(8);
    const std::string text = cat(encoded_index(entries_), "\n", description);
    const i64 at = at_, n = static_cast<i64>(text.size());
    put(text.data(), n);
    return {generation, at, n, at_, crc32c(text.data(), n)};
  }

 private:
  void put(const void* from, i64 n) {
    append_(from, n);
    at_ += n;
  }
  void pad(i64 alignment) {
    const std::vector<std::byte> zeros(static_cast<std::size_t>(aligned_up(at_, alignment) - at_));
    put(zeros.data(), static_cast<i64>(zeros.size()));
  }

  i64 at_, alignment_;
  Bytes append_;
  std::vector<SnapshotEntry> entries_;
};

// A file that is there, opened to be added to by one process at a time.
class AppendedFile {
 public:
  explicit AppendedFile(const std::string& path) : path_(path) {
    file_ = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    require<IoError>(file_ >= 0, "cannot open '", path, "': ", std::strerror(errno));
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      close(file_);
      throw IoError(cat("cannot append to '", path, "': somebody else is appending to it"));
    }
  }
  ~AppendedFile() {
    // What was written of something that failed is behind the end, and nobody looks there.
    if (unfinished_ >= 0 && ftruncate(file_, unfinished_) != 0) errno = 0;
    close(file_);
  }
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  void begin(i64 end) { unfinished_ = end; }
  void finished() { unfinished_ = -1; }
  void write_at(i64 offset, const void* from, i64 n) const {
    const auto* p = static_cast<const char*>(from);
    while (n > 0) {
      const auto done =
          pwrite(file_, p, static_cast<std::size_t>(std::min(n, i64{1} << 30)), offset);
      if (done < 0 && errno == EINTR) continue;
      require<IoError>(done >= 0, "cannot append to '", path_, "': ", std::strerror(errno));
      p += done;
      offset += done;
      n -= done;
    }
  }
  void synchronise() const {
    require<IoError>(fsync(file_) == 0 || errno == EINVAL, "cannot append to '", path_,
                     "': ", std::strerror(errno));
  }

 private:
  std::string path_;
  int file_ = -1;
  i64 unfinished_ = -1;
};

}  // namespace

SnapshotPayload snapshot_payload(const std::string& name, const Array& x) {
  return {name, x.dtype(), x.shape(), [x](const Bytes& sink) { each_byte(x, sink); }};
}

void save_snapshot(const std::string& path, const NamedArrays& arrays,
                   std::string_view description) {
  std::vector<SnapshotPayload> sources;
  for (const auto& [name, x] : arrays) sources.push_back(snapshot_payload(name, x));
  save_snapshot(path, sources, description);
}

void save_snapshot(const std::string& path, std::span<const SnapshotPayload> sources,
                   std::string_view description) {
  tag_io("write");
  FileWriter file(path);
  const std::vector<std::byte> room(static_cast<std::size_t>(snapshot_page));
  file.write(room.data(), snapshot_page);
  SnapshotBody body(snapshot_page, snapshot_page,
                    [&](const void* from, i64 n) { file.write(from, n); });
  for (const SnapshotPayload& source : sources) body.add(source);
  const std::vector<std::byte> head = encoded_head(snapshot_page, body.finish(description, 1));
  file.write_at(0, head.data(), snapshot_page);
  file.commit(/*durable=*/true);
}

i64 encoded_bytes(const NamedArrays& arrays, std::string_view description) {
  std::vector<SnapshotEntry> entries;
  i64 at = snapshot_in_memory;
  for (const auto& [name, x] : arrays) {
    at = aligned_up(at, snapshot_in_memory);
    SnapshotEntry& e = entries.emplace_back(SnapshotEntry{name, x.dtype(), x.shape(), at});
    e.sums = aligned_up(at + e.bytes(), 8);
    at = e.sums + 4 * e.pieces();
  }
  return aligned_up(at, 8) +
         static_cast<i64>(encoded_index(entries).size() + 1 + description.size());
}

void encode_snapshot(const NamedArrays& arrays, std::string_view description,
                     std::span<std::byte> to) {
  constexpr i64 alignment = snapshot_in_memory;
  i64 at = alignment;
  SnapshotBody body(at, alignment, [&](const void* from, i64 n) {
    require<ArgumentError>(n <= static_cast<i64>(to.size()) - at, "save: room for ", to.size(),
                           " bytes, and the file has more");
    if (n > 0) std::memcpy(to.data() + at, from, static_cast<std::size_t>(n));
    at += n;
  });
  for (const auto& [name, x] : arrays) body.add(name, x);
  const std::vector<std::byte> head = encoded_head(alignment, body.finish(description, 1));
  std::memcpy(to.data(), head.data(), head.size());
}

std::string encode_snapshot(const NamedArrays& arrays, std::string_view description) {
  std::string out(static_cast<std::size_t>(encoded_bytes(arrays, description)), '\0');
  encode_snapshot(arrays, description, std::as_writable_bytes(std::span(out.data(), out.size())));
  return out;
}

void append_snapshot(const std::string& path, std::uint64_t generation, std::span<const i64> kept,
                     const NamedArrays& arrays, std::string_view description) {
  tag_io("write");
  AppendedFile file(path);
  const Snapshot old(path);
  const SnapshotSlot before = old.slot();
  require<IoError>(before.generation == generation, "cannot append to '", path,
                   "': somebody else appended to it meanwhile");
  i64 at = before.end;
  file.begin(at);
  SnapshotBody body(at, old.alignment(), [&](const void* from, i64 n) {
    file.write_at(at, from, n);
    at += n;
  });
  for (const i64 i : kept) {
    require<IndexError>(i >= 0 && i < static_cast<i64>(old.entries().size()), "append: array ", i,
                        " of ", old.entries().size(), " in '", path, "'");
    body.keep(old.entries()[static_cast<std::size_t>(i)]);
  }
  for (const auto& [name, x] : arrays) body.add(name, x);
  const auto slot = encoded(body.finish(description, before.generation + 1));
  file.synchronise();
  // The slot that is damaged or older goes first: until it is whole, the other one holds.
  const bool second_is_newest = old.slot_at() != first_slot;
  i64 places[] = {old.alignment() / 2, first_slot};
  if (second_is_newest) std::swap(places[0], places[1]);
  file.write_at(places[0], slot.data(), slot_bytes);
  file.finished();
  file.synchronise();
  file.write_at(places[1], slot.data(), slot_bytes);
  file.synchronise();
}

}  // namespace tessera
