// SPDX-License-Identifier: Apache-2.0
#include "tessera/array/npy.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "support/arrays.hpp"
#include "support/files.hpp"
#include "tessera/array/index.hpp"

namespace tessera {
namespace {

void write_all(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A version 1 file with the header and the data given, the header padded as NumPy pads it.
std::string npy(std::string header, const std::string& data) {
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string s("\x93NUMPY\x01\x00", 8);
  s += static_cast<char>(header.size() & 255);
  s += static_cast<char>(header.size() >> 8);
  return s + header + data;
}

Array decode(const std::string& bytes) {
  return decode_npy(std::as_bytes(std::span(bytes.data(), bytes.size())), "'test'");
}

std::string npy_problem(const std::string& bytes) {
  try {
    (void)decode(bytes);
  } catch (const IoError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Npy, WritesNumPysBytes) {
  save_npy(path_of("a.npy"), filled<std::int16_t>({2, 1}, {258, -1}));
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1), }";
  expected.append(128 - 1 - expected.size(), ' ');
  expected += '\n';
  expected += std::string("\x02\x01\xff\xff", 4);
  EXPECT_EQ(read_all(path_of("a.npy")), expected);
}

TEST(Npy, FortranAndStridedArraysAsNumPyWritesThem) {
  const Array x = filled<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  save_npy(path_of("f.npy"), x.transpose());
  const std::string f = read_all(path_of("f.npy"));
  EXPECT_NE(f.find("'fortran_order': True, 'shape': (3, 2)"), std::string::npos);
  const Array back = load_npy(path_of("f.npy"));
  EXPECT_EQ(back.layout().strides, (Strides{1, 3}));
  save_npy(path_of("s.npy"), x.slice(1, 0, 3, 2));
  const Array strided = load_npy(path_of("s.npy"));
  ASSERT_EQ(strided.shape(), (Shape{2, 2}));
  const float expected[] = {1, 3, 4, 6};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(strided.host<float>()[i], expected[i]);
}

TEST(Npy, EveryDtypeAndManyShapesComeBack) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto dtype = static_cast<DType>(t);
    for (const Shape& shape :
         {Shape{}, Shape{0}, Shape{7}, Shape{2, 0, 3}, Shape{3, 5}, Shape{2, 3, 1, 4}}) {
      Array x(Storage::allocate(cpu, count_of(shape) * size_of(dtype)), Layout::contiguous(shape),
              dtype);
      auto* p = static_cast<unsigned char*>(x.data());
      for (i64 i = 0; i < x.bytes(); ++i)
        p[i] = static_cast<unsigned char>(dtype == DType::b1 ? i & 1 : 17 * i + 3);
      save_npy(path_of("r.npy"), x);
      for (const MapMode mode : {MapMode::none, MapMode::read}) {
        const Array y = load_npy(path_of("r.npy"), {mode});
        ASSERT_EQ(y.dtype(), dtype);
        ASSERT_EQ(y.shape(), shape);
        if (x.size() > 0) {
          ASSERT_EQ(std::memcmp(x.data(), y.host_data(), static_cast<std::size_t>(x.bytes())), 0);
        }
        EXPECT_EQ(y.storage().writable(), mode == MapMode::none);
      }
    }
  }
}

TEST(Npy, MappedFilesChangeOnlyInWriteMode) {
  save_npy(path_of("m.npy"), filled<double>({3}, {1, 2, 3}));
  {
    const Array x = load_npy(path_of("m.npy"), {MapMode::write});
    x.host<double>()[1] = 7;
  }
  EXPECT_EQ(load_npy(path_of("m.npy")).host<double>()[1], 7);
}

TEST(Npy, OtherByteOrderAndOlderVersions) {
  const Array big = decode(npy("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }",
                               std::string("\x00\x00\x01\x02\xff\xff\xff\xfe", 8)));
  EXPECT_EQ(big.host<std::int32_t>()[0], 258);
  EXPECT_EQ(big.host<std::int32_t>()[1], -2);
  const Array z = decode(npy("{'descr': '>c8', 'fortran_order': False, 'shape': (), }",
                             std::string("\x3f\x80\x00\x00\xc0\x00\x00\x00", 8)));
  EXPECT_EQ(*z.host<c64>(), c64(1, -2));
  const std::string dict = "{\"shape\": (2L, 1L), 'fortran_order':True,'descr':'|u1'}\n";
  for (const char version : {2, 3}) {
    std::string s("\x93NUMPY", 6);
    s += version;
    s += std::string("\0", 1) + static_cast<char>(dict.size()) + std::string("\0\0\0", 3) + dict +
         "ab";
    const Array x = decode(s);
    EXPECT_EQ(x.shape(), (Shape{2, 1}));
    EXPECT_EQ(x.host<std::uint8_t>()[1], 'b');
  }
}

TEST(Npy, StrangeBoolsBecomeTrue) {
  const std::string file =
      npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", std::string("\0\7\1", 3));
  const Array x = decode(file);
  const auto* bytes = static_cast<const unsigned char*>(x.host_data());
  EXPECT_EQ(bytes[0], 0);
  EXPECT_EQ(bytes[1], 1);
  write_all(path_of("b.npy"), file);
  EXPECT_THROW((void)load_npy(path_of("b.npy"), {MapMode::read}), IoError);
}

TEST(Npy, HostileFilesAreRefusedWithASentence) {
  auto with = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return npy(cat("{'descr': ", descr, ", 'fortran_order': ", order, ", 'shape': ", shape, ", }"),
               "12345678");
  };
  struct Case {
    std::string bytes, part;
  };
  const Case cases[] = {
      {"", "at least 10"},
      {"PK\3\4 not numpy at all", "does not begin with"},
      {std::string("\x93NUMPY\x09\x00\x10\x00", 10), "version 9.0"},
      {std::string("\x93NUMPY\x01\x00\xff\xff{}", 12), "only 12 are there"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12), "a header of 2147483647 bytes"},
      {with("'<f8'", "False", "(2,)"), "needs 16 bytes after the header, and 8 are there"},
      {with("'<f8'", "False", "(9223372036854775807, 9223372036854775807)"), "63 bits"},
      {with("'<f8'", "False", "(0, 9223372036854775807, 9223372036854775807)"), "63 bits"},
      {with("'<f8'", "False", "(99999999999999999999,)"), "not an integer"},
      {with("'<f8'", "False", "(-1,)"), "not an integer"},
      {with("'<f8'", "False", "(1)"), "a tuple was expected"},
      {with("'<f8'", "False", "5"), "expected '('"},
      {with("'<f8'", "maybe", "(1,)"), "neither True nor False"},
      {with("'|O'", "False", "(1,)"), "Python objects"},
      {with("'<U4'", "False", "(1,)"), "text"},
      {with("'<M8[s]'", "False", "(1,)"), "dates"},
      {with("'<f16'", "False", "(1,)"), "a float of another size"},
      {with("[('a', '<f4')]", "False", "(1,)"), "records"},
      {with("__import__('os')", "False", "(1,)"), "in quotes"},
      {npy("{'descr': '<f8', 'shape': (1,)}", "12345678"), "must all be there"},
      {npy("{'descr': '<f8', 'descr': '<f8'}", "12345678"), "once each"},
      {npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), } x", "12345678"),
       "closing brace"},
      {npy("{'descr': '<f8", "12345678"), "does not end"},
  };
  for (const Case& c : cases) {
    const std::string text = npy_problem(c.bytes);
    EXPECT_NE(text.find(c.part), std::string::npos) << text << "\nexpected: " << c.part;
    EXPECT_EQ(text.find("'test': "), 0u) << "the error names the file: " << text;
  }
  EXPECT_THROW((void)load_npy(path_of("absent.npy")), IoError);
  EXPECT_THROW((void)load_npy(scratch_folder()), IoError);
}

TEST(Npy, SizesAreCheckedAgainstTheFileBeforeMemoryIsTaken) {
  write_all(path_of("huge.npy"),
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000000,), }", "x"));
  EXPECT_THROW((void)load_npy(path_of("huge.npy")), IoError) << "not OutOfMemory";
}

TEST(Npy, AFailedSaveLeavesTheOldFileAndNothingElse) {
  const std::string folder = path_of("folder");
  std::filesystem::create_directory(folder);
  save_npy(folder + "/x.npy", filled<double>({1}, {4}));
  EXPECT_THROW(save_npy(folder, filled<double>({1}, {5})), IoError);
  EXPECT_THROW(save_npy(folder + "/none/x.npy", filled<double>({1}, {5})), IoError);
  save_npy(folder + "/x.npy", filled<double>({1}, {6}));
  EXPECT_EQ(load_npy(folder + "/x.npy").host<double>()[0], 6);
  int files = 0;
  for ([[maybe_unused]] const auto& f : std::filesystem::directory_iterator(folder)) ++files;
  EXPECT_EQ(files, 1);
}

TEST(Npy, DeviceArraysAreSaved) {
  const Array x = filled<double>({2, 2}, {1, 2, 3, 4}).to(Device::parse("sim:1"));
  save_npy(path_of("d.npy"), x);
  EXPECT_EQ(load_npy(path_of("d.npy")).host<double>()[3], 4);
}

}  // namespace
}  // namespace tessera
