// SPDX-License-Identifier: Apache-2.0
// x[mask] and x[mask] = v on the host for a mask of x's shape: one pass to count, one to copy, in
// chunks whose order is the row-major order of the elements.
#include "tessera/device/threads.hpp"
#include "tessera/kernels/gather/key.hpp"
#include "tessera/kernels/gather/pick_loop.hpp"

namespace tessera {
namespace {

constexpr i64 chunk = 32768;

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
          for (i64 i = 0; i < length; ++i) found += mask_[m + i * step];
        });
        before_[static_cast<std::size_t>(c + 1)] = found;
      }
    });
    for (i64 c = 0; c < n; ++c)
      before_[static_cast<std::size_t>(c + 1)] += before_[static_cast<std::size_t>(c)];
    return before_.back();
  }

  // f(element of x, its number among the true ones); the number is 0 where count() was not called.
  template <class T, class F>
  void each(F&& f) const {
    T* x = static_cast<T*>(x_.data());
    const i64 xs = inner_stride(loop_, 0), ms = inner_stride(loop_, 1);
    parallel_for(chunks(), 1, [&](i64 begin, i64 end) {
      for (i64 c = begin; c < end; ++c) {
        i64 number = before_.empty() ? 0 : before_[static_cast<std::size_t>(c)];
        each_line(c, [&](i64 at, i64 m, i64 length) {
          for (i64 i = 0; i < length; ++i)
            if (mask_[m + i * ms]) f(x[at + i * xs], number++);
        });
      }
    });
  }

 private:
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
  with_size(size_of(x.dtype()), [&]<class T>() {
    T* to = static_cast<T*>(out.data());
    const i64 step = out.layout().strides[0];
    pairs.each<T>([&](const T& from, i64 number) { to[number * step] = from; });
  });
  return out;
}

void write_masked(const Array& x, const Array& mask, const Array& value) {
  Masked pairs(x, mask);
  if (value.size() != 1) check_mask_count(value, pairs.count());
  value.storage().wait();
  with_size(size_of(x.dtype()), [&]<class T>() {
    const T* from = static_cast<const T*>(value.data());
    const i64 step = value.size() <= 1 ? 0 : value.layout().strides[0];
    pairs.each<T>([&](T& to, i64 number) { to = from[number * step]; });
  });
}

}  // namespace tessera
