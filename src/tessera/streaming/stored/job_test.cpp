// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/plan/job.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/arrays.hpp"
#include "support/distances.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "tessera/device/memory.hpp"
#include "tessera/device/threads.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/kernels/linalg/linalg_error.hpp"
#include "tessera/kernels/matmul/matmul.hpp"
#include "tessera/store/tiles/tiled_file.hpp"
#include "tessera/streaming/plan/job_file.hpp"
#include "tessera/streaming/stored/stored_linalg.hpp"
#include "tessera/streaming/stored/stored_transforms.hpp"

namespace tessera::streaming {
namespace {

namespace fs = std::filesystem;

struct Stopped {};
i64 steps_left = 0;
void stop_at_last() {
  if (steps_left-- == 0) throw Stopped();
}

// Operations see so many MiB that are not in use.
struct Budget {
  explicit Budget(i64 mib) { set_memory_budget(cpu, memory_stats(cpu).in_use + (mib << 20)); }
  ~Budget() { set_memory_budget(cpu, config_decides); }
};

// Ends the run before its n-th step.
struct StopAfter {
  explicit StopAfter(i64 steps) {
    steps_left = steps;
    set_stream_poll(&stop_at_last);
  }
  ~StopAfter() { set_stream_poll(nullptr); }

 private:
  const Budget budget{3};
};
struct EveryMark {
  EveryMark() { set_mark_interval(0); }
  ~EveryMark() { set_mark_interval(1); }
};

class Jobs : public testing::Test {
 protected:
  Jobs() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  std::string at(const std::string& name) const { return folder + "/" + name; }
  bool only_has(const std::vector<std::string>& names) const {
    const fs::directory_iterator all(folder);
    const auto count = static_cast<std::size_t>(std::distance(begin(all), end(all)));
    return count == names.size() && std::all_of(names.begin(), names.end(),
                                                [&](const auto& n) { return fs::exists(at(n)); });
  }
  using Operation = std::function<StoredArray(const std::string& path)>;
  // Ended before every step, and once more on its way: the same bits, and nothing else is left.
  void go_on_from_every_step(const std::vector<Operation>& operations) const {
    std::vector<std::string> names{"result"};
    for (const auto& f : fs::directory_iterator(folder)) names.push_back(f.path().filename());
    const std::string to = at("result");
    for (const auto& operation : operations) {
      const auto undisturbed = [&] {
        const Budget budget(3);
        operation(to);
      };
      const auto ends_within = [&](i64 steps) {
        try {
          const StopAfter stop(steps);
          operation(to);
          return true;
        } catch (const Stopped&) {
          EXPECT_FALSE(fs::exists(to));
          return false;
        }
      };
      undisturbed();
      const std::string wanted = read_all(to);
      i64 runs = 0;
      for (i64 steps = 0; true; ++steps, ++runs) {
        ASSERT_LT(runs, 5000);
        fs::remove(to);
        if (ends_within(steps)) break;
        if (!ends_within(2)) undisturbed();
        ASSERT_EQ(read_all(to), wanted) << "ended before step " << steps;
        ASSERT_TRUE(only_has(names));
      }
      EXPECT_GE(runs, 3);
      ASSERT_EQ(read_all(to), wanted);
      fs::remove(to);
    }
  }
  // A file in small tiles whose version does not change between runs.
  StoredArray input(const std::string& name, const Shape& shape, std::uint64_t seed) const {
    const Array numbers = random_on_host(shape, DType::f64, seed);
    const Budget budget(3);
    StoredArray::from(numbers, at(name));
    return StoredArray::open(at(name));
  }

  const std::string folder = path_of("jobs");
  const EveryMark every;
};

TEST_F(Jobs, GoOnFromEveryStepAtWhichTheyWereEnded) {
  const StoredArray a = input("a", {700, 300}, 1), b = input("b", {300, 500}, 2),
                    thin = input("thin", {300, 4}, 3), npy = input("a.npy", {2000, 300}, 4);
  go_on_from_every_step({
      [&](const std::string& to) { return (a * a - a).save(to); },
      [&](const std::string& to) { return a.transpose({}, to); },
      [&](const std::string& to) { return matmul(a, b, to); },
      [&](const std::string& to) { return matmul(a, thin, to); },
      [&](const std::string& to) { return a.save(to); },
      [&](const std::string& to) { return npy.transpose({}, to); },
  });
}

TEST_F(Jobs, OfFactorisationsGoOnFromEveryStep) {
  const i64 n = 640;
  const StoredArray a = input("a", {n, n}, 1), sides = input("b", {n, 70}, 2),
                    vector = input("v", {n}, 3);
  {
    const Array x = a.array();
    const Array positive = ops::add(tessera::matmul(x, x.transpose()), Value(0));
    for (i64 i = 0; i < n; ++i) positive.host<double>()[i * (n + 1)] += 1;
    StoredArray::from(positive, at("s"));
  }
  const StoredArray s = StoredArray::open(at("s"));
  go_on_from_every_step({
      [&](const std::string& to) { return cholesky(s, false, to); },
      [&](const std::string& to) { return cholesky(s, true, to); },
      [&](const std::string& to) { return solve(a, sides, to); },
      [&](const std::string& to) { return solve(a, vector, to); },
      [&](const std::string& to) { return inverse(a, to); },
      [&](const std::string& to) { return solve_triangular(s, sides, {}, to); },
  });
}

TEST_F(Jobs, OfSortsGoOnFromEveryStep) {
  const StoredArray line = input("a", {700000}, 1), rows = input("b", {3, 200000}, 2),
                    short_rows = input("c", {2000, 100}, 3);
  for (const double interval : {0.0, 0.01}) {  // ended at the last mark, or a few steps behind it
    set_mark_interval(interval);
    go_on_from_every_step({
        [&](const std::string& to) { return sort(line, -1, to); },
        [&](const std::string& to) { return sort(rows, -1, to); },
        [&](const std::string& to) { return sort(short_rows, -1, to); },
        [&](const std::string& to) { return sort(short_rows, 0, to); },
    });
  }
}

TEST_F(Jobs, OfTransformsGoOnFromEveryStep) {
  const StoredArray square = input("a", {300, 280}, 1), line = input("b", {150000}, 2),
                    wide = input("c", {1200, 700}, 3);
  constexpr Direction forward{FftKind::complex, -1}, from_real{FftKind::real_to_complex, -1};
  go_on_from_every_step({
      [&](const std::string& to) {
        return transform(square, forward, {0, 1}, {}, {}, to);
      },
      [&](const std::string& to) { return transform(wide, from_real, {1}, {}, {}, to); },
      [&](const std::string& to) { return transform(line, forward, {0}, {}, {}, to); },
      [&](const std::string& to) {
        return fftshift(wide, {0, 1}, false, to);
      },
  });
}

TEST_F(Jobs, ThatCannotSucceedLeaveNothing) {
  const i64 n = 640;
  const StoredArray a = input("a", {n, n}, 1);
  StoredArray::open(at("a"), true).write({{0, n - 1}, {n, 1}}, Array::scalar(Value(0), DType::f64));
  const Budget budget(3);
  EXPECT_THROW(inverse(StoredArray::open(at("a")), at("c")), LinAlgError);
  EXPECT_THROW(cholesky(StoredArray::open(at("a")), false, at("c")), LinAlgError);
  EXPECT_TRUE(only_has({"a"}));
}

TEST_F(Jobs, MakeFilesOfTheFormatOfTheirName) {
  const StoredArray a = input("a", {1400, 700}, 1);
  {
    const StopAfter stop(2);
    EXPECT_THROW(a.transpose({}, at("c.npy")), Stopped);
  }
  a.transpose({}, at("c.npy"));
  EXPECT_TRUE(read_all(at("c.npy")).starts_with("\x93NUMPY"));
  EXPECT_PRED2(same_bits, StoredArray::open(at("c.npy")).array(),
               a.array().transpose().contiguous());
  EXPECT_TRUE(only_has({"a", "c.npy"}));
}

TEST_F(Jobs, DoNotRepeatWhatIsDone) {
  const StoredArray a = input("a", {700, 300}, 1);
  i64 all = 0;
  {
    const StopAfter count(1 << 20);
    a.transpose({}, at("c"));
    all = (1 << 20) - steps_left;
  }
  fs::remove(at("c"));
  {
    const StopAfter stop(all - 2);
    EXPECT_THROW(a.transpose({}, at("c")), Stopped);
  }
  EXPECT_TRUE(only_has({"a", "c.partial", "c.job"}));
  const StopAfter stop(5);
  a.transpose({}, at("c"));
  EXPECT_GE(steps_left, 0);
}

TEST_F(Jobs, ThatCannotGoOnSayWhyAndTouchNothing) {
  const StoredArray a = input("a", {700, 300}, 1), b = input("b", {300, 700}, 2);
  {
    const StopAfter stop(4);
    EXPECT_THROW(a.transpose({}, at("c")), Stopped);
  }
  const std::string partial = read_all(at("c.partial")), job = read_all(at("c.job"));
  const auto refused = [&](auto&& call, std::string_view why, i64 mib = 3) {
    try {
      const Budget budget(mib);
      call();
      ADD_FAILURE() << "not refused";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    }
    EXPECT_EQ(read_all(at("c.partial")), partial);
    EXPECT_EQ(read_all(at("c.job")), job);
  };
  refused([&] { b.transpose({}, at("c")); }, "is of another job: its source was");
  refused([&] { a.save(at("c")); }, "its operation was 'transpose");
  {
    const JobFile held(at("c.job"));
    refused([&] { a.transpose({}, at("c")); }, "another process works on this job");
  }
  refused([&] { a.transpose({}, at("c")); }, "was begun with a budget of", 2);
  StoredArray::open(at("a"), true).write({{0, 0}, {1, 1}}, Array::scalar(Value(1), DType::f64));
  refused([&] { StoredArray::open(at("a")).transpose({}, at("c")); }, "its source was");
  fs::remove(at("c.job"));
  EXPECT_THROW(a.transpose({}, at("c")), IoError);  // a part of unknown origin
  EXPECT_EQ(read_all(at("c.partial")), partial);
  EXPECT_TRUE(only_has({"a", "b", "c.partial"}));
  fs::remove(at("c.partial"));
  a.transpose({}, at("c"));
  EXPECT_THROW(a.transpose({}, at("c")), IoError);  // a finished file is not made again
  EXPECT_TRUE(only_has({"a", "b", "c"}));
}

TEST_F(Jobs, OfFilesWithoutANameKnowThemByTheirNumbers) {
  const Array x = random_on_host({700, 300}, DType::f64, 1);
  const auto stored = [&](i64 mib) {  // the same numbers, in tiles for a budget
    const Budget budget(mib);
    const StoredArray a = StoredArray::create({700, 300}, DType::f64);
    a.write({{0, 0}, {700, 300}}, x);
    return a;
  };
  {
    const StoredArray a = stored(3);
    const StopAfter stop(4);
    EXPECT_THROW(a.transpose({}, at("c")), Stopped);
  }
  const StoredArray again = stored(3), other = stored(3), other_tiles = stored(5);
  other.write({{3, 5}, {1, 1}}, Array::scalar(Value(1), DType::f64));
  EXPECT_THROW(other.transpose({}, at("c")), ArgumentError);
  // The same numbers in tiles that cut the work otherwise: its steps have other numbers.
  EXPECT_THROW(other_tiles.transpose({}, at("c")), ArgumentError);
  again.transpose({}, at("c"));
  EXPECT_PRED2(same_bits, StoredArray::open(at("c")).array(), x.transpose().contiguous());
}

TEST_F(Jobs, OfInputsThatNobodyCanNameAreNotResumed) {
  const StorePtr zeros =
      store::generated_store("zeros", store::TileGrid({700, 300}, {100, 100}, DType::f64),
                             [](const Box&, const Array& into) { into.fill(Value(0)); });
  const StoredArray a{zeros};
  {
    const StopAfter stop(4);
    EXPECT_THROW(a.transpose({}, at("c")), Stopped);
  }
  EXPECT_THROW(a.transpose({}, at("c")), ArgumentError);
}

// Says which numbers it has, and how often it was asked.
struct AskedStore final : store::TileStore {
  explicit AskedStore(const Array& x) : inner(store::memory_store(x, {100, 100})) {}
  const store::TileGrid& grid() const override { return inner->grid(); }
  std::string describe() const override { return inner->describe(); }
  bool writable() const override { return false; }
  bool on_disk() const override { return false; }
  std::string version() const override {
    ++asked;
    return inner->version();
  }
  store::Transfer read(const Box& box, const Array& into) override {
    return inner->read(box, into);
  }
  store::Transfer write(const Box& box, const Array& from) override {
    return inner->write(box, from);
  }
  StorePtr inner;
  mutable i64 asked = 0;
};

TEST_F(Jobs, AloneAskWhichNumbersTheirInputsHave) {
  const auto store = std::make_shared<AskedStore>(random_on_host({300, 300}, DType::f64, 1));
  const StoredArray a{StorePtr(store)};
  (a * a - a).store();
  matmul(a, a).transpose();
  sort(a);
  inverse(a);
  EXPECT_EQ(store->asked, 0);
  (a * a - a).save(at("c"));
  EXPECT_GT(store->asked, 0);
}

TEST_F(Jobs, EndedBetweenTheirLastTwoActsAreFinished) {
  const StoredArray a = input("a", {70, 30}, 1);
  const std::string job = at("c.job");
  {
    const StopAfter stop(0);
    EXPECT_THROW(a.transpose({}, at("c")), Stopped);  // nothing is left of a job without a step
  }
  EXPECT_TRUE(only_has({"a"}));
  a.transpose({}, at("d"));
  // What a kill leaves after the file got its name.
  const store::TileGrid grid = StoredArray::open(at("d")).store()->grid();
  const JobFacts known{{"operation", "copy"}, {"source", a.store()->version()}};
  const Job described{at("c"), known, i64{3} << 20, i64{3} << 20};
  const PlanInto nothing = [&](const StorePtr& out, const Options& o, const MakeScratch&) {
    return plan_transpose(a.store(), out, {}, o);
  };
  run_job(described, grid, nothing);
  {
    JobFile file(job);
    JobFacts facts = described.facts;
    facts.emplace_back("number of threads", cat(num_threads()));
    facts.emplace_back("budget", "3145728");
    file.begin(facts);
  }
  EXPECT_THROW(run_job(described, grid, nothing), IoError);  // a file that is not the job's
  {
    JobFile file(job);
    file.set_next(JobFile::finished);
  }
  EXPECT_EQ(run_job(described, grid, nothing)->grid().shape(), Shape({30, 70}));
  EXPECT_FALSE(fs::exists(job));
  // And before it: all is written under the other name.
  fs::rename(at("c"), at("c.partial"));
  {
    JobFile file(job);
    JobFacts facts = described.facts;
    facts.emplace_back("number of threads", cat(num_threads()));
    facts.emplace_back("budget", "3145728");
    file.begin(facts);
    file.set_next(JobFile::finished);
  }
  run_job(described, grid, nothing);
  EXPECT_TRUE(only_has({"a", "c", "d"}));
}

TEST_F(Jobs, AreOfTheFormThatTheirFileSays) {
  const StoredArray a = input("a", {700, 300}, 1);
  const store::TileGrid grid({300, 700}, {100, 100}, DType::f64);
  const PlanInto transposed = [&](const StorePtr& out, const Options& o, const MakeScratch&) {
    return plan_transpose(a.store(), out, {}, o);
  };
  const std::string symmetric = "matrix Symmetric 9";
  const auto run = [&](const std::string& about, const std::string& name = "c") {
    return run_job({.path = at(name),
                    .facts = {{"operation", "copy"}, {"source", a.store()->version()}},
                    .budget = i64{1} << 20,
                    .limit = i64{1} << 20,
                    .about = about},
                   grid, transposed);
  };
  const auto others_are_refused = [&] {
    for (const std::string other : {"", "matrix Triangular 9", "matrix Symmetric 9 strict"})
      EXPECT_TRUE(has(thrown_text<IoError>([&] { run(other); }),
                      cat("said to hold '", symmetric, "', expected '", other, "'")))
          << other;
  };
  {
    const StopAfter stop(4);
    EXPECT_THROW(run(symmetric), Stopped);
  }
  const std::string partial = read_all(at("c.partial"));
  others_are_refused();
  EXPECT_EQ(read_all(at("c.partial")), partial);
  EXPECT_EQ(run(symmetric)->about(), symmetric);
  EXPECT_TRUE(only_has({"a", "c"}));
  {  // What a kill leaves after the file got its name.
    JobFile file(at("c.job"));
    file.begin({{"operation", "copy"},
                {"source", a.store()->version()},
                {"number of threads", cat(num_threads())},
                {"budget", "1048576"}});
    file.set_next(JobFile::finished);
  }
  others_are_refused();
  EXPECT_EQ(run(symmetric)->about(), symmetric);
  EXPECT_EQ(run(symmetric, "c.npy")->about(), "");  // which cannot say it
  EXPECT_TRUE(only_has({"a", "c", "c.npy"}));
}

TEST_F(Jobs, FilesThatAreCutOrChangedAreNoticed) {
  const StoredArray a = input("a", {700, 300}, 1);
  const Array wanted = a.array().transpose().contiguous();
  {
    const StopAfter stop(6);
    EXPECT_THROW(a.transpose({}, at("c")), Stopped);
  }
  const std::string job = read_all(at("c.job")), partial = read_all(at("c.partial"));
  const auto put = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(at(name), std::ios::binary | std::ios::trunc) << bytes;
  };
  // Whatever byte of the job's file is another one: the right result, or a sentence.
  for (std::size_t k = 0; k < job.size(); ++k) {
    std::string other = job;
    other[k] = static_cast<char>(other[k] ^ 1);
    put("c.job", other);
    put("c.partial", partial);
    fs::remove(at("c"));
    try {
      const Budget budget(3);
      a.transpose({}, at("c"));
      const Budget enough(100);
      ASSERT_PRED2(same_bits, StoredArray::open(at("c")).array(), wanted) << "byte " << k;
    } catch (const Error&) {
      ASSERT_FALSE(fs::exists(at("c")));
    }
    fs::remove(at("c"));
    fs::remove(at("c.job"));
    fs::remove(at("c.partial"));
  }
}

}  // namespace
}  // namespace tessera::streaming
