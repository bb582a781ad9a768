// SPDX-License-Identifier: Apache-2.0
// Samples of the operators that move data: padding, cutting, turning, summing, differences, and
// those made of matrices or functions.
#include "samples.hpp"

namespace tessera::laws {
template <>
std::vector<Sample> samples<ShapeSpec>(DType, Device) {
  return {{"renames", ShapeSpec(dims("NM"), dims("KL")), {3, 5}, dims("NMKL")},
          {"renames one", ShapeSpec(dims("BN"), dims("BK")), {3, 4}, dims("NK")},
          {"open", ShapeSpec(dims("...N"), dims("...K")), {2, 3, 4}, dims("NK")},
          {"same", ShapeSpec(dims("NM"), dims("NM")), {1, 4}}};
}

template <>
std::vector<Sample> samples<Pad>(DType, Device) {
  return {{"even", Pad({6}, {4}, dims("X")), {4}, {"X", "X1"}},
          {"odd in even", Pad({6, 7}, {3, 4}, dims("XY")), {2, 3, 4}, {"X", "X1", "Y", "Y1"}},
          {"little border",
           Pad({9, 8}, {8, 8}, dims("XY"), dims("UV"), dims("C")),
           {3, 8, 8},
           dims("XYUV")},
          {"default names",
           Pad({5, 4, 6}, {2, 4, 3}),
           {2, 4, 3},
           {"Nx", "Ny", "Nz", "Nx1", "Ny1", "Nz1"}},
          {"leading batch",
           Pad({5, 5}, {2, 3}, dims("AXY"), {}, {}),
           {2, 2, 3},
           {"X", "X1", "Y", "Y1"}},
          {"one point", Pad({4}, {1}, dims("X"), {}, dims("B")), {3, 1}, {"X", "X1"}},
          {"wrapped",
           Pad({5, 4, 6}, {3, 4, 1}, dims("XYZ"), {}, dims("B"), true),
           {2, 3, 4, 1},
           {"X", "X1", "Y", "Y1", "Z", "Z1"}}};
}

template <>
std::vector<Sample> samples<Crop>(DType, Device) {
  return {
      {"even", Crop({4}, {6}, dims("X")), {6}, {"X", "X1"}},
      {"odd", Crop({3, 4}, {6, 7}, dims("XY"), dims("AB")), {2, 6, 7}, dims("XYAB")},
      {"batched", Crop({5, 1}, {5, 4}, dims("XY"), dims("AB"), dims("C")), {2, 5, 4}, dims("XYAB")},
      {"normal", NamedLinop(Crop({3, 1}, {6, 4}, dims("XY"))).N(), {2, 6, 4}},
      {"wrapped",
       Crop(Pad({5, 4}, {3, 4}, dims("XY"), dims("AB"), dims("C"), true)),
       {2, 5, 4},
       dims("XYAB")}};
}

template <>
std::vector<Sample> samples<Truncate>(DType, Device) {
  return {{"last", Truncate(1, 5, 3, dims("NM")), {4, 5}, {"M", "M1"}},
          {"first, by name", Truncate("N", 5, 4, dims("NM"), dims("KM")), {5, 2}, dims("NK")},
          {"from the end", Truncate(-1, 6, 1, dims("...N")), {2, 2, 6}, {"N", "N1"}},
          {"nothing cut", Truncate(0, 3, 3, dims("N")), {3}, {"N", "N1"}},
          {"normal", NamedLinop(Truncate(0, 5, 2, dims("NM"))).N(), {5, 3}}};
}

template <>
std::vector<Sample> samples<PadDim>(DType, Device) {
  return {{"last", PadDim(1, 3, 5, dims("NM")), {4, 3}, {"M", "M1"}},
          {"first, large", PadDim("N", 1, 4, dims("NM"), dims("KM")), {1, 2}, dims("NK")},
          {"open", PadDim(-1, 6, 7, dims("...N")), {2, 2, 6}, {"N", "N1"}}};
}

template <>
std::vector<Sample> samples<Rearrange>(DType, Device) {
  const Rearrange::Lengths ab{{"A", 2}, {"B", 3}};
  return {
      {"cut",
       Rearrange("(A B) C", "A B C", {"Ab", "C"}, dims("ABC"), ab),
       {6, 4},
       {"Ab", "A", "B"}},
      {"merge",
       Rearrange("a b c", "b (c a)", dims("XYZ"), dims("YW"), {{"a", 3}, {"c", 5}}),
       {3, 2, 5},
       dims("XZW")},
      {"exchange", Rearrange("a b", "b a", dims("XY"), dims("YX")), {3, 5}},
      {"open",
       Rearrange("... (a b) c", "c ... b a", dims("...XZ"), dims("Z...VU"), {{"a", 2}, {"b", 2}}),
       {2, 4, 3},
       dims("XVU")},
      {"single axes", Rearrange("a 1 b", "b a ()", dims("XIY"), dims("YXJ")), {3, 1, 4}},
      {"known length", Rearrange("a b", "b a", dims("XY"), dims("YX"), {{"a", 3}}), {3, 5}}};
}

template <>
std::vector<Sample> samples<SumReduce>(DType, Device) {
  return {{"last", SumReduce(dims("ABC"), dims("AB"), {{"C", 3}}), {5, 2, 3}},
          {"open", SumReduce(dims("...C"), dims("..."), {{"C", 4}}), {2, 3, 4}},
          {"turned", SumReduce(dims("ABC"), dims("CA"), {{"B", 2}, {"A", 5}}), {5, 2, 3}},
          {"all", SumReduce(dims("AB"), {}, {{"A", 3}, {"B", 1}}), {3, 1}}};
}

template <>
std::vector<Sample> samples<Repeat>(DType, Device) {
  return {{"last", Repeat({{"C", 3}}, dims("AB"), dims("ABC")), {4, 5}},
          {"first and middle", Repeat({{"C", 2}, {"D", 1}}, dims("AB"), dims("CBDA")), {4, 5}},
          {"open", Repeat({{"C", 3}}, dims("..."), dims("C...")), {2, 3}},
          {"broadcast", Repeat({{"C", 3}, {"D", 2}}, dims("A"), dims("ACD"), dims("D")), {4}, {}}};
}

template <>
std::vector<Sample> samples<SumSpread>(DType, Device) {
  return {
      {"normal of a sum", SumReduce(dims("ABC"), dims("AB")).normal(), {5, 2, 3}, {"C", "C1"}},
      {"of two", SumReduce(dims("ABC"), dims("B")).normal(), {3, 2, 4}, {"A", "A1", "C", "C1"}}};
}

template <>
std::vector<Sample> samples<Permute>(DType, Device) {
  return {{"cycle", Permute(dims("CXY"), dims("XYC")), {2, 3, 5}},
          {"open", Permute(dims("...XY"), dims("Y...X")), {2, 3, 5}},
          {"one", Permute(dims("X"), dims("X")), {1}}};
}

template <>
std::vector<Sample> samples<Flip>(DType, Device) {
  return {{"one", Flip(dims("X"), dims("CX")), {3, 5}, {"X", "X1"}},
          {"two, open", Flip(dims("XY"), dims("...XY"), dims("...UV")), {2, 3, 4}, dims("XYUV")},
          {"single", Flip(dims("X"), dims("X")), {1}, {"X", "X1"}}};
}

template <>
std::vector<Sample> samples<Roll>(DType, Device) {
  return {{"one", Roll({{"X", 2}}, dims("CX")), {3, 5}, {"X", "X1"}},
          {"two, backwards",
           Roll({{"X", -1}, {"Y", 7}}, dims("...XY"), dims("...UV")),
           {2, 3, 4},
           dims("XYUV")},
          {"whole turn", Roll({{"X", 4}}, dims("X")), {4}, {"X", "X1"}},
          {"single", Roll({{"X", 3}}, dims("X")), {1}, {"X", "X1"}}};
}

template <>
std::vector<Sample> samples<FiniteDifference>(DType, Device) {
  std::vector<Sample> all;
  for (Difference m : {Difference::forward, Difference::backward, Difference::central})
    for (Edge e : {Edge::zero, Edge::circular, Edge::replicate})
      for (i64 n : {1, 2, 3, 6})
        all.push_back({cat(name(m), " ", name(e), " ", n),
                       n == 6 ? FiniteDifference("X", dims("AXB"), {}, m, e)
                              : FiniteDifference("X", dims("XB"), dims("YB"), m, e),
                       n == 6 ? Shape{2, n, 3} : Shape{n, 2},
                       n == 6 ? Dims{"X", "X1"} : dims("XY")});
  return all;
}

template <>
std::vector<Sample> samples<Gradient>(DType, Device) {
  return {{"plane", Gradient(dims("XY"), dims("CXY")), {2, 3, 5}, {"X", "Y", "X1", "Y1"}},
          {"circular, open",
           Gradient(dims("YX"), dims("...XY"), dims("G...UV"), Difference::central, Edge::circular),
           {2, 4, 3},
           dims("XYUV")},
          {"one direction",
           Gradient(dims("X"), dims("X"), {}, Difference::backward, Edge::replicate),
           {4},
           {"X", "X1"}}};
}

template <>
std::vector<Sample> samples<Toeplitz>(DType t, Device d) {
  return {{"hermitian", Toeplitz(random({4}, t, d, 1), {}, "N", dims("N")), {4}},
          {"tall",
           Toeplitz(random({5}, t, d, 2), random({3}, t, d, 3), "N", dims("BN"), dims("BM")),
           {2, 3}},
          {"wide in the middle",
           Toeplitz(random({2}, t, d, 4), random({6}, t, d, 5), "N", dims("ANB")),
           {2, 6, 3}},
          {"one", Toeplitz(random({1}, t, d, 6), random({1}, t, d, 7), "N", dims("...N")), {3, 1}},
          {"real weight", Toeplitz(random({3}, real_of(t), d, 8), {}, "N", dims("N")), {3}},
          {"by transforms",
           Toeplitz(random({500}, t, d, 9), random({401}, t, d, 10), "N", dims("BN")),
           {2, 401}}};
}

template <>
std::vector<Sample> samples<Kronecker>(DType t, Device d) {
  const NamedLinop a(Dense(random({4, 3}, t, d, 1), dims("MN"), dims("N"), dims("M")));
  const NamedLinop b(Dense(random({2, 5}, t, d, 2), dims("PQ"), dims("Q"), dims("P")));
  return {{"two matrices", Kronecker({a, b}), {3, 5}},
          {"three", Kronecker({a, Diagonal(random({2}, t, d, 3), dims("X")), b}), {3, 2, 5}},
          {"with a transform",
           Kronecker({a, FFT(1, dims("..."), FFT::Grids{dims("X"), dims("K")})}),
           {3, 4},
           dims("XK")},
          {"with padding", Kronecker({Pad({4}, {3}, dims("X")), b}), {3, 5}, {"X", "X1"}},
          {"position by position",
           Kronecker({a, Flip(dims("X"), dims("X")), Permute(dims("UV"), dims("VU"))}),
           {3, 2, 2, 3},
           {"X", "X1"}},
          {"one factor", Kronecker({b}), {5}}};
}

template <>
std::vector<Sample> samples<SimpleLinop>(DType t, Device d) {
  const Array w = random({3, 4}, t, d, 1);
  auto twice = [](const Array& x) { return ops::multiply(x, 2.0); };
  auto turned = [](const Array& x) { return x.transpose(); };
  // Called with zeros on the cpu too, when the size is to be found.
  auto forward = [w](const Array& x) { return matmul(w.to(x.device()), x); };
  auto adjoint = [w](const Array& y) { return matmul(ops::conj(w).transpose().to(y.device()), y); };
  // Cut by its caller; the arrays are moved and fetched with it.
  struct Mixing {
    static SimpleLinop of(const Array& matrix, bool own_normal) {
      const auto times = [](bool back) {
        return [back](const Array& x, std::span<const Array> held) {
          const Array& m = held[0];
          return back ? matmul(x, ops::conj(m)) : matmul(x, m.transpose());
        };
      };
      SimpleLinop::Calls c{.forward = times(false),
                           .backward = times(true),
                           .split =
                               [=](const Tile& t) {
                                 return of(
                                     Array(matrix.storage(),
                                           part_of(matrix.layout(), dims("MN"), t), matrix.dtype()),
                                     own_normal);
                               },
                           .size = [=](NamedDimension d) -> std::optional<i64> {
                             if (d == "M") return matrix.shape(0);
                             return d == "N" ? std::optional(matrix.shape(1)) : std::nullopt;
                           },
                           .arrays = [=] { return std::vector<Array>{matrix}; }};
      if (own_normal)
        c.normal = [times](const Array& x, std::span<const Array> held) {
          return times(true)(times(false)(x, held), held);
        };
      return SimpleLinop(std::move(c), dims("BN"), dims("BM"), "mixing", {}, matrix.dtype());
    }
  };
  return {
      {"cut by its caller", Mixing::of(w, false), {2, 4}},
      {"cut by its caller, own normal", Mixing::of(w, true), {2, 4}},
      {"renamed, cut by its caller",
       NamedLinop(Mixing::of(w, true)).rename({{"N", "M"}, {"M", "Q"}}),
       {2, 4}},
      {"twice", SimpleLinop(twice, twice), {3, 5}},
      {"own normal",
       SimpleLinop(
           twice, twice, [](const Array& x) { return ops::multiply(x, 4.0); }, dims("AB")),
       {3, 5},
       dims("AB")},
      {"turned", SimpleLinop(turned, turned, {}, dims("AB"), dims("BA"), "T"), {3, 5}, dims("AB")},
      {"matrix, sizes found",
       SimpleLinop(forward, adjoint, {}, dims("N"), dims("M"), "W", {}, t),
       {4},
       dims("NM")},
      {"matrix, sizes given",
       SimpleLinop(forward, adjoint, {}, dims("N"), dims("M"), "W", {{"M", 3}, {"N", 4}}),
       {4},
       dims("NM")}};
}

template <>
std::vector<Sample> samples<Sleep>(DType, Device) {
  return {{"none", Sleep(0, dims("X")), {5}},
          {"short", Sleep(0.0005), {2, 3}},
          {"renaming", Sleep(0, dims("X"), dims("Y")), {5}, dims("XY")}};
}

template <>
std::vector<Sample> samples<ToDevice>(DType t, Device d) {
  const Device other = d.kind == Kind::cuda ? cpu : Device::parse(d == cpu ? "sim:0" : "sim:1");
  const NamedLinop go(ToDevice(d, other, dims("NX"))), back(ToDevice(other, d, dims("MX")));
  const NamedLinop a(Dense(random({2, 3}, t, other, 1), dims("MN"), dims("NX"), dims("MX")));
  return {{"stays", ToDevice(d, d, dims("X")), {5}},
          {"one way", a * go, {3, 4}},
          {"there and back", back * a * go, {3, 4}}};
}

template <>
std::vector<Sample> samples<Matrix>(DType t, Device d) {
  return {
      {"plain", Matrix(random({5, 3}, t, d, 1), dims("N"), dims("M")), {3}},
      {"open", Matrix(random({3, 5}, t, d, 2).transpose(), dims("...N"), dims("...M")), {2, 2, 3}},
      {"in the middle", Matrix(random({1, 3}, t, d, 3), dims("ANB"), dims("AMB")), {2, 3, 4}}};
}

}  // namespace tessera::laws
