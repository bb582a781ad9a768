// SPDX-License-Identifier: Apache-2.0
// x[mask] and x[mask] = v on the host for a mask of x's shape: one pass to count, one to copy, in
// chunks whose order is the row-major order of the elements.
#include <bit>
#include <cstring>
#include <type_traits>

#include "tessera/device/threads.hpp"
#include "tessera/kernels/gather/key.hpp"
#include "tessera/kernels/gather/pick_loop.hpp"

namespace tessera {
namespace {

constexpr i64 chunk = 32768;

// `a` where it is true, else `b`, without a branch.
template <class T>
T either(bool truth, T a, T b) {
  if constexpr (std::is_unsigned_v<T>) {
    const T all = static_cast<T>(-static_cast<T>(truth));
    return static_cast<T>((a & all) | (b & static_cast<T>(~all)));
  } else {
    return truth ? a : b;
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
          i64 i = 0;
          for (; step == 1 && i + 8 <= length; i += 8) found += std::popcount(eight(m + i));
          for (; i < length; ++i) found += mask_[m + i * step];
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
          for (; ms == 1 && i + 8 <= length && number + 8 <= last; i += 8) {
            if (eight(m + i) == 0) continue;
            for (i64 k = i; k < i + 8; ++k) {
              to[number * step] = x[at + k * xs];
              number += mask_[m + k];
            }
          }
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
            if (eight(m + i) == 0) continue;
            const T one = *from;
            for (i64 k = i; k < i + 8; ++k) x[at + k] = either(mask_[m + k], one, x[at + k]);
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

}  // namespace

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
