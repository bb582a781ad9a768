// SPDX-License-Identifier: Apache-2.0
#include "tessera/distributed/io/io.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/arrays.hpp"
#include "support/files.hpp"
#include "tessera/array/npy.hpp"
#include "tessera/comm/thread.hpp"
#include "tessera/distributed/io/file_region.hpp"
#include "tessera/kernels/copy/copy.hpp"
#include "tessera/store/tiles/hdf5_store.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

i64 files_in_folder() {
  i64 n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch_folder())) {
    (void)entry;
    ++n;
  }
  return n;
}

Array numbers(const Shape& shape, DType t) {
  return arange(Value(i64{0}), Value(count_of(shape)), Value(i64{1}), DType::i64)
      .reshape(shape)
      .astype(t)
      .to(test_device());
}

DNDarray distribution(const Array& whole, std::optional<i64> axis, const Communicator& comm) {
  return DNDarray::replicated(whole, comm).resplit(axis);
}

TEST(DistNpy, IsByteForByteTheFileOfOneProcess) {
  for (const Shape& shape : {Shape{7, 5, 3}, {2, 9}, {0, 4}, {3, 0}, {5}, {}})
    for (const DType t : {DType::f32, DType::c128, DType::b1, DType::i16, DType::bf16}) {
      const Array whole = numbers(shape, t);
      save_npy(path_of("whole.npy"), whole);
      const std::string expected = read_all(path_of("whole.npy"));
      for (const int p : {1, 2, 3, 4}) {
        for (i64 axis = -1; axis < shape.size(); ++axis) {
          run_ranks(p, [&](Communicator comm) {
            dist::save(path_of("parts.npy"),
                       distribution(whole, axis < 0 ? std::nullopt : std::optional(axis), comm));
          });
          EXPECT_EQ(read_all(path_of("parts.npy")), expected)
              << to_text(shape) << " " << name(t) << " split " << axis << " p " << p;
          std::filesystem::remove(path_of("parts.npy"));
        }
      }
    }
}

TEST(DistNpy, WritesUnbalancedAndTurnedParts) {
  const Array whole = numbers({6, 10}, DType::f64);
  run_ranks(3, [&](Communicator comm) {
    const std::vector<i64> counts{7, 2, 1};
    const dist::Distribution to{1, Partition::of(counts)};
    const DNDarray x = DNDarray::replicated(whole, comm).distributed_as(to);
    // The same numbers in a layout that is not dense.
    const Array mine = x.local().transpose().copy().transpose();
    dist::save_npy(path_of("turned.npy"), DNDarray(mine, x.shape(), to, comm));
  });
  EXPECT_TRUE(same_bits(load_npy(path_of("turned.npy")), whole.to(cpu)));
}

// Rows of a few bytes: whole rows are written and read, and change hands.
TEST(DistNpy, ShortRunsChangeHands) {
  const Array whole = numbers({30000, 2, 3}, DType::f64);
  for (const int p : {2, 3})
    run_ranks(p, [&](Communicator comm) {
      dist::save_npy(path_of("long.npy"), distribution(whole, 2, comm));
      const Traffic before = comm.traffic();
      const DNDarray y = dist::load_npy(
          path_of("long.npy"),
          {.split = 2, .slices = {Slice{1, {}, 2}, Slice{}, Slice{{}, {}, -1}}, .comm = comm});
      EXPECT_GT((comm.traffic() - before).bytes, 1000);
      EXPECT_EQ(y.split(), 2);
      EXPECT_TRUE(
          same_bits(y.gathered(), whole.to(cpu)[{Slice{1, {}, 2}, Slice{}, Slice{{}, {}, -1}}]));
    });
  EXPECT_TRUE(same_bits(load_npy(path_of("long.npy")), whole.to(cpu)));
}

TEST(DistNpy, LoadsAnySliceWithAnySplit) {
  const Array whole = numbers({9, 4, 6}, DType::c64).to(cpu);
  save_npy(path_of("c.npy"), whole);
  save_npy(path_of("f.npy"), whole.transpose().copy().transpose());
  const std::vector<std::vector<Slice>> keys{{},
                                             {Slice{2, 7}},
                                             {Slice{}, Slice{1, 3}},
                                             {Slice{8, 1, -3}, Slice{}, Slice{{}, {}, 2}},
                                             {Slice{}, Slice{{}, {}, -1}, Slice{5, {}, -2}},
                                             {Slice{3, 3}},
                                             {Slice{-2, {}}, Slice{0, 1}, Slice{1, -1, 3}}};
  for (const char* order : {"c.npy", "f.npy"})
    for (const int p : {1, 2, 3, 7})
      run_ranks(p, [&](Communicator comm) {
        for (const auto& key : keys) {
          Index index;
          for (const Slice& s : key) index.add(s);
          const Array expected = whole[index];
          for (i64 axis = -1; axis < 3; ++axis) {
            const Traffic before = comm.traffic();
            const DNDarray y =
                dist::load(path_of(order), {.split = axis < 0 ? std::nullopt : std::optional(axis),
                                            .slices = key,
                                            .comm = comm});
            EXPECT_LT((comm.traffic() - before).bytes, 200 * p);  // heads and agreement only
            EXPECT_EQ(y.split().value_or(-1), axis);
            EXPECT_TRUE(y.balanced());
            EXPECT_TRUE(same_bits(y.gathered(), expected))
                << order << " split " << axis << " p " << p;
          }
        }
      });
}

TEST(DistNpy, TurnsForeignBytes) {
  const double values[] = {1.5, -2.25, 3.0};
  std::string text = npy_header_text(DType::f64, {3}, false);
  text.replace(text.find("<f8"), 3, ">f8");
  for (const double v : values) {
    const char* p = reinterpret_cast<const char*>(&v);
    for (int i = 7; i >= 0; --i) text += p[i];
  }
  std::ofstream(path_of("big.npy"), std::ios::binary) << text;
  run_ranks(2, [&](Communicator comm) {
    const DNDarray y = dist::load_npy(path_of("big.npy"), {.split = 0, .comm = comm});
    EXPECT_TRUE(same_bits(y.gathered(), Array::of<double>({1.5, -2.25, 3.0})));
  });
}

TEST(DistNpy, FailsOnAllRanksAlike) {
  const Array whole = numbers({4, 3}, DType::f32);
  save_npy(path_of("short.npy"), whole.to(cpu));
  std::filesystem::resize_file(path_of("short.npy"), 150);
  run_ranks(3, [&](Communicator comm) {
    const DNDarray x = distribution(whole, 0, comm);
    for (const std::string& path : {path_of("no folder/x.npy"), scratch_folder()}) {
      const std::string text = thrown_text<IoError>([&] { dist::save_npy(path, x); });
      EXPECT_NE(text.find("cannot write"), std::string::npos) << text;
    }
    EXPECT_THROW(dist::save(path_of("x.txt"), x), IoError);
    EXPECT_THROW(dist::load(path_of("missing.npy"), {.comm = comm}), IoError);
    EXPECT_THROW(dist::load(path_of("short.npy"), {.split = 0, .comm = comm}), IoError);
    dist::save(path_of("good.npy"), x);
    EXPECT_THROW(dist::load(path_of("good.npy"), {.split = 2, .comm = comm}), IndexError);
    EXPECT_THROW(dist::load(path_of("good.npy"), {.slices = {{}, {}, {}}, .comm = comm}),
                 IndexError);
    comm.barrier();
  });
}

TEST(DistNpy, LeavesTheOldFileWhenARankIsLost) {
  const Array whole = numbers({4, 3}, DType::f32);
  save_npy(path_of("old.npy"), whole.to(cpu));
  const std::string before = read_all(path_of("old.npy"));
  const i64 files = files_in_folder();
  EXPECT_ANY_THROW(run_ranks(3, [&](Communicator comm) {
    const DNDarray x = distribution(ops::add(whole, Value(1.0)), 0, comm);
    require<ArgumentError>(comm.rank() != 2, "this rank is lost");
    dist::save_npy(path_of("old.npy"), x);
  }));
  EXPECT_EQ(read_all(path_of("old.npy")), before);
  EXPECT_EQ(files_in_folder(), files);
}

TEST(DistHdf5, ComesBackFromAnySplit) {
  if (!store::has_hdf5()) GTEST_SKIP() << "no plug-in for HDF5";
  for (const DType t : {DType::b1, DType::i8, DType::u64, DType::f16, DType::bf16, DType::f32,
                        DType::f64, DType::c64, DType::c128})
    for (const Shape& shape : {Shape{5, 4, 3}, {0, 3}, {}}) {
      const Array whole = numbers(shape, t);
      for (const int p : {1, 3})
        run_ranks(p, [&](Communicator comm) {
          const i64 last = shape.size() - 1;
          dist::save(path_of("x.h5"),
                     distribution(whole, shape.empty() ? std::nullopt : std::optional(last), comm),
                     {.dataset = "runs/first"});
          const DNDarray y = dist::load(
              path_of("x.h5"), {.split = shape.empty() ? std::nullopt : std::optional<i64>(0),
                                .dataset = "runs/first",
                                .comm = comm});
          EXPECT_TRUE(same_bits(y.gathered(), whole)) << name(t) << to_text(shape);
          if (shape.size() == 3) {
            const DNDarray part =
                dist::load(path_of("x.h5"), {.split = 1,
                                             .slices = {Slice{4, 0, -2}, Slice{1, 4}},
                                             .dataset = "runs/first",
                                             .comm = comm});
            EXPECT_TRUE(same_bits(part.gathered(), whole[{Slice{4, 0, -2}, Slice{1, 4}}]));
          }
        });
    }
}

TEST(DistHdf5, NamesWhatIsNotThere) {
  if (!store::has_hdf5()) GTEST_SKIP() << "no plug-in for HDF5";
  const Array whole = numbers({4}, DType::f32);
  save_npy(path_of("no.h5"), whole.to(cpu));
  run_ranks(2, [&](Communicator comm) {
    dist::save(path_of("one.h5"), distribution(whole, 0, comm));
    EXPECT_TRUE(same_bits(dist::load(path_of("one.h5"), {.comm = comm}).gathered(), whole));
    const std::string text = thrown_text<IoError>(
        [&] { (void)dist::load(path_of("one.h5"), {.dataset = "other", .comm = comm}); });
    EXPECT_NE(text.find("there are data"), std::string::npos) << text;
    EXPECT_THROW(dist::load(path_of("no.h5"), {.comm = comm}), IoError);
    comm.barrier();
  });
}

TEST(FileRegion, FindsTheLongestRuns) {
  dist::Region r = dist::Region::of({4, 5, 6});
  EXPECT_EQ(r.run(), 120);
  r.axes[1] = {1, 3, 1};
  EXPECT_EQ(r.run(), 18);
  r.axes[1] = {0, 5, 1};
  r.axes[0] = {1, 2, 2};
  EXPECT_EQ(r.run(), 30);
  r.axes[2] = {0, 3, 2};
  EXPECT_EQ(r.run(), 1);
  EXPECT_EQ(r.shape(), (Shape{2, 5, 3}));
}

}  // namespace
}  // namespace tessera
