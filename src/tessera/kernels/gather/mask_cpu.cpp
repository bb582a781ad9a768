// SPDX-License-Identifier: Apache-2.0
// x[mask] and x[mask] = v on the host for a mask of x's shape: one pass to count, one to copy, in
// chunks whose order is the row-major order of the elements.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/gather/key.hpp"
#include "tessera/kernels/gather/pick_loop.hpp"
#include "tessera/kernels/reduce/reduce_truths.hpp"

namespace tessera {
namespace {

constexpr i64 chunk = 32768;

// As many elements as a register of every vector unit holds, eight at most.
template <class T>
constexpr unsigned lanes = static_cast<unsigned>(std::min<std::size_t>(8, 16 / sizeof(T)));
// By the bits of such: all ones for each that is set.
template <class T>
constexpr auto ones_of_bits = [] {
  std::array<std::array<T, lanes<T>>, 1U << lanes<T>> all{};
  for (unsigned bits = 0; bits < all.size(); ++bits)
    for (unsigned k = 0; k < lanes<T>; ++k)
      all[bits][k] = static_cast<T>(-static_cast<T>(bits >> k & 1));
  return all;
}();

// x[k] = one where bit k is set, for eight of them, without a branch on what nobody foresees.
template <class T>
void put_eight(T* x, unsigned bits, T one) {
  if constexpr (std::is_unsigned_v<T>) {
    constexpr unsigned step = lanes<T>;
    for (unsigned at = 0; at < 8; at += step) {
      const std::array<T, step> ones = ones_of_bits<T>[bits >> at & ((1U << step) - 1)];
      std::array<T, step> some;
      std::memcpy(some.data(), x + at, sizeof some);
      for (unsigned k = 0; k < step; ++k)
        some[k] = static_cast<T>((one & ones[k]) | (some[k] & static_cast<T>(~ones[k])));
      std::memcpy(x + at, some.data(), sizeof some);
    }
  } else {
    for (unsigned k = 0; k < 8; ++k)
      if ((bits >> k & 1) != 0) x[k] = one;
  }
}

class Masked {
 public:
  Masked(const Array& x, const Array& mask) : x_(x), mask_(mask.host<bool>()) {
    loop_.shape = x.shape();
    loop_.strides = {x.layout().strides, mask.layout().strides};
    loop_.simplify();
    x.storage().wait();
  }

  // Number of true elements; remembers how many lie before each chunk.
  i64 count() {
    const i64 n = chunks();
    before_.assign(static_cast<std::size_t>(n + 1), 0);
    parallel_for(n, 1, [&](i64 begin, i64 end) {
      for (i64 c = begin; c < end; ++c) {
        i64 found = 0;
        each_line(c, [&](i64, i64 m, i64 length) {
          const i64 step = inner_stride(loop_, 1);
          i64 here = 0;
          if (step == 1)
            CountLoops<bool>::row(mask_ + m, nullptr, length, 0, &here);
          else
            for (i64 i = 0; i < length; ++i) here += mask_[m + i * step];
          found += here;
        });
        before_[static_cast<std::size_t>(c + 1)] = found;
      }
    });
    for (i64 c = 0; c < n; ++c)
      before_[static_cast<std::size_t>(c + 1)] += before_[static_cast<std::size_t>(c)];
    return before_.back();
  }

  // to[k * step]: the k-th true element of x. After count().
  template <class T>
  void read(T* to, i64 step) const {
    const T* x = static_cast<const T*>(x_.data());
    const i64 xs = inner_stride(loop_, 0), ms = inner_stride(loop_, 1);
    parallel_for(chunks(), 1, [&](i64 begin, i64 end) {
      for (i64 c = begin; c < end; ++c) {
        i64 number = before_[static_cast<std::size_t>(c)];
        const i64 last = before_[static_cast<std::size_t>(c + 1)];
        each_line(c, [&](i64 at, i64 m, i64 length) {
          // Written in any case, kept where it is true: no branch on what nobody foresees. What
          // else is written is this chunk's, and is written again.
          i64 i = 0;
          const auto read_eight = [&](i64 begin) {
#pragma GCC unroll 8
            for (i64 k = begin; k < begin + 8; ++k) {
              to[number * step] = x[at + k * xs];
              number += mask_[m + k];
            }
          };
          for (; ms == 1 && i + 32 <= length && number + 32 <= last; i += 32) {
            if ((eight(m + i) | eight(m + i + 8) | eight(m + i + 16) | eight(m + i + 24)) == 0)
              continue;
            for (i64 k = i; k < i + 32; k += 8)
              if (eight(m + k) != 0) read_eight(k);
          }
          for (; ms == 1 && i + 8 <= length && number + 8 <= last; i += 8)
            if (eight(m + i) != 0) read_eight(i);
          for (; ms == 1 && i + 8 <= length && number < last; i += 8)  // the last few
            for (i64 k = i; eight(m + i) != 0 && k < i + 8; ++k)
              if (mask_[m + k]) to[number++ * step] = x[at + k * xs];
          for (; i < length && number < last; ++i) {
            to[number * step] = x[at + i * xs];
            number += mask_[m + i * ms];
          }
        });
      }
    });
  }

  // The k-th true element of x is from[k * step]. After count() where step is not 0.
  template <class T>
  void write(const T* from, i64 step) const {
    T* x = static_cast<T*>(x_.data());
    const i64 xs = inner_stride(loop_, 0), ms = inner_stride(loop_, 1);
    parallel_for(chunks(), 1, [&](i64 begin, i64 end) {
      for (i64 c = begin; c < end; ++c) {
        i64 number = before_.empty() ? 0 : before_[static_cast<std::size_t>(c)];
        each_line(c, [&](i64 at, i64 m, i64 length) {
          i64 i = 0;
          for (; step == 0 && ms == 1 && xs == 1 && i + 8 <= length; i += 8) {
            const std::uint64_t truths = eight(m + i);
            // Each byte's one goes to its place in the highest byte.
            if (truths != 0)
              put_eight(x + at + i, static_cast<unsigned>(truths * 0x0102040810204080U >> 56),
                        *from);
          }
          for (; i < length; ++i)
            if (mask_[m + i * ms]) x[at + i * xs] = from[number++ * step];
        });
      }
    });
  }

 private:
  std::uint64_t eight(i64 at) const {  // truth values at once, as bytes
    std::uint64_t word = 0;
    std::memcpy(&word, mask_ + at, sizeof word);
    return word;
  }
  i64 chunks() const { return (loop_.count + chunk - 1) / chunk; }
  template <class F>
  void each_line(i64 c, F&& f) const {
    const i64 begin = c * chunk;
    joint_runs(loop_, begin, std::min(chunk, loop_.count - begin),
               [&](const i64* at, i64 n) { f(at[0], at[1], n); });
  }

  const Array& x_;
  const bool* mask_;
  JointLoop loop_;
  std::vector<i64> before_;
};

// Bits of `words`, one for each of n elements.
template <class T>
void put_by_bits(T* x, i64 n, const std::uint64_t* words, T one) {
  for (i64 i = 0; i < n; i += 64, ++words) {
    std::uint64_t bits = *words;
    if (bits == 0) continue;
    const i64 end = std::min(i + 64, n);
    i64 k = i;
    for (; k + 8 <= end; k += 8, bits >>= 8)
      put_eight(x + k, static_cast<unsigned>(bits & 255), one);
    for (; k < end; ++k, bits >>= 1)
      if ((bits & 1) != 0) x[k] = one;
  }
}

}  // namespace

void write_by_bits(const Array& x, std::span<const std::uint64_t> bits, const Array& value) {
  x.storage().wait();
  value.storage().wait();
  with_size(size_of(x.dtype()), [&]<class T>() {
    T* to = static_cast<T*>(x.data());
    const T one = *static_cast<const T*>(value.data());
    parallel_for((x.size() + chunk - 1) / chunk, 1, [&](i64 begin, i64 end) {
      const i64 first = begin * chunk, last = std::min(end * chunk, x.size());
      put_by_bits(to + first, last - first, bits.data() + first / 64, one);
    });
  });
}

Array read_masked(const Array& x, const Array& mask) {
  Masked pairs(x, mask);
  const Array out = Array::empty({pairs.count()}, x.dtype(), x.device());
  with_size(size_of(x.dtype()),
            [&]<class T>() { pairs.read(static_cast<T*>(out.data()), out.layout().strides[0]); });
  return out;
}

void write_masked(const Array& x, const Array& mask, const Array& value) {
  Masked pairs(x, mask);
  if (value.size() != 1) check_mask_count(value, pairs.count());
  value.storage().wait();
  with_size(size_of(x.dtype()), [&]<class T>() {
    const T* from = static_cast<const T*>(value.data());
    const i64 step = value.size() <= 1 ? 0 : value.layout().strides[0];
    pairs.write(from, step);
  });
}

}  // namespace tessera
