// SPDX-License-Identifier: Apache-2.0
#include "tessera/store/tiers/backing_file.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "support/files.hpp"
#include "tessera/base/config.hpp"
#include "tessera/base/error.hpp"
#include "tessera/store/tiers/backing_name.hpp"
#include "tessera/store/tiers/spill_file.hpp"

namespace tessera::store {
namespace {

namespace fs = std::filesystem;

struct InFolder {
  std::string path;
  explicit InFolder(const std::string& name) : path(path_of(name)) {
    fs::remove_all(path);
    set_backing_dir(path);
  }
  ~InFolder() {
    set_backing_dir("");
    set_file_fault(nullptr);
    set_disk_budget(config_decides);
    EXPECT_EQ(disk_stats().in_use, 0);
  }
  int files() const {
    return static_cast<int>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

TEST(BackingName, WrittenAndRead) {
  const BackingName a = BackingName::fresh("matmul"), b = BackingName::fresh("odd-name/../x");
  const auto c = BackingName::parse(a.str());
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(c->str(), a.str());
  EXPECT_EQ(c->what, "matmul");
  EXPECT_EQ(c->process, getpid());
  EXPECT_EQ(c->start, process_start(getpid()));
  EXPECT_TRUE(c->of_this_process());
  EXPECT_NE(a.random, BackingName::fresh("matmul").random);
  EXPECT_EQ(b.what, "oddname..x");
  for (const char* text :
       {"", "x", ".backing", "tessera-h-1-2-3-4.backing", "tessera------.backing",
        "tessera-h-1-2-3-4-x", "tessera-h-1-0-3-4-x.backing", "tessera-h-1-2-3-4-x-y.backing",
        "other-h-1-2-3-4-x.backing", "tessera-h-zz-2-3-4-x.backing",
        "tessera-h-1--2-3-4-x.backing"})
    EXPECT_FALSE(BackingName::parse(text).has_value()) << text;
}

TEST(BackingFile, WrittenReadAndGone) {
  InFolder in("plain");
  std::string path;
  {
    const BackingFile f = BackingFile::make("test");
    path = f.path();
    EXPECT_TRUE(path.starts_with(fs::canonical(in.path).string() + "/tessera-")) << path;
    struct stat s {};
    ASSERT_EQ(stat(path.c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0600U);
    f.claim(0, 10000);
    EXPECT_EQ(disk_stats().in_use, 10000);
    const std::string text = "what was written";
    f.write(5000, text.data(), 16);
    std::string back(16, 'x');
    f.read(5000, back.data(), 16);
    EXPECT_EQ(back, text);
    f.read(20, back.data(), 16);
    EXPECT_EQ(back, std::string(16, '\0'));
    EXPECT_THROW(f.read(10000, back.data(), 16), IoError);  // beyond the end
    ASSERT_EQ(truncate(path.c_str(), 100), 0);
    EXPECT_THROW(f.read(5000, back.data(), 16), IoError);
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(disk_stats().in_use, 0);
}

TEST(BackingFile, FoldersThatCannotBeUsed) {
  InFolder in("folders");
  std::ofstream(in.path + "/file") << "x";
  EXPECT_THROW(set_backing_dir(in.path + "/file"), IoError);
  EXPECT_THROW(set_backing_dir(in.path + "/file/below"), IoError);
  EXPECT_THROW(set_backing_dir("/proc/nothing"), IoError);
  EXPECT_EQ(backing_dir(), fs::canonical(in.path));  // a refused one changes nothing
  set_backing_dir(in.path + "/a/b/c");
  EXPECT_TRUE(fs::is_directory(in.path + "/a/b/c"));
  EXPECT_EQ(backing_dir_set(), fs::canonical(in.path).string() + "/a/b/c");
  set_backing_dir("");
  setenv("TESSERA_BACKING_DIR", (in.path + "/env").c_str(), 1);
  EXPECT_EQ(backing_dir(), in.path + "/env");
  EXPECT_TRUE(BackingFile::make("x").path().starts_with(in.path + "/env/"));
  EXPECT_TRUE(fs::is_directory(in.path + "/env"));
  unsetenv("TESSERA_BACKING_DIR");
}

TEST(BackingFile, BudgetOfTheDisk) {
  InFolder in("budget");
  set_disk_budget(10000);
  const BackingFile f = BackingFile::make("x"), g = BackingFile::make("y");
  f.claim(0, 6000);
  EXPECT_THROW(g.claim(0, 6000), OutOfMemory);
  EXPECT_EQ(g.claimed(), 0);
  f.release(0, 6000);
  g.claim(0, 6000);
  EXPECT_EQ(disk_stats().in_use, 6000);
  EXPECT_EQ(disk_stats().budget, 10000);
  set_disk_budget(config_decides);
  const Using<i64> share(config().disk_budget, parse_budget("50%"));
  EXPECT_GT(disk_stats().budget, 0);
  EXPECT_LE(disk_stats().budget, disk_total());
}

TEST(BackingFile, ClaimsForLaterTakeNothingOfTheDisk) {
  InFolder in("later");
  const i64 large = i64{1} << 30;
  {
    const BackingFile f = BackingFile::make("x"), g = BackingFile::make("y");
    const i64 before = disk_left();
    f.claim(0, large, Space::later);
    EXPECT_EQ(disk_stats().in_use, large);  // of the budget it counts in full
    EXPECT_LT(disk_occupied(), 1 << 20);
    // What was promised is not left to others; other programs may take some meanwhile.
    EXPECT_NEAR(static_cast<double>(before - disk_left()), large, large / 2);
    const char byte = 'x';
    f.write(large - 1, &byte, 1);
    EXPECT_LT(disk_occupied(), 1 << 20);
    char back = 0;
    f.read(large / 2, &back, 1);
    EXPECT_EQ(back, 0);
    g.claim(0, 1 << 20);
    EXPECT_GE(disk_occupied(), 1 << 20);
    EXPECT_THROW(g.claim(1 << 20, disk_left() + large, Space::later), IoError);
    set_disk_budget(large + (2 << 20));
    EXPECT_THROW(g.claim(1 << 20, large / 2, Space::later), OutOfMemory);
    EXPECT_EQ(g.claimed(), 1 << 20);
  }
  EXPECT_EQ(disk_occupied(), 0);
  setenv("TESSERA_BACKING_DIR", (in.path + "/not/yet/there").c_str(), 1);
  set_backing_dir("");
  EXPECT_GT(disk_free(), 0);  // of the folder in which it will be made
  EXPECT_FALSE(fs::exists(in.path + "/not"));
  unsetenv("TESSERA_BACKING_DIR");
}

TEST(BackingFile, FullDiskTakesNothing) {
  InFolder in("full");
  static int error = 0;
  set_file_fault([](std::string_view call) { return call == "claim" ? error : 0; });
  const BackingFile f = BackingFile::make("x");
  for (const int one : {ENOSPC, EDQUOT, EIO}) {
    error = one;
    try {
      f.claim(0, 1 << 20);
      ADD_FAILURE();
    } catch (const IoError& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find("cannot grow by 1.00 MiB"), std::string::npos) << text;
      EXPECT_NE(text.find(std::strerror(one)), std::string::npos) << text;
      EXPECT_EQ(text.find("set_backing_dir") != std::string::npos, one != EIO) << text;
    }
    EXPECT_EQ(disk_stats().in_use, 0);
    struct stat s {};
    ASSERT_EQ(fstat(f.descriptor(), &s), 0);
    EXPECT_EQ(s.st_blocks, 0);
  }
  error = EOPNOTSUPP;  // a file system that cannot promise space
  f.claim(0, 4096);
  f.release(0, 4096);
}

// A file system of 64 KiB would need rights that tests have not; a limit on the size of files fails
// in the same calls.
TEST(BackingFile, FilesThatMayNotGrow) {
  InFolder in("limited");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{65536, 65536};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    try {
      const BackingFile f = BackingFile::make("x");
      try {
        f.claim(0, 1 << 20);
        _exit(2);
      } catch (const IoError&) {
      }
      f.claim(0, 65536);
      _exit(disk_stats().in_use == 65536 ? 0 : 3);
    } catch (...) {
      _exit(4);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(remove_abandoned(in.path), 1);  // _exit left it
  EXPECT_EQ(in.files(), 0);
}

TEST(SpillFile, ExtentsAreReusedAndGivenBack) {
  InFolder in("extents");
  SpillFile file;
  EXPECT_EQ(file.path(), "");
  {
    Extent a = file.take(5000), b = file.take(4096), c = file.take(1);
    EXPECT_EQ(a.bytes(), 8192);
    EXPECT_EQ(disk_stats().in_use, 8192 + 4096 + 4096);
    EXPECT_EQ(a.path(), c.path());
    const std::string text(4096, 'b');
    b.write(0, text.data(), 4096);
    a = {};
    const Extent d = file.take(4096), e = file.take(4096);  // where a was
    std::string back(4096, 'x');
    e.read(0, back.data(), 4096);
    EXPECT_EQ(back, std::string(4096, '\0'));  // not what others had there
    b.read(0, back.data(), 4096);
    EXPECT_EQ(back, text);
    struct stat s {};
    ASSERT_EQ(stat(file.path().c_str(), &s), 0);
    EXPECT_EQ(s.st_size, 16384);
    EXPECT_THROW(b.read(4000, back.data(), 97), ArgumentError);
    // Another folder: new extents go there, old ones stay.
    const std::string old = file.path();
    set_backing_dir(in.path + "/other");
    const Extent f = file.take(10);
    EXPECT_NE(f.path(), old);
    EXPECT_EQ(b.path(), old);
    set_backing_dir(in.path);
  }
  EXPECT_EQ(in.files(), 1);  // the folder "other"
  EXPECT_TRUE(fs::is_empty(in.path + "/other"));
}

// Children that do as they are told through a pipe; each makes one file.
struct Child {
  pid_t pid = 0;
  int pipe_in[2] = {-1, -1}, pipe_out[2] = {-1, -1};
  std::string path;
  Child() {
    EXPECT_EQ(pipe2(pipe_in, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(pipe_out, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
      std::string made = "!";
      BackingFile f;
      try {
        f = BackingFile::make("child");
        f.claim(0, 4096);
        made = f.path();
      } catch (const Error& e) {
        made = e.what();
      }
      made += '\n';
      (void)!write(pipe_out[1], made.data(), made.size());
      char order = 0;
      (void)!read(pipe_in[0], &order, 1);
      if (order == 'x') std::exit(0);  // with f still there
      _exit(0);
    }
    char c = 0;
    while (read(pipe_out[0], &c, 1) == 1 && c != '\n') path += c;
  }
  void wait() {
    int status = 0;
    waitpid(pid, &status, 0);
    for (const int fd : {pipe_in[0], pipe_in[1], pipe_out[0], pipe_out[1]}) close(fd);
  }
};

TEST(BackingFile, ProcessesInOneFolder) {
  InFolder in("shared");
  const BackingFile mine = BackingFile::make("parent");
  std::vector<Child> children(4);
  std::set<std::string> paths{mine.path()};
  for (const Child& c : children) {
    EXPECT_TRUE(fs::exists(c.path)) << c.path;
    paths.insert(c.path);
  }
  EXPECT_EQ(paths.size(), 5U);
  EXPECT_EQ(remove_abandoned(in.path), 0);  // all of them live
  EXPECT_EQ(in.files(), 5);
  // One is killed: the next process that uses the folder removes its file and no other.
  kill(children[0].pid, SIGKILL);
  children[0].wait();
  EXPECT_TRUE(fs::exists(children[0].path));
  Child next;
  EXPECT_TRUE(fs::exists(children[0].path));  // a child of ours has cleaned here before
  EXPECT_EQ(remove_abandoned(in.path), 1);
  EXPECT_FALSE(fs::exists(children[0].path));
  EXPECT_EQ(in.files(), 5);
  // One ends in the usual way, its file unclosed: nothing is left, and ours stays.
  (void)!write(children[1].pipe_in[1], "x", 1);
  children[1].wait();
  EXPECT_FALSE(fs::exists(children[1].path));
  EXPECT_TRUE(fs::exists(mine.path()));
  for (std::size_t i = 2; i < 4; ++i) {
    (void)!write(children[i].pipe_in[1], "k", 1);
    children[i].wait();
  }
  (void)!write(next.pipe_in[1], "x", 1);
  next.wait();
  set_backing_dir(in.path);  // as does naming the folder
  EXPECT_EQ(in.files(), 1);
}

TEST(BackingFile, NumbersOfProcessesAreNotTrusted) {
  InFolder in("numbers");
  const auto put = [&](BackingName name) {
    const std::string path = in.path + "/" + name.str();
    std::ofstream(path) << "data";
    return path;
  };
  BackingName name = BackingName::fresh("x");
  name.process = 1;  // alive, and started at another time: the number was used again
  name.start = process_start(1).value_or(5) + 1;
  const std::string reused = put(name);
  name.host = "elsewhere";  // a container that is gone; here locks are the machine's
  const std::string container = put(name);
  std::ofstream(in.path + "/tessera-notes.backing") << "somebody's own";
  std::ofstream(in.path + "/data.backing") << "somebody's own";
  fs::create_directory(in.path + "/" + BackingName{"h", 1, 2, 3, 4, "x"}.str());
  // Locked by a living process whose number means nothing here.
  name.process = 999999999;
  const std::string locked = put(name);
  const int held = open(locked.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  EXPECT_EQ(remove_abandoned(in.path), 2);
  EXPECT_FALSE(fs::exists(reused));
  EXPECT_FALSE(fs::exists(container));
  EXPECT_TRUE(fs::exists(locked));
  EXPECT_EQ(in.files(), 4);
  close(held);
  EXPECT_EQ(remove_abandoned(in.path), 1);
  EXPECT_EQ(in.files(), 3);
}

TEST(BackingFile, MakingWhileOthersRemove) {
  InFolder in("race");
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      int bad = 0;
      for (int n = 0; n < 150 && bad == 0; ++n) try {
          const BackingFile f = BackingFile::make("race");
          remove_abandoned(in.path);
          f.claim(0, 4096);
          f.write(0, &n, sizeof n);
          if (access(f.path().c_str(), F_OK) != 0) bad = 2;
        } catch (...) {
          bad = 3;
        }
      _exit(bad);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(in.files(), 0);
}

TEST(BackingFile, AChildLeavesTheFilesOfItsParent) {
  InFolder in("fork");
  BackingFile f = BackingFile::make("x");
  f.claim(0, 4096);
  SpillFile spill;
  const Extent e = spill.take(4096);
  const pid_t child = fork();
  if (child == 0) {
    int bad = f.ours() ? 1 : 0;
    char c = 0;
    try {
      f.write(0, "x", 1);
      bad = 2;
    } catch (const IoError&) {
    }
    try {
      e.read(0, &c, 1);
      bad = 3;
    } catch (const IoError&) {
    }
    f = {};
    if (bad == 0 && spill.take(10).path() == e.path()) bad = 4;  // a file of its own
    // LeakSanitizer looks at exit, and counts what belongs to threads that a child does not have.
    const bool sanitized = dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
    bad != 0 || sanitized ? _exit(bad) : std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::exists(f.path()));
  EXPECT_EQ(in.files(), 2);
}

}  // namespace
}  // namespace tessera::store
