// SPDX-License-Identifier: Apache-2.0
// Hostile .tessera files. Bytes that are changed without their checksums are detected or harmless:
// what is read is what was written. Lists of arrays that lie under right checksums are refused, or
// read as they say. Nothing but IoErrors, and memory in proportion to the file.
//   usage: fuzz_snapshot [SECONDS [SEED]]
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

#include "tessera/device/memory.hpp"
#include "tessera/store/snapshot/crc32c.hpp"
#include "tessera/store/snapshot/snapshot_reader.hpp"
#include "tessera/store/snapshot/snapshot_writer.hpp"

// What the library takes from the heap, arrays aside: counted here, asked for below. A block is one
// of malloc and no more, its size what malloc says. Where a library was linked to operators of its
// own, what they took is released here, and the other way round: with a size in front of each block
// that ended in "munmap_chunk(): invalid pointer".
static std::atomic<long long> heap_bytes = 0, heap_peak = 0;

[[gnu::noinline]] static void* counted_memory(std::size_t n) {
  void* p = std::malloc(std::max<std::size_t>(n, 1));
  if (p == nullptr) throw std::bad_alloc();
  const long long now = heap_bytes += static_cast<long long>(malloc_usable_size(p));
  if (now > heap_peak) heap_peak = now;
  return p;
}
[[gnu::noinline]] static void release_counted(void* p) noexcept {
  heap_bytes -= static_cast<long long>(malloc_usable_size(p));
  std::free(p);
}
void* operator new(std::size_t n) { return counted_memory(n); }
void* operator new[](std::size_t n) { return counted_memory(n); }
void operator delete(void* p) noexcept { release_counted(p); }
void operator delete[](void* p) noexcept { release_counted(p); }
void operator delete(void* p, std::size_t) noexcept { release_counted(p); }
void operator delete[](void* p, std::size_t) noexcept { release_counted(p); }

namespace tessera {
namespace {

using Random = std::mt19937_64;

i64 below(Random& r, i64 n) { return static_cast<i64>(r() % static_cast<std::uint64_t>(n)); }

[[noreturn]] void fail(const std::string& what, std::uint64_t number) {
  std::fprintf(stderr, "case %llu: %s\n", static_cast<unsigned long long>(number), what.c_str());
  std::exit(1);
}

Array sample(Random& r) {
  Shape shape;
  for (i64 n = below(r, 4); n > 0; --n) shape.push_back(below(r, 7));
  if (below(r, 16) == 0) shape = {3, 7000};  // several pieces
  const auto dtype = static_cast<DType>(below(r, dtype_count));
  Array a(Storage::allocate(cpu, count_of(shape) * size_of(dtype)), Layout::contiguous(shape),
          dtype);
  auto* p = static_cast<unsigned char*>(a.data());
  for (i64 i = 0; i < a.bytes(); ++i)
    p[i] = static_cast<unsigned char>(dtype == DType::b1 ? r() & 1 : r());
  return a;
}

// A file and what it holds.
struct Sample {
  std::string bytes, description;
  NamedArrays arrays;
};

Sample sample_file(Random& r) {
  Sample s;
  for (i64 n = below(r, 4); n > 0; --n) s.arrays.emplace_back(cat("a", n), sample(r));
  s.description = below(r, 2) == 0 ? "" : R"({"tessera": 1, "value": {"array": 0}})";
  s.bytes = encode_snapshot(s.arrays, s.description);
  return s;
}

constexpr std::uint64_t strange_numbers[] = {0,
                                             1,
                                             0x7f,
                                             0x80,
                                             0xff,
                                             0x100,
                                             0xffff,
                                             0x100000,
                                             0x7fffffff,
                                             0xffffffff,
                                             std::uint64_t{1} << 62,
                                             ~std::uint64_t{0} >> 1,
                                             ~std::uint64_t{0}};
std::uint64_t strange(Random& r) { return strange_numbers[below(r, std::size(strange_numbers))]; }

void mutate(std::string& s, Random& r) {
  static constexpr std::string_view words[] = {"[",
                                               "]",
                                               "{",
                                               "}",
                                               ",",
                                               "\"",
                                               "-1",
                                               "0",
                                               "128",
                                               "16384",
                                               "1e3",
                                               "null",
                                               "true",
                                               "[0]",
                                               "[1,2]",
                                               "{}",
                                               "\"shape\"",
                                               "\"x\"",
                                               "\"name\"",
                                               "\"piece\"",
                                               "\"float64\"",
                                               "\"bool\"",
                                               "[[[[[[",
                                               "\n",
                                               "\xff",
                                               "\\ud800",
                                               "\"offset\":",
                                               "4611686018427387904",
                                               "9223372036854775807",
                                               "18446744073709551616"};
  for (i64 times = 1 + below(r, 4); times > 0 && !s.empty(); --times) {
    const auto at = static_cast<std::size_t>(below(r, static_cast<i64>(s.size())));
    switch (below(r, 8)) {
      case 0: s[at] = static_cast<char>(r()); break;
      case 1: s[at] = static_cast<char>(s[at] ^ (1 << below(r, 8))); break;
      case 2: s.resize(at); break;
      case 3: s.erase(at, static_cast<std::size_t>(below(r, 9))); break;
      case 4: s.insert(at, words[below(r, std::size(words))]); break;
      case 5: s[at] = static_cast<char>('0' + below(r, 10)); break;
      case 6:
        s.insert(at, s.substr(static_cast<std::size_t>(below(r, static_cast<i64>(s.size()))), 40));
        break;
      default: {
        const std::uint64_t v = strange(r);
        const std::size_t width = std::size_t{1} << below(r, 4);
        for (std::size_t i = 0; i < width && at + i < s.size(); ++i)
          s[at + i] = static_cast<char>(v >> (8 * i));
      }
    }
  }
}

std::span<const std::byte> bytes_of(const std::string& s) {
  return std::as_bytes(std::span(s.data(), s.size()));
}

// The metadata or the slots changed, under checksums that are right.
std::string lying(const Sample& sample, Random& r) {
  std::string s = sample.bytes;
  const Snapshot good(bytes_of(s), "'good'");
  SnapshotSlot slot = good.slot();
  const auto at = static_cast<std::size_t>(slot.metadata);
  std::string text = s.substr(at, static_cast<std::size_t>(slot.metadata_bytes));
  const bool words = below(r, 4) != 0;
  if (words) mutate(text, r);
  s = s.substr(0, at) + text;
  slot.metadata_bytes = static_cast<i64>(text.size());
  slot.end = static_cast<i64>(s.size());
  slot.metadata_sum = crc32c(text.data(), slot.metadata_bytes);
  if (!words) {
    const auto v = static_cast<i64>(below(r, 2) == 0 ? strange(r) : r() % (s.size() + 1));
    switch (below(r, 4)) {
      case 0: slot.metadata = v; break;
      case 1: slot.metadata_bytes = v; break;
      case 2: slot.end = v; break;
      default: slot.generation = static_cast<std::uint64_t>(v);
    }
    // Of other bytes of the file, where there are such.
    if (slot.metadata >= 0 && slot.metadata_bytes >= 0 &&
        slot.metadata <= static_cast<i64>(s.size()) &&
        slot.metadata_bytes <= static_cast<i64>(s.size()) - slot.metadata)
      slot.metadata_sum = crc32c(s.data() + slot.metadata, slot.metadata_bytes);
  }
  const std::vector<std::byte> head = encoded_head(good.alignment(), slot);
  std::memcpy(s.data(), head.data(), head.size());
  if (below(r, 4) == 0) s[static_cast<std::size_t>(below(r, good.alignment()))] ^= 1;
  return s;
}

std::string_view elements_of(const Array& x) {
  if (x.bytes() == 0) return {};
  return {static_cast<const char*>(x.host_data()), static_cast<std::size_t>(x.bytes())};
}

void compare(const Snapshot& s, const Sample& sample, std::uint64_t number) {
  if (s.description() != sample.description || s.entries().size() != sample.arrays.size())
    fail("a changed byte went unnoticed in the metadata", number);
  for (std::size_t i = 0; i < sample.arrays.size(); ++i) {
    const Array x = s.read(s.find(sample.arrays[i].first));
    const Array& y = sample.arrays[i].second;
    if (x.dtype() != y.dtype() || !(x.shape() == y.shape()) || elements_of(x) != elements_of(y))
      fail("a changed byte went unnoticed in an array", number);
  }
}

// Whole arrays, and a slice of each, which is that of the whole.
void read_all(const Snapshot& s, Random& r, std::uint64_t number) {
  for (i64 i = 0; i < static_cast<i64>(s.entries().size()); ++i) {
    const SnapshotEntry& e = s.entries()[static_cast<std::size_t>(i)];
    const Array whole = s.read(i);
    std::vector<SnapshotRange> ranges;
    Layout part = whole.layout();
    for (i64 a = 0; a < e.shape.size(); ++a) {
      const i64 size = e.shape[a], begin = below(r, std::max<i64>(size, 1)), step = 1 + below(r, 3);
      const i64 most = size == 0 ? 0 : (size - 1 - begin) / step, count = below(r, most + 1);
      ranges.push_back({begin, count, step});
      part = part.slice(a, begin, count, step);
    }
    const Array slice = s.read(i, ranges), expected = whole.view(part).contiguous();
    if (elements_of(slice) != elements_of(expected))
      fail("a slice is not that of the whole", number);
  }
}

class SnapshotFuzzer {
 public:
  explicit SnapshotFuzzer(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < 64; ++i) samples_.push_back(sample_file(random_));
    const long long before = heap_bytes;
    const std::string described = encode_snapshot({}, std::string(1 << 16, ' '));
    heap_is_counted = heap_bytes - before >= static_cast<long long>(described.size());
  }

  void run(std::uint64_t number) {
    const Sample& sample =
        samples_[static_cast<std::size_t>(below(random_, static_cast<i64>(samples_.size())))];
    const bool lies = number % 4 != 0;
    std::string s = sample.bytes;
    if (lies)
      s = lying(sample, random_);
    else
      mutate(s, random_);
    reset_peak(cpu);
    const i64 before = memory_stats(cpu).in_use;
    const long long heap_before = heap_bytes;
    heap_peak = heap_before;
    try {
      const Snapshot opened(bytes_of(s), "'fuzz'");
      if (!lies) compare(opened, sample, number);
      read_all(opened, random_, number);
      ++accepted;
    } catch (const IoError&) {
      ++refused;
    } catch (const std::exception& e) {
      fail(std::string("an error that is no IoError: ") + e.what(), number);
    }
    const auto size = static_cast<i64>(s.size());
    if (memory_stats(cpu).peak - before > 4 * size + (1 << 16))
      fail("arrays took more memory than the file has bytes", number);
    if (heap_is_counted && heap_peak - heap_before > 128 * size + (1 << 16))
      fail("reading took much more memory than the file has bytes", number);
  }

  std::uint64_t accepted = 0, refused = 0;
  bool heap_is_counted = false;  // the operators of this program are the library's

 private:
  Random random_;
  std::vector<Sample> samples_;
};

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  tessera::SnapshotFuzzer fuzzer(seed);
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t n = 0;
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds)
    for (int i = 0; i < 64; ++i) fuzzer.run(n++);
  std::printf("fuzz_snapshot: %llu cases, %llu accepted, %llu refused, seed %llu%s\n",
              static_cast<unsigned long long>(n), static_cast<unsigned long long>(fuzzer.accepted),
              static_cast<unsigned long long>(fuzzer.refused),
              static_cast<unsigned long long>(seed),
              fuzzer.heap_is_counted ? "" : "; what the library took from the heap was not seen");
  return 0;
}
