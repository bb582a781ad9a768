// SPDX-License-Identifier: Apache-2.0
#include "tessera/kernels/sort/vector_sort.hpp"

#include "tessera/kernels/sort/columns.hpp"
#include "tessera/kernels/sort/lanes_avx512.hpp"
#include "tessera/kernels/sort/sort_rows.hpp"

#if defined(__x86_64__)

namespace tessera {
namespace {

// While it lives, numbers below the least normal one differ from zero, whatever the program asked
// of its processor.
struct ExactFloats {
  static constexpr unsigned inputs_are_zeros = 0x40;
  ExactFloats() {
    if (before_ & inputs_are_zeros) _mm_setcsr(before_ & ~inputs_are_zeros);
  }
  ~ExactFloats() {
    if (before_ & inputs_are_zeros) _mm_setcsr(before_);
  }
  ExactFloats(const ExactFloats&) = delete;

 private:
  unsigned before_ = _mm_getcsr();
};

template <class K>
bool sort_if_wide(K* x, i64 n) {
  if (!sorts_in_wide_registers(sizeof(K))) return false;
  sort_in_registers<Avx512Lanes<K>>(x, n);
  return true;
}

}  // namespace

bool sort_in_wide_registers(std::int32_t* x, i64 n) { return sort_if_wide(x, n); }
bool sort_in_wide_registers(std::int64_t* x, i64 n) { return sort_if_wide(x, n); }
bool sort_in_wide_registers(std::uint32_t* x, i64 n) { return sort_if_wide(x, n); }
bool sort_in_wide_registers(std::uint64_t* x, i64 n) { return sort_if_wide(x, n); }
bool sort_in_wide_registers(float* x, i64 n) {
  const ExactFloats exact;
  return sort_if_wide(x, n);
}
bool sort_in_wide_registers(double* x, i64 n) {
  const ExactFloats exact;
  return sort_if_wide(x, n);
}

void columns_to_lines(const std::uint32_t* from, i64 step, i64 n, std::uint32_t* lines) {
  lines_of_columns<Avx512Lanes<std::uint32_t>>(from, step, n, lines);
}
void columns_to_lines(const std::uint64_t* from, i64 step, i64 n, std::uint64_t* lines) {
  lines_of_columns<Avx512Lanes<std::uint64_t>>(from, step, n, lines);
}
void lines_to_columns(const std::uint32_t* lines, i64 n, std::uint32_t* to, i64 step) {
  columns_of_lines<Avx512Lanes<std::uint32_t>>(lines, n, to, step);
}
void lines_to_columns(const std::uint64_t* lines, i64 n, std::uint64_t* to, i64 step) {
  columns_of_lines<Avx512Lanes<std::uint64_t>>(lines, n, to, step);
}

}  // namespace tessera

#endif
