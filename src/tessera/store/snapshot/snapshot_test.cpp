// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/arrays.hpp"
#include "support/files.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/store/snapshot/crc32c.hpp"
#include "tessera/store/snapshot/snapshot_reader.hpp"
#include "tessera/store/snapshot/snapshot_writer.hpp"

namespace tessera {
namespace {

template <class F>
std::string io_problem(F&& f) {
  try {
    f();
  } catch (const IoError& e) {
    return e.what();
  }
  return "no error";
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

Snapshot opened(const std::string& bytes) {
  return Snapshot(std::as_bytes(std::span(bytes.data(), bytes.size())), "'test'");
}

// Every byte of every array, and the text.
std::string contents(const Snapshot& s) {
  std::string all = s.description();
  for (std::size_t i = 0; i < s.entries().size(); ++i) {
    const Array x = s.read(static_cast<i64>(i));
    all += cat("|", s.entries()[i].name, ":", name(x.dtype()), x.shape(), "=");
    if (x.bytes() > 0)
      all.append(static_cast<const char*>(x.host_data()), static_cast<std::size_t>(x.bytes()));
  }
  return all;
}

Array counted(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(count_of(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) + 0.5;
  return laid_out<double>(shape, values, Lay::dense, cpu);
}

NamedArrays small_arrays() {
  return {{"x", counted({3, 5})}, {"empty", counted({0, 4})}, {"one", counted({})}};
}

TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(crc32c("123456789", 9), 0xE3069283u);
  const std::string zeros(32, '\0');  // RFC 3720, B.4
  EXPECT_EQ(crc32c(zeros.data(), 32), 0x8A9136AAu);
  EXPECT_EQ(crc32c(nullptr, 0), 0u);
}

TEST(Crc32c, TheInstructionAndTheTableAgree) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * i + 7);
  for (i64 begin = 0; begin < 9; ++begin)
    for (i64 n = 0; n < 200; n += 7) {
      const char* p = text.data() + begin;
      EXPECT_EQ(crc32c(p, n), crc32c_by_table(p, n));
      EXPECT_EQ(crc32c(p + n / 3, n - n / 3, crc32c(p, n / 3)), crc32c(p, n));
    }
}

TEST(Snapshot, ArraysComeBack) {
  const std::string path = path_of("a.tessera");
  for (const Lay lay : all_lays) {
    const Array x = laid_out<float>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, lay);
    save_snapshot(path, {{"x", x}, {"y", counted({0, 7})}, {"z", counted({})}}, "a text\nof two");
    const Snapshot s(path);
    EXPECT_EQ(s.description(), "a text\nof two");
    EXPECT_EQ(values_of<float>(s.read(s.find("x"))), values_of<float>(x));
    EXPECT_EQ(s.read(1).shape(), (Shape{0, 7}));
    EXPECT_EQ(s.read(2).host<double>()[0], 0.5);
    EXPECT_THROW((void)s.find("w"), IndexError);
    s.check();
  }
}

TEST(Snapshot, PayloadsAreAlignedAndPlain) {
  const std::string path = path_of("p.tessera");
  const Array x = counted({100, 100});
  save_snapshot(path, {{"a", x}, {"b", counted({3})}}, "");
  const std::string bytes = read_all(path);
  EXPECT_EQ(std::memcmp(bytes.data() + 4096, x.host_data(), 80000), 0);
  const Snapshot s(path);
  for (const SnapshotEntry& e : s.entries()) EXPECT_EQ(e.offset % 4096, 0);
  EXPECT_EQ(s.slot().end, static_cast<i64>(bytes.size()));
}

TEST(Snapshot, EveryDtypeComesBack) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto dtype = static_cast<DType>(t);
    const Array x(Storage::allocate(cpu, 6 * size_of(dtype)), Layout::contiguous({2, 3}), dtype);
    for (i64 i = 0; i < x.bytes(); ++i) static_cast<char*>(x.host_data())[i] = i % 2 != 0;
    const std::string bytes = encode_snapshot({{"x", x}}, "");
    const Array y = opened(bytes).read(0);
    ASSERT_EQ(y.dtype(), dtype);
    EXPECT_EQ(std::memcmp(y.host_data(), x.host_data(), static_cast<std::size_t>(x.bytes())), 0);
  }
}

TEST(Snapshot, TheSizeInMemoryIsKnownBefore) {
  for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{5}, Shape{3, 2048}, Shape{3, 2049}})
    for (const std::string text : {"", "a text"}) {
      const NamedArrays arrays = {
          {"x", counted(shape)}, {"y", counted({3})}, {"z", counted(shape)}};
      const std::string bytes = encode_snapshot(arrays, text);
      EXPECT_EQ(opened(bytes).slot().end, static_cast<i64>(bytes.size()));
      EXPECT_EQ(values_of<double>(opened(bytes).read(2)), values_of<double>(arrays[2].second));
      std::vector<std::byte> small(bytes.size() - 1);
      EXPECT_THROW(encode_snapshot(arrays, text, small), ArgumentError);
    }
}

TEST(Snapshot, SlicesAreThoseOfTheWhole) {
  const Array x = counted({7, 40, 90});  // pieces end within rows
  const std::string path = path_of("s.tessera");
  save_snapshot(path, {{"before", counted({5})}, {"x", x}}, "");
  const Snapshot s(path);
  const SnapshotRange some[] = {{0, 7, 1}, {0, 90, 1}, {1, 3, 2}, {6, 1, 5}, {0, 0, 1}, {2, 5, 1}};
  for (const SnapshotRange a : some)
    for (const SnapshotRange b : some)
      for (const SnapshotRange c : some) {
        if (a.begin + a.count > 7 || b.begin + b.count > 40) continue;
        const SnapshotRange ranges[] = {a, b, c};
        const Array y = s.read(1, ranges);
        ASSERT_EQ(y.shape(), (Shape{a.count, b.count, c.count}));
        Layout l = Layout::contiguous({7, 40, 90})
                       .slice(0, a.begin, a.count, a.step)
                       .slice(1, b.begin, b.count, b.step)
                       .slice(2, c.begin, c.count, c.step);
        EXPECT_EQ(values_of<double>(y), values_of<double>(x.view(l)));
      }
  const SnapshotRange beyond[] = {{5, 2, 2}}, backwards[] = {{5, 2, -1}};
  EXPECT_THROW((void)s.read(1, beyond), IndexError);
  EXPECT_THROW((void)s.read(1, backwards), IndexError);
}

// What lies elsewhere may be damaged: it is not read.
TEST(Snapshot, SlicesReadOnlyTheirPieces) {
  const std::string path = path_of("d.tessera");
  const Array x = counted({64, 1024});  // two rows in a piece
  save_snapshot(path, {{"x", x}}, "");
  std::string bytes = read_all(path);
  const i64 at = Snapshot(path).entries()[0].offset + 20 * 8192 + 17;
  bytes[static_cast<std::size_t>(at)] ^= 4;
  write_bytes(path, bytes);
  const Snapshot s(path);
  const SnapshotRange before[] = {{0, 20, 1}}, after[] = {{22, 42, 1}}, neighbour[] = {{21, 1, 1}};
  EXPECT_EQ(s.read(0, before).host<double>()[0], 0.5);
  EXPECT_EQ(s.read(0, after).host<double>()[1], 22 * 1024 + 1.5);
  EXPECT_NE(io_problem([&] { (void)s.read(0, neighbour); }).find("checksum is wrong"),
            std::string::npos);
  EXPECT_NE(io_problem([&] { s.check(); }).find("bytes 163840 to 180224 of array 'x'"),
            std::string::npos);
}

TEST(Snapshot, AFlippedByteIsDetectedOrHarmless) {
  const std::string good = encode_snapshot(small_arrays(), "what they are");
  const std::string expected = contents(opened(good));
  int detected = 0;
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      std::string found;
      const std::string problem = io_problem([&] { found = contents(opened(bad)); });
      if (problem == "no error")
        EXPECT_EQ(found, expected) << "byte " << at;
      else
        ++detected;
    }
  EXPECT_GT(detected, 2700);
}

TEST(Snapshot, AShortenedFileIsDetected) {
  const std::string good = encode_snapshot(small_arrays(), "what they are");
  for (std::size_t n = 0; n < good.size(); ++n)
    EXPECT_NE(io_problem([&] { (void)opened(good.substr(0, n)); }), "no error") << n;
  EXPECT_EQ(contents(opened(good + "garbage")), contents(opened(good)));
}

TEST(Snapshot, OneSlotIsEnough) {
  const std::string path = path_of("o.tessera");
  save_snapshot(path, small_arrays(), "text");
  const std::string good = read_all(path);
  const std::string expected = contents(Snapshot(path));
  for (const std::size_t at : {20u, 2050u}) {
    std::string bad = good;
    bad[at] ^= 1;
    write_bytes(path, bad);
    EXPECT_EQ(contents(Snapshot(path)), expected);
  }
  std::string bad = good;
  bad[20] ^= 1;
  bad[2050] ^= 1;
  write_bytes(path, bad);
  EXPECT_NE(io_problem([&] { Snapshot s(path); }).find("no valid header slot"), std::string::npos);
  bad = good;
  bad[8] = 2;
  write_bytes(path, bad);
  EXPECT_NE(io_problem([&] { Snapshot s(path); }).find("version 2"), std::string::npos);
}

TEST(Snapshot, AppendingLeavesPayloadsAlone) {
  const std::string path = path_of("g.tessera");
  save_snapshot(path, small_arrays(), "first");
  const std::string before = read_all(path);
  for (std::uint64_t round = 1; round < 5; ++round) {
    const i64 kept[] = {0, 2};
    append_snapshot(path, round, kept, {{cat("n", round), counted({2})}}, cat("round ", round));
    const Snapshot s(path);
    EXPECT_EQ(s.description(), cat("round ", round));
    ASSERT_EQ(s.entries().size(), 3u);
    EXPECT_EQ(s.entries()[2].name, cat("n", round));
    EXPECT_EQ(values_of<double>(s.read(0)), values_of<double>(counted({3, 5})));
    s.check();
    const std::string now = read_all(path);
    EXPECT_EQ(now.substr(4096, before.size() - 4096), before.substr(4096));
    EXPECT_EQ(now.substr(16, 40), now.substr(2048, 40));
    EXPECT_NE(io_problem([&] { append_snapshot(path, round, kept, {}, "late"); }).find("meanwhile"),
              std::string::npos);
  }
}

// A writer that was stopped after it wrote the slot that nobody believes yet, whole or in part.
TEST(Snapshot, AnAppendThatWasCutIsTheOldFileOrTheNewOne) {
  const std::string path = path_of("c.tessera");
  save_snapshot(path, small_arrays(), "old");
  const std::string before = read_all(path), old = contents(Snapshot(path));
  const i64 kept[] = {0};
  append_snapshot(path, 1, kept, {{"more", counted({4})}}, "new");
  const std::string after = read_all(path), fresh = contents(Snapshot(path));
  for (std::size_t n = before.size(); n <= after.size(); n += 13)
    EXPECT_EQ(contents(opened(before + after.substr(before.size(), n - before.size()))), old);
  for (std::size_t n = 0; n <= 40; ++n)
    for (const std::size_t place : {16u, 2048u}) {
      std::string cut = before.substr(0, 4096) + after.substr(4096);
      cut.replace(place, n, after, place, n);
      const std::string found = contents(opened(cut));
      EXPECT_EQ(found, n == 40 ? fresh : old) << n;
    }
}

TEST(Snapshot, AFailedWriteLeavesTheOldFile) {
  const std::string path = path_of("f.tessera");
  save_snapshot(path, small_arrays(), "old");
  EXPECT_THROW(save_snapshot(path, {{"a", counted({2})}, {"a", counted({2})}}, ""), ArgumentError);
  EXPECT_EQ(Snapshot(path).description(), "old");
  const i64 kept[] = {0};
  const std::string before = read_all(path);
  EXPECT_THROW(append_snapshot(path, 1, kept, {{"x", counted({2})}}, ""), ArgumentError);
  EXPECT_EQ(read_all(path), before);
  const i64 unknown[] = {9};
  EXPECT_THROW(append_snapshot(path, 1, unknown, {}, ""), IndexError);
  i64 files = 0;
  for (const auto& f : std::filesystem::directory_iterator(scratch_folder()))
    files += f.path().filename().string().starts_with("f.tessera") ? 1 : 0;
  EXPECT_EQ(files, 1);
}

// A file whose checksums are right and whose words are not.
std::string lying(const std::string& index) {
  std::string bytes(128, '\0');
  bytes.append(256, '\x3f');
  const std::string text = index + "\n";
  const i64 n = static_cast<i64>(text.size());
  bytes += text;
  const SnapshotSlot slot{1, 384, n, 384 + n, crc32c(text.data(), n)};
  const auto head = encoded_head(128, slot);
  std::memcpy(bytes.data(), head.data(), head.size());
  return bytes;
}

TEST(Snapshot, ListsThatLieAreRefused) {
  const auto problem = [](const std::string& index) {
    return io_problem([&] { (void)contents(opened(lying(index))); });
  };
  const auto one = [](const std::string& shape, const std::string& rest) {
    return cat(R"({"arrays":[{"name":"x","dtype":"float64","shape":)", shape, ",", rest, "}]}");
  };
  const std::string place = R"("offset":128,"piece":16384,"sums":256)";
  EXPECT_NE(problem(one("[4]", place)).find("checksum is wrong"), std::string::npos);
  EXPECT_EQ(problem(one("[0]", place)), "no error");
  EXPECT_NE(problem(one("[400]", place)).find("is said to begin at byte 128"), std::string::npos);
  EXPECT_NE(problem(one("[4611686018427387904,4]", place)).find("counted"), std::string::npos);
  EXPECT_NE(problem(one("[0,4611686018427387904,4]", place)).find("counted"), std::string::npos);
  EXPECT_NE(problem(one("[-1]", place)).find("a size of -1"), std::string::npos);
  EXPECT_NE(problem(one("[18446744073709551615]", place)).find("a size of"), std::string::npos);
  EXPECT_NE(problem(one("[1.5]", place)).find("a size of 1.5"), std::string::npos);
  EXPECT_NE(problem(one("3", place)).find("without a shape"), std::string::npos);
  EXPECT_NE(
      problem(one("[4]", R"("offset":100,"piece":16384,"sums":256)")).find("begin at byte 100"),
      std::string::npos);
  EXPECT_NE(problem(one("[4]", R"("offset":128,"piece":0,"sums":256)")).find("pieces of 0"),
            std::string::npos);
  EXPECT_NE(problem(one("[4]", R"("offset":128,"piece":128,"sums":9000)")).find("checksums of"),
            std::string::npos);
  EXPECT_NE(problem(one("[4]", R"("offset":128)")).find("'piece'"), std::string::npos);
  for (const char* text :
       {"", "[]", "{}", "{\"arrays\":3}", "{\"arrays\":[3]}", "{\"arrays\":[{}]}", "\xff",
        "{\"arrays\":[{\"name\":\"x\",\"dtype\":\"f8\",\"shape\":[]}]}"})
    EXPECT_NE(problem(text), "no error") << text;
  EXPECT_NE(problem(std::string(100000, '[')), "no error");
  const std::string entry = cat(R"({"name":"x","dtype":"float64","shape":[4],)", place, "}");
  EXPECT_NE(problem(cat(R"({"arrays":[)", entry, ",", entry, "]}")).find("the same bytes"),
            std::string::npos);
}

// What a list says of sizes is compared with the file before memory is taken.
TEST(Snapshot, ListsThatLieTakeNoMemory) {
  const i64 before = memory_stats(cpu).in_use;
  reset_peak(cpu);
  for (const char* shape :
       {"[400]", "[4611686018427387904]", "[1099511627776]", "[65536,65536]", "[0,1099511627776]"})
    for (const char* piece : {"128", "16384", "1073741824"})
      (void)io_problem([&] {
        (void)contents(
            opened(lying(cat(R"({"arrays":[{"name":"x","dtype":"complex128","shape":)", shape,
                             R"(,"offset":128,"piece":)", piece, R"(,"sums":256}]})"))));
      });
  EXPECT_LE(memory_stats(cpu).peak - before, 4096);
}

}  // namespace
}  // namespace tessera
