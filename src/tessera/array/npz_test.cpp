// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/npz.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/files.hpp"

namespace tessera {
namespace {

Array squares(const Shape& shape) {
  Array a(Storage::allocate(cpu, count_of(shape) * 8), Layout::contiguous(shape), DType::i64);
  for (i64 i = 0; i < a.size(); ++i) a.host<i64>()[i] = i * i;
  return a;
}

// Writes `bytes` and returns the text of the error that reading every array gives.
std::string npz_problem(const std::string& bytes, const NpzOptions& options = {}) {
  const std::string path = path_of("hostile.npz");
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  try {
    (void)load_npz(path, options);
  } catch (const IoError& e) {
    return e.what();
  }
  return "no error";
}

std::string sample(bool compressed) {
  save_npz(path_of("sample.npz"), {{"x", squares({3, 5})}, {"y", squares({2})}}, compressed);
  return read_all(path_of("sample.npz"));
}

void put(std::string& s, std::size_t at, std::uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i)
    s[at + static_cast<std::size_t>(i)] = static_cast<char>(v >> (8 * i) & 255);
}

TEST(Npz, ArraysComeBack) {
  for (const bool compressed : {false, true}) {
    const Array large = squares({100, 1000}), strided = large.slice(1, 0, 1000, 7);
    save_npz(
        path_of("a.npz"),
        {{"large", large}, {"strided", strided}, {"a/../b", squares({0, 3})}, {"é", squares({})}},
        compressed);
    const NpzFile file(path_of("a.npz"));
    EXPECT_EQ(file.names(), (std::vector<std::string>{"large", "strided", "a/../b", "é"}));
    const Array back = file.read("large");
    ASSERT_EQ(back.shape(), large.shape());
    EXPECT_EQ(std::memcmp(back.data(), large.data(), static_cast<std::size_t>(large.bytes())), 0);
    const Array s = file.read("strided");
    ASSERT_EQ(s.shape(), (Shape{100, 143}));
    EXPECT_EQ(s.host<i64>()[143 + 2], i64{1014} * 1014);
    EXPECT_EQ(file.read("a/../b").shape(), (Shape{0, 3}));
    EXPECT_EQ(*file.read("é.npy").host<i64>(), 0);
    EXPECT_FALSE(file.contains("none"));
    EXPECT_THROW((void)file.read("none"), IndexError);
  }
  EXPECT_LT(read_all(path_of("a.npz")).size(), 500000u) << "deflated";
}

TEST(Npz, ArraysThatAreNotInMemory) {
  const std::string head = npy_header_text(DType::i64, {3, 2}, false);
  const NpyWriter write = [&](const auto& sink) {
    sink(head.data(), static_cast<i64>(head.size()));
    for (const i64 first : {0, 2, 4}) {
      const i64 row[] = {first, first + 1};
      sink(row, sizeof row);
    }
  };
  for (const bool compressed : {false, true}) {
    write_npz(path_of("w.npz"), {{"x", write}, {"y", write}}, compressed);
    const Array y = NpzFile(path_of("w.npz")).read("y");
    ASSERT_EQ(y.shape(), (Shape{3, 2}));
    for (i64 k = 0; k < 6; ++k) EXPECT_EQ(y.host<i64>()[k], k);
  }
  write_npy(path_of("w.npy"), write);
  EXPECT_EQ(load_npy(path_of("w.npy")).host<i64>()[5], 5);
  const NpyWriter fails = [](const auto&) { throw IoError("no"); };
  EXPECT_THROW(write_npy(path_of("w.npy"), fails), IoError);
  EXPECT_EQ(load_npy(path_of("w.npy")).host<i64>()[5], 5) << "the old file stays";
}

TEST(Npz, EmptyArchivesAndEqualNames) {
  save_npz(path_of("e.npz"), {});
  EXPECT_EQ(read_all(path_of("e.npz")).size(), 22u);
  EXPECT_TRUE(load_npz(path_of("e.npz")).empty());
  EXPECT_THROW(save_npz(path_of("e.npz"), {{"x", squares({1})}, {"x", squares({2})}}),
               ArgumentError);
  EXPECT_TRUE(load_npz(path_of("e.npz")).empty()) << "a refused save changes nothing";
}

TEST(Npz, ASmallStoredFileWrittenByHand) {
  // One stored entry without zip64, as a plain zip program writes it.
  const std::string npy = [] {
    save_npz(path_of("h.npz"), {{"x", squares({2})}});
    const std::string whole = read_all(path_of("h.npz"));
    return whole.substr(30 + 5 + 20, 128 + 16);
  }();
  const std::string whole = read_all(path_of("h.npz"));
  std::string local = whole.substr(0, 30);
  put(local, 18, npy.size(), 4);
  put(local, 22, npy.size(), 4);
  put(local, 28, 0, 2);
  std::string file = local + "x.npy" + npy;
  const std::size_t start = file.size();
  file += whole.substr(whole.size() - 22 - 51);
  put(file, file.size() - 6, start, 4);
  EXPECT_EQ(npz_problem(file), "no error");
  EXPECT_EQ(NpzFile(path_of("hostile.npz")).read("x").host<i64>()[1], 1);
}

TEST(Npz, EveryDamagedByteIsNoticedOrHarmless) {
  // Truncation anywhere is an error; a changed byte gives the same arrays or an error, never a
  // crash.
  for (const bool compressed : {false, true}) {
    const std::string good = sample(compressed);
    for (std::size_t n = 0; n < good.size(); n += 3)
      EXPECT_NE(npz_problem(good.substr(0, n)), "no error") << n;
    const std::size_t content = 30 + 5 + 20;  // after the local header: under the checksum
    for (std::size_t i = content; i < content + 24; ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x55);
      EXPECT_NE(npz_problem(bad), "no error") << i;
    }
  }
}

TEST(Npz, HostileDirectoriesAreRefusedWithASentence) {
  const std::string good = sample(false);
  const std::size_t end = good.size() - 22, directory = end - 2 * 51, entry = directory;
  auto changed = [&](std::size_t at, std::uint64_t v, int bytes) {
    std::string s = good;
    put(s, at, v, bytes);
    return npz_problem(s);
  };
  auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\nexpected: " << part;
    EXPECT_NE(text.find("hostile.npz"), std::string::npos) << text;
  };
  expect(npz_problem(""), "at least 22");
  expect(npz_problem(std::string(100, 'x')), "not a zip file");
  expect(changed(end + 8, 1000, 2), "several disks");
  expect(changed(end + 16, 0x7fffffff, 4), "does not end where");
  expect(changed(end + 12, 7, 4), "does not end where");
  expect(changed(entry, 0, 1), "no entry at byte 0");
  expect(changed(entry + 8, 1, 2), "encrypted");
  expect(changed(entry + 10, 99, 2), "method 99");
  expect(changed(entry + 42, 0x7fffffff, 4), "beyond the directory");
  expect(changed(entry + 42, 7, 4), "not where the directory says");
  expect(changed(entry + 20, 0x7fffffff, 4), "runs into the directory");
  expect(changed(entry + 24, 7, 4), "differ");
  expect(changed(entry + 16, 7, 4), "checksum");
  expect(changed(entry + 28, 60000, 2), "ends within an entry");
  expect(changed(entry + 20, 0xffffffff, 4), "zip64");
  expect(changed(entry + 51 + 42, 0, 4), "overlap");
  std::string twice = good;
  twice[entry + 51 + 46] = 'x';
  expect(npz_problem(twice), "two entries have the name");
  std::string count = good;
  put(count, end + 8, 20000, 2);
  put(count, end + 10, 20000, 2);
  expect(npz_problem(count), "claims 20000 entries");
  std::string zip64 = good;
  put(zip64, end + 8, 0xffff, 2);
  put(zip64, end + 10, 0xffff, 2);
  expect(npz_problem(zip64), "zip64");
}

TEST(Npz, BombsAreRefusedBeforeMemoryIsTaken) {
  std::string good = sample(true);
  const std::size_t entry = good.size() - 22 - 2 * 51;
  std::string bomb = good;
  put(bomb, entry + 24, 0xfffffff0, 4);
  EXPECT_NE(npz_problem(bomb).find("deflate cannot do"), std::string::npos);
  EXPECT_NE(npz_problem(good, NpzOptions{200}).find("claim more than 200 B"), std::string::npos);
  EXPECT_EQ(npz_problem(good, NpzOptions{1000}), "no error");
}

}  // namespace
}  // namespace tessera
