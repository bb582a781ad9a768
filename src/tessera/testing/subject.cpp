// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/subject.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "tessera/tessera.hpp"

namespace tessera::laws {
namespace {

double epsilon(DType t) {
  switch (real_of(t)) {
    case DType::f64: return 0x1p-52;
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    default: return 0x1p-23;
  }
}

double norm_of(const Array& x) {
  return norm(x.astype(promote(x.dtype(), DType::c128))).item().as<double>();
}

}  // namespace

double difference(const Array& a, const Array& b) {
  const Array wide = ops::subtract(a.astype(DType::c128), b.astype(DType::c128));
  const double scale = norm_of(b);
  return norm_of(wide) / (scale > 0 ? scale : 1);
}

Array awkward(const Array& x) {
  Shape wide;
  for (i64 i = x.ndim() - 1; i >= 0; --i) wide.push_back(2 * x.shape(i) + 1);
  const Array big = Array::empty(wide, x.dtype(), x.device());
  Array v = big.transpose();
  for (i64 i = 0; i < x.ndim(); ++i) {
    v = v.slice(i, 1, 2 * x.shape(i) + 1, 2);
    if (i % 2 == 0) v = v.view(v.layout().slice(i, x.shape(i) - 1, x.shape(i), -1));
  }
  v.copy_from(x);
  return v;
}

bool in_share(const Sample& sample, int number) {
  static const std::size_t share = [] {
    const char* text = std::getenv("TESSERA_TEST_SHARE");
    const int n = text ? std::atoi(text) : 1;
    return static_cast<std::size_t>(n > 1 ? n : 1);
  }();
  return (std::hash<std::string>{}(sample.label) + static_cast<std::size_t>(number)) % share == 0;
}

bool everything() {
  static const bool asked = std::getenv("TESSERA_LARGE") != nullptr;
  return asked;
}

Array Subject::random_input(std::uint64_t seed) const {
  return Random(seed).normal(sample.input, dtype, device);
}

double Subject::tolerance() const {
  const i64 terms = count_of(sample.input) + count_of(A.output_shape(sample.input));
  // Sums of short numbers are formed in float32: what is left is the rounding of each step.
  if (size_of(dtype) == 2) return 8 * epsilon(dtype);
  return epsilon(dtype) * (16 + 4 * std::sqrt(static_cast<double>(terms)));
}

bool Subject::expect_near(const Array& a, const Array& b, double tol, std::string_view what) {
  const double d = difference(a, b);
  return expect(d < tol, what, ": difference ", d, ", expected less than ", tol);
}

std::vector<std::string> faults_of(const Law& law, const Sample& sample, DType t, Device d) {
  Subject s(sample, t, d);
  try {
    law.check(s);
  } catch (const std::exception& e) {
    s.faults.emplace_back(cat("an exception: ", e.what()));
  }
  return s.faults;
}

int check_laws(Samples samples, const std::vector<Device>& devices) {
  const Using poison(config().poison, true);
  int checked = 0, broken = 0;
  for (Device d : devices)
    for (DType t : {DType::f32, DType::f64, DType::c64, DType::c128}) {
      if (d != devices.front() && t != DType::c64) continue;
      for (const Sample& s : samples(t, d))
        for (const Law& law : all_laws()) {
          const std::vector<std::string> faults = faults_of(law, s, t, d);
          ++checked;
          broken += !faults.empty();
          for (const std::string& f : faults)
            std::printf("%s, %s, %s, %s: %s\n", law.name, s.label.c_str(), name(t).data(),
                        d.str().c_str(), f.c_str());
        }
    }
  std::printf("laws: %d hold, %d broken\n", checked - broken, broken);
  return broken;
}

}  // namespace tessera::laws
