// SPDX-License-Identifier: Apache-2.0
// An operator of one's own, outside the library: a plain struct that says its names, how it records
// its work, and its adjoint. Everything else (composition, normal, plans, devices) comes with it.
#include <cstdio>
#include <tessera/tessera.hpp>

using namespace tessera;

// y[i] = x[i] + 2 x[n-1-i] along the last dim: symmetric, so the adjoint differs in its names only.
struct Mirrored {
  Dims ishape, oshape;

  static constexpr const char* kind = "Mirrored";
  NamedShape shape() const { return {ishape, oshape}; }
  Shape output_shape(const Shape& input) const { return input; }
  void apply(Recorder& r, const View& x, const View& y) const {
    const i64 axis = x.layout.ndim() - 1, n = x.layout.shape[axis];
    const View reversed = sub_view(x, x.layout.slice(axis, n - 1, n, -1));
    const View twice = r.temporary(y.layout.shape, y.dtype, r.device(y));
    record::scale(r, Value(2.0), reversed, twice);
    record::add(r, x, twice, y);
  }
  Mirrored adjoint() const { return {oshape, ishape}; }
  // What it holds, and how it is made of that again: for pickles and files.
  auto state() const { return std::tuple(ishape, oshape); }
  static Mirrored from_state(Dims in, Dims out) { return {std::move(in), std::move(out)}; }
};

int main() {
  const NamedLinop A = Mirrored{dims("BN"), dims("BM")};
  const Array x = Array::of({1.0, 2.0, 4.0, 8.0, 16.0}).reshape({1, 5});
  const Array y = A(x);
  for (i64 i = 0; i < 5; ++i) std::printf("%g ", y.select(0, 0).select(0, i).item().as<double>());
  std::puts("");

  // The dot test tells whether the adjoint is one; the same operator runs on any device.
  const Device sim = Device::parse("sim:0");
  const AdjointCheck on_cpu = check_adjoint(A, {3, 7}, DType::c128),
                     on_sim = check_adjoint(2.0 * A * A.H(), {3, 7}, DType::c128, sim);
  std::printf("adjoint error: %g on cpu, %g on sim:0\n", on_cpu.error, on_sim.error);
  OperatorReaders readers = linop_readers();
  readers.push_back(reader_of<Mirrored>());
  const NamedLinop again = restore(describe(A.H() * A), readers);
  std::printf("restored: %s\n", again.str().c_str());
  const bool right = y.select(0, 0).select(0, 0).item().as<double>() == 33.0;
  return right && on_cpu && on_sim ? 0 : 1;
}
