// SPDX-License-Identifier: Apache-2.0
// Mutates .npy and .npz files and reads them: only an IoError may come out, or an array that can be
// read to its last byte and that survives being written and read again.   usage: fuzz_npy [SECONDS
// [SEED]]
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tessera/array/npy.hpp"
#include "tessera/array/npz.hpp"

namespace tessera {
namespace {

using Random = std::mt19937_64;

i64 below(Random& r, i64 n) { return static_cast<i64>(r() % static_cast<std::uint64_t>(n)); }

Array sample(Random& r) {
  Shape shape;
  for (i64 n = below(r, 4); n > 0; --n) shape.push_back(below(r, 6));
  const auto dtype = static_cast<DType>(below(r, dtype_count));
  Array a(Storage::allocate(cpu, count_of(shape) * size_of(dtype)), Layout::contiguous(shape),
          dtype);
  auto* p = static_cast<unsigned char*>(a.data());
  for (i64 i = 0; i < a.bytes(); ++i)
    p[i] = static_cast<unsigned char>(dtype == DType::b1 ? r() & 1 : r());
  return below(r, 3) == 0 ? a.transpose() : a;
}

std::string encoded(const Array& a) {
  std::string s;
  encode_npy(a, [&](const void* p, i64 n) {
    s.append(static_cast<const char*>(p), static_cast<std::size_t>(n));
  });
  return s;
}

void mutate(std::string& s, Random& r) {
  static constexpr std::string_view words[] = {"(",
                                               ")",
                                               ",",
                                               "'",
                                               "{",
                                               "}",
                                               "-1",
                                               "99999999999999999999",
                                               "True",
                                               "'|O'",
                                               "'<f8'",
                                               "'>c16'",
                                               "9223372036854775807",
                                               "L",
                                               "[('a','<f4')]"};
  static constexpr std::uint64_t numbers[] = {0,      1,          0x7f,       0xff,
                                              0xffff, 0x7fffffff, 0xffffffff, ~std::uint64_t{0}};
  for (i64 times = 1 + below(r, 4); times > 0 && !s.empty(); --times) {
    const auto at = static_cast<std::size_t>(below(r, static_cast<i64>(s.size())));
    switch (below(r, 7)) {
      case 0: s[at] = static_cast<char>(r()); break;
      case 1: s[at] = static_cast<char>(s[at] ^ (1 << below(r, 8))); break;
      case 2: s.resize(at); break;
      case 3: s.erase(at, static_cast<std::size_t>(below(r, 9))); break;
      case 4: s.insert(at, words[below(r, std::size(words))]); break;
      case 5:
        s.insert(at, s.substr(static_cast<std::size_t>(below(r, static_cast<i64>(s.size()))), 16));
        break;
      default: {
        const std::uint64_t v = numbers[below(r, std::size(numbers))];
        const std::size_t width = std::size_t{1} << below(r, 4);
        for (std::size_t i = 0; i < width && at + i < s.size(); ++i)
          s[at + i] = static_cast<char>(v >> (8 * i));
      }
    }
  }
}

[[noreturn]] void fail(const std::string& what, std::uint64_t number) {
  std::fprintf(stderr, "case %llu: %s\n", static_cast<unsigned long long>(number), what.c_str());
  std::exit(1);
}

// Reads every byte, and the array again from its own file.
void inspect(const Array& a, std::uint64_t number) {
  const std::string once = encoded(a);
  const Array again = decode_npy(std::as_bytes(std::span(once.data(), once.size())), "'again'");
  if (again.dtype() != a.dtype() || !(again.shape() == a.shape()))
    fail("another shape or dtype came back", number);
  if (encoded(again) != once) fail("other bytes came back", number);
}

class Fuzzer {
 public:
  explicit Fuzzer(std::uint64_t seed) : random_(seed) {
    // In memory where there is such a folder: the disk is not what is tested.
    for (std::string name : {"/dev/shm/tessera_fuzz_XXXXXX", "/tmp/tessera_fuzz_XXXXXX"}) {
      file_ = mkstemp(name.data());
      path_ = name;
      if (file_ >= 0) break;
    }
    for (int i = 0; i < 64; ++i) {
      save_npz(path_, {{"x", sample(random_)}, {"y", sample(random_)}}, i % 2 == 0);
      archives_.push_back(contents());
    }
  }
  ~Fuzzer() {
    close(file_);
    unlink(path_.c_str());
  }

  void run(std::uint64_t number) {
    try {
      if (number % 3 == 0)
        archive(number);
      else
        array(number);
      ++accepted;
    } catch (const IoError&) {
      ++refused;
    } catch (const std::exception& e) {
      fail(std::string("an error that is no IoError: ") + e.what(), number);
    }
  }

  std::uint64_t accepted = 0, refused = 0;

 private:
  void array(std::uint64_t number) {
    std::string s = encoded(sample(random_));
    mutate(s, random_);
    inspect(decode_npy(std::as_bytes(std::span(s.data(), s.size())), "'fuzz'"), number);
  }

  // A file of this process: written over, never renamed, so that nothing is left behind after a
  // crash but it.
  void archive(std::uint64_t number) {
    std::string s =
        archives_[static_cast<std::size_t>(below(random_, static_cast<i64>(archives_.size())))];
    mutate(s, random_);
    overwrite(s);
    for (const auto& [name, a] : load_npz(path_, NpzOptions{i64{1} << 24})) inspect(a, number);
  }

  std::string contents() const {
    std::string s;
    std::FILE* f = std::fopen(path_.c_str(), "rb");
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, f)) > 0;) s.append(buffer, n);
    std::fclose(f);
    return s;
  }
  void overwrite(const std::string& s) const {
    std::FILE* f = std::fopen(path_.c_str(), "wb");
    std::fwrite(s.data(), 1, s.size(), f);
    std::fclose(f);
  }

  Random random_;
  int file_ = -1;
  std::string path_;
  std::vector<std::string> archives_;
};

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  tessera::Fuzzer fuzzer(seed);
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t n = 0;
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds)
    for (int i = 0; i < 64; ++i) fuzzer.run(n++);
  std::printf("fuzz_npy: %llu cases, %llu accepted, %llu refused, seed %llu\n",
              static_cast<unsigned long long>(n), static_cast<unsigned long long>(fuzzer.accepted),
              static_cast<unsigned long long>(fuzzer.refused),
              static_cast<unsigned long long>(seed));
  return 0;
}
