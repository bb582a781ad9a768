// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/npz_zip.hpp"

#include <algorithm>
#include <set>

#include "tessera/base/error.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t in_zip64 = 0xffffffff;  // a 32-bit field whose number is in the zip64 part
constexpr i64 most_entries = 1 << 20;
constexpr i64 deflate_ratio = 1032;  // deflate cannot pack tighter

class Directory {
 public:
  Directory(const FileReader& file, i64 most_bytes) : file_(file), most_bytes_(most_bytes) {}

  std::vector<ZipEntry> run() {
    find_end();
    // Even an entry without a name takes 46 bytes: a count that does not fit is a lie.
    need(entries_ <= most_entries && entries_ * 46 <= length_, "its directory of ", length_,
         " bytes claims ", entries_, " entries");
    bytes_.resize(static_cast<std::size_t>(length_));
    file_.read(start_, bytes_.data(), length_);
    std::vector<ZipEntry> found;
    for (i64 i = 0; i < entries_; ++i) found.push_back(next_entry());
    for (ZipEntry& e : found) locate(e);
    check_together(found);
    return found;
  }

 private:
  template <class... Parts>
  void need(bool ok, const Parts&... parts) const {
    if (!ok) throw IoError(cat("'", file_.path(), "': ", parts...));
  }

  void find_end() {
    constexpr i64 record = 22;
    const i64 size = file_.size();
    need(size >= record, size, " bytes; a zip file has at least ", record);
    const i64 tail = std::min<i64>(size, record + 65535);
    std::vector<unsigned char> end(static_cast<std::size_t>(tail));
    file_.read(size - tail, end.data(), tail);
    i64 at = tail - record;
    // The comment must fill the rest of the file exactly, or the signature is part of something
    // else.
    while (at >= 0 &&
           !(little(&end[static_cast<std::size_t>(at)], 4) == zip_end &&
             at + record + static_cast<i64>(little(&end[static_cast<std::size_t>(at + 20)], 2)) ==
                 tail))
      --at;
    need(at >= 0, "not a zip file: no end of a directory was found");
    const unsigned char* p = &end[static_cast<std::size_t>(at)];
    need(little(p + 4, 2) == 0 && little(p + 6, 2) == 0 && little(p + 8, 2) == little(p + 10, 2),
         "an archive over several disks; one disk was expected");
    entries_ = static_cast<i64>(little(p + 10, 2));
    length_ = static_cast<i64>(little(p + 12, 4));
    start_ = static_cast<i64>(little(p + 16, 4));
    i64 end_at = size - tail + at;
    if (entries_ == 0xffff || length_ == static_cast<i64>(in_zip64) ||
        start_ == static_cast<i64>(in_zip64))
      end_at = read_zip64_end(end_at);
    need(start_ >= 0 && length_ >= 0 && start_ <= end_at && length_ == end_at - start_,
         "its directory at byte ", start_, " of ", length_,
         " bytes does not end where its end record begins, at byte ", end_at);
    limit_ = start_;
  }

  // Returns where the zip64 end record begins.
  i64 read_zip64_end(i64 end_at) {
    unsigned char locator[20], record[56];
    need(end_at >= 20 + 56, "a zip64 directory was announced and is not there");
    file_.read(end_at - 20, locator, 20);
    need(little(locator, 4) == zip64_locator, "a zip64 directory was announced and is not there");
    const std::uint64_t at = little(locator + 8, 8);
    need(at <= static_cast<std::uint64_t>(end_at - 20 - 56),
         "its zip64 directory lies beyond the file, at byte ", at);
    file_.read(static_cast<i64>(at), record, 56);
    need(little(record, 4) == zip64_end, "no zip64 directory at byte ", at);
    need(little(record + 24, 8) == little(record + 32, 8),
         "an archive over several disks; one disk was expected");
    entries_ = checked(little(record + 32, 8), "number of entries");
    length_ = checked(little(record + 40, 8), "directory length");
    start_ = checked(little(record + 48, 8), "directory position");
    return static_cast<i64>(at);
  }

  i64 checked(std::uint64_t v, std::string_view what) const {
    need(v < (std::uint64_t{1} << 62), "a ", what, " of ", v);
    return static_cast<i64>(v);
  }

  ZipEntry next_entry() {
    need(at_ + 46 <= length_, "its directory ends within an entry");
    const unsigned char* p = &bytes_[static_cast<std::size_t>(at_)];
    need(little(p, 4) == zip_central, "no entry at byte ", at_, " of its directory");
    const i64 name = static_cast<i64>(little(p + 28, 2)),
              extra = static_cast<i64>(little(p + 30, 2)),
              comment = static_cast<i64>(little(p + 32, 2));
    need(at_ + 46 + name + extra + comment <= length_, "its directory ends within an entry");
    ZipEntry e;
    e.name.assign(reinterpret_cast<const char*>(p) + 46, static_cast<std::size_t>(name));
    const auto flags = little(p + 8, 2), method = little(p + 10, 2);
    need((flags & 1) == 0, "entry '", e.name, "' is encrypted");
    need(method == 0 || method == 8, "entry '", e.name, "' is packed with method ", method,
         "; 0 (stored) and 8 (deflated) are known");
    e.deflated = method == 8;
    e.crc = static_cast<std::uint32_t>(little(p + 16, 4));
    std::uint64_t sizes[3] = {little(p + 24, 4), little(p + 20, 4), little(p + 42, 4)};
    read_zip64_extra(p + 46 + name, extra, sizes, e.name);
    e.unpacked = checked(sizes[0], "size");
    e.packed = checked(sizes[1], "packed size");
    e.header = checked(sizes[2], "position");
    at_ += 46 + name + extra + comment;
    return e;
  }

  // Fields that hold 0xffffffff continue, in this order, in the extra field with number 1.
  void read_zip64_extra(const unsigned char* p, i64 n, std::uint64_t (&sizes)[3],
                        const std::string& name) const {
    bool wanted = false;
    for (const std::uint64_t s : sizes) wanted = wanted || s == in_zip64;
    if (!wanted) return;
    for (i64 at = 0; at + 4 <= n;) {
      const i64 length = static_cast<i64>(little(p + at + 2, 2));
      need(at + 4 + length <= n, "entry '", name, "' has a broken extra field");
      if (little(p + at, 2) != 1) {
        at += 4 + length;
        continue;
      }
      i64 used = 0;
      for (std::uint64_t& s : sizes) {
        if (s != in_zip64) continue;
        need(used + 8 <= length, "entry '", name, "' has a zip64 field that is too short");
        s = little(p + at + 4 + used, 8);
        used += 8;
      }
      return;
    }
    throw IoError(cat("'", file_.path(), "': entry '", name, "' needs a zip64 field and has none"));
  }

  void locate(ZipEntry& e) const {
    need(e.header <= limit_ - 30, "entry '", e.name, "' would begin at byte ", e.header,
         ", beyond the directory at byte ", limit_);
    unsigned char p[30];
    file_.read(e.header, p, 30);
    need(little(p, 4) == zip_local, "entry '", e.name,
         "' is not where the directory says, at byte ", e.header);
    e.data =
        e.header + 30 + static_cast<i64>(little(p + 26, 2)) + static_cast<i64>(little(p + 28, 2));
    need(e.data <= limit_ && e.packed <= limit_ - e.data, "entry '", e.name, "' of ", e.packed,
         " bytes at byte ", e.data, " runs into the directory at byte ", limit_);
    if (e.deflated)
      need(e.unpacked / deflate_ratio <= e.packed + 1, "entry '", e.name, "' claims that ",
           e.packed, " bytes unpack to ", e.unpacked, ", which deflate cannot do");
    else
      need(e.unpacked == e.packed, "entry '", e.name, "' is stored, and its sizes ", e.packed,
           " and ", e.unpacked, " differ");
  }

  void check_together(const std::vector<ZipEntry>& entries) const {
    std::vector<std::pair<i64, i64>> ranges;
    std::set<std::string_view> names;
    i64 total = 0;
    for (const ZipEntry& e : entries) {
      ranges.emplace_back(e.header, e.data + e.packed);
      need(names.insert(e.name).second, "two entries have the name '", e.name, "'");
      total =
          total > most_bytes_ || e.unpacked > most_bytes_ ? most_bytes_ + 1 : total + e.unpacked;
    }
    need(total <= most_bytes_, "its arrays claim more than ", bytes_text(most_bytes_),
         ", the limit for this file");
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i)
      need(ranges[i - 1].second <= ranges[i].first, "two entries overlap at byte ",
           ranges[i].first);
  }

  const FileReader& file_;
  i64 most_bytes_;
  i64 entries_ = 0, length_ = 0, start_ = 0;
  i64 limit_ = 0;  // entries lie before this byte
  i64 at_ = 0;
  std::vector<unsigned char> bytes_;
};

}  // namespace

std::vector<ZipEntry> read_zip_directory(const FileReader& file, i64 most_bytes) {
  return Directory(file, most_bytes).run();
}

}  // namespace tessera
