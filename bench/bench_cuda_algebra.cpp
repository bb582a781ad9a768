// SPDX-License-Identifier: Apache-2.0
// Products on a GPU: numbers against cuBLAS called directly, bits against a rate; stacks of
// matrices. cuBLAS is found in the process, where the CUDA plug-in has loaded it; nothing is
// linked.
#include <dlfcn.h>

#include "ratio.hpp"
#include "tessera/kernels/bitmatmul/bitmatmul.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {
namespace {

// The few entries of cuBLAS that are called here, by their C names.
class Cublas {
 public:
  Cublas() {
    blas_ = dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL);
    runtime_ = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!*this) return;
    find<int (*)(void**)>(blas_, "cublasCreate_v2")(&handle_);
    sync_ = find<int (*)()>(runtime_, "cudaDeviceSynchronize");
  }
  explicit operator bool() const { return blas_ != nullptr && runtime_ != nullptr; }
  // c = a b, (n, n) in rows: the transposes in columns, which is what cuBLAS reads.
  void gemm(const char* entry, i64 n, const void* one, const void* zero, const Array& a,
            const Array& b, const Array& c) const {
    using Gemm = int (*)(void*, int, int, int, int, int, const void*, const void*, int, const void*,
                         int, const void*, void*, int);
    const int m = static_cast<int>(n);
    find<Gemm>(blas_, entry)(handle_, 0, 0, m, m, m, one, b.data(), m, a.data(), m, zero, c.data(),
                             m);
    sync_();
  }

 private:
  template <class F>
  static F find(void* library, const char* entry) {
    return reinterpret_cast<F>(dlsym(library, entry));
  }
  void *blas_ = nullptr, *runtime_ = nullptr, *handle_ = nullptr;
  int (*sync_)() = nullptr;
};

void numbers(Device gpu) {
  const Cublas cublas;
  if (!cublas) return;
  const i64 n = 4096;
  const float one_f[] = {1, 0}, zero_f[] = {0, 0};
  const double one_d[] = {1, 0}, zero_d[] = {0, 0};
  struct Case {
    DType dtype;
    const char* entry;
    const void *one, *zero;
  };
  for (const Case& t : {Case{DType::f32, "cublasSgemm_v2", one_f, zero_f},
                        Case{DType::f64, "cublasDgemm_v2", one_d, zero_d},
                        Case{DType::c64, "cublasCgemm_v2", one_f, zero_f},
                        Case{DType::c128, "cublasZgemm_v2", one_d, zero_d}}) {
    const Array a = Random(1).normal({n, n}, t.dtype, gpu),
                b = Random(2).normal({n, n}, t.dtype, gpu), c = zeros({n, n}, t.dtype, gpu);
    compare(
        cat("matmul 4096^2 ", name(t.dtype), ", cuda"), t.entry, 0.97,
        [&] {
          matmul(a, b, c);
          Stream::home(gpu).sync();
        },
        [&] { cublas.gemm(t.entry, n, t.one, t.zero, a, b, c); });
  }
}

// Rows [first, first + 64) of the counts, again by the host.
bool exact(const Bits& a, const Bits& turned, const Array& counts, i64 first) {
  const auto rows = [&](const Array& x) { return x.slice(0, first, first + 64); };
  const Bits some{rows(a.words).to(cpu), a.columns}, all{turned.words.to(cpu), turned.columns};
  const Array again = bit_counts(some, all, {.transposed = true});
  return reduce(ReduceOp::all, ops::equal(again, rows(counts).to(cpu))).item().as<bool>();
}

void bits(Device gpu) {
  const i64 n = 65536;
  const auto coins = [&](std::uint64_t seed) {
    return bit_pack(ops::greater(Random(seed).uniform({n, n}, DType::f32, gpu), 0.5));
  };
  const Bits a = coins(1), turned = coins(2);
  const BitCounts options{.transposed = true};
  const Array counts = bit_counts(a, turned, options);
  const bool right = exact(a, turned, counts, 0) && exact(a, turned, counts, n - 64);
  const double side = static_cast<double>(n);
  within(
      "bit product 65536^2, cuda", 2 * side * side * side / 8e15,
      [&] {
        bit_counts(a, turned, options);
        Stream::home(gpu).sync();
      },
      right ? "limit: 8 Pop/s; 128 rows equal to the host's" : "WRONG COUNTS");
}

// Stacks that one launch factors, for information beside the host's LAPACK.
void stacks(Device gpu) {
  for (const i64 n : {32, 64}) {
    const i64 count = 32768 / n;
    const Array a = Random(3).normal({count, n, n}, DType::f32, gpu), here = a.to(cpu);
    const std::string what = cat(" of ", count, " matrices of ", n, "^2 float32, cuda");
    compare(
        "qr" + what, "LAPACK", 0,
        [&] {
          linalg::qr(a);
          Stream::home(gpu).sync();
        },
        [&] { linalg::qr(here); });
    compare(
        "svd" + what, "LAPACK", 0, [&] { linalg::svd(a); }, [&] { linalg::svd(here); });
  }
}

}  // namespace

void bench_cuda_algebra() {
  if (!why_unavailable(Kind::cuda).empty()) return;
  const Device gpu = Device::parse("cuda:0");
  numbers(gpu);
  stacks(gpu);
  bits(gpu);
}

}  // namespace tessera::bench
