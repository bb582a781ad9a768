// SPDX-License-Identifier: Apache-2.0
#include "samples.hpp"

#include <map>

namespace tessera::laws {
template <>
std::vector<Sample> samples<Identity>(DType, Device) {
  return {{"any", Identity(), {3, 5}},
          {"named", Identity(dims("AB")), {3, 5}},
          {"renaming", Identity(dims("A"), dims("B")), {7}, dims("AB")}};
}

template <>
std::vector<Sample> samples<Scalar>(DType t, Device) {
  std::vector<Sample> all{{"real", Scalar(-2.5), {4, 3}}, {"named", Scalar(0.5, dims("N")), {1}}};
  if (is_complex(t)) all.push_back({"complex", Scalar(c128(0.5, -1.5)), {3, 2, 2}});
  return all;
}

template <>
std::vector<Sample> samples<Diagonal>(DType t, Device d) {
  return {{"full", Diagonal(random({3, 7}, t, d, 1), dims("BX")), {3, 7}},
          {"one", Diagonal(random({1}, t, d, 2), dims("X")), {1}},
          {"broadcast axes", Diagonal(random({5, 1, 1}, t, d, 3), dims("MNP")), {5, 3, 2}},
          {"right aligned", Diagonal(random({4}, t, d, 4), dims("CX"), dims("C")), {3, 4}},
          {"open", Diagonal(random({4}, t, d, 5)), {2, 3, 4}},
          {"real weight", Diagonal(random({6}, real_of(t), d, 6), dims("X")), {6}},
          {"follows", Diagonal(random({3, 6}, DType::f64, d, 8)).following(), {3, 6}},
          {"permuted weight", Diagonal(random({7, 3}, t, d, 7).transpose(), dims("BX")), {3, 7}}};
}

template <>
std::vector<Sample> samples<Dense>(DType t, Device d) {
  return {
      {"matrix", Dense(random({5, 7}, t, d, 1), dims("MN"), dims("N"), dims("M")), {7}},
      {"transposed", Dense(random({7, 5}, t, d, 2), dims("NM"), dims("N"), dims("M")), {7}},
      {"batched", Dense(random({2, 5, 3}, t, d, 3), dims("BMN"), dims("BN"), dims("BM")), {2, 3}},
      {"passes through",
       Dense(random({5, 7}, t, d, 4), dims("MN"), dims("CNX"), dims("CMX")),
       {2, 7, 3}},
      {"open", Dense(random({5, 7}, t, d, 5), dims("MN"), dims("...N"), dims("...M")), {2, 3, 7}},
      {"two sums", Dense(random({4, 3, 2}, t, d, 6), dims("MAB"), dims("BA"), dims("M")), {2, 3}},
      {"coil maps",
       Dense(random({4, 3, 5}, t, d, 7), dims("CXY"), dims("XY"), dims("CXY")),
       {3, 5}},
      {"outer", Dense(random({4, 3}, t, d, 8), dims("AB"), dims("X"), dims("AXB")), {5}},
      {"broadcast weight",
       Dense(random({1, 4, 3}, t, d, 9), dims("BMN"), dims("BN"), dims("BM"), dims("B")),
       {5, 3}},
      {"permuted output",
       Dense(random({2, 4, 3}, t, d, 10), dims("PQN"), dims("RN"), dims("QRP")),
       {5, 3}},
      {"no names", Dense(random({2, 4, 3}, t, d, 11)), {2, 3}},
      {"row", Dense(random({1, 6}, t, d, 12), dims("MN"), dims("N"), dims("M")), {6}}};
}

template <>
std::vector<Sample> samples<FFT>(DType t, Device) {
  const FFT::Grids grids{dims("XY"), dims("UV")};
  const Dims xy = dims("XYUV"), all = dims("NxNyNzKxKyKz");
  std::vector<Sample> list{
      {"one axis", FFT(1), {8}, all},
      {"batched plane", FFT(2), {3, 6, 5}, all},
      {"backward norm", FFT(2, dims("C"), grids, Norm::backward), {2, 4, 7}, xy},
      {"forward norm", FFT(1, dims("..."), {}, Norm::forward), {2, 9}, all},
      {"centred even", FFT(2, dims("..."), {}, Norm::ortho, true), {4, 6}, all},
      {"centred odd", FFT(2, dims("C"), grids, Norm::ortho, true), {2, 5, 7}, xy},
      {"volume", FFT(3), {3, 4, 5}, all},
      {"one point", FFT(1), {3, 1}, all}};
  if (is_complex(t)) return list;
  list.push_back({"real even", FFT(1, dims("C"), {}, Norm::ortho, false, 8), {3, 8}, all});
  list.push_back(
      {"real odd plane", FFT(2, dims("..."), {}, Norm::backward, false, 5), {4, 5}, all});
  return list;
}

template <>
std::vector<Sample> samples<Zero>(DType, Device) {
  return {{"same dims", Zero(dims("AB"), dims("AB")), {3, 4}},
          {"other size", Zero(dims("NQ"), dims("NP"), {{"Q", 4}, {"P", 3}}), {2, 4}}};
}

namespace {
void add_containers(std::vector<Sample>& all, DType t, Device d) {
  auto matrix = [&](i64 p, i64 q, std::uint64_t seed) {
    return NamedLinop(Dense(random({p, q}, t, d, seed), dims("PQ"), dims("Q"), dims("P")));
  };
  const NamedLinop a = matrix(3, 4, 31), b = matrix(3, 2, 32), c = matrix(5, 4, 33),
                   e = matrix(3, 4, 34);
  const NamedLinop across = concat({a, b}, {.idim = "Q"}), down = concat({a, c}, {.odim = "P"}),
                   corner = concat({a, b, c}, {.idim = "Q", .odim = "P"});
  all.push_back({"Concat across", across, {6}});
  all.push_back({"Concat across normal", across.N(), {6}});
  all.push_back({"Concat down", down, {4}});
  all.push_back({"Concat down normal", down.N(), {4}});
  all.push_back({"Concat corner", corner, {10}});
  all.push_back({"Concat corner normal", corner.N(), {10}});
  all.push_back({"Concat beside the diagonal", corner.split({{"P", 1, 5}, {"Q", 3, 8}}), {5}});
  const NamedLinop D1(Diagonal(random({3, 2}, t, d, 35), dims("XY"))),
      D2(Diagonal(random({4, 2}, t, d, 36), dims("XY")));
  all.push_back({"Concat of diagonals", concat({D1, D2}, {.idim = "X", .odim = "X"}), {7, 2}});
  const StackDim n0{"N", 0}, m1{"M", 1};
  all.push_back({"Stack in", stack({a, e}, n0, {}), {2, 4}});
  all.push_back({"Stack in normal", stack({a, e}, n0, {}).N(), {2, 4}});
  all.push_back({"Stack out", stack({a, e}, {}, m1), {4}});
  all.push_back({"Stack out normal", stack({a, e}, {}, m1).N(), {4}});
  all.push_back({"Stack both", stack({a, e}, n0, m1), {2, 4}});
  all.push_back({"Stack both normal", stack({a, e}, n0, m1).N(), {2, 4}});
  all.push_back({"Stack same", stack({D1, D1.H()}, n0, n0), {2, 3, 2}});
}

void add_products(std::vector<Sample>& all, DType t, Device d) {
  const NamedLinop D(Diagonal(random({6, 5}, t, d, 23), dims("NxNy")));
  const NamedLinop G(Dense(random({5, 6}, t, d, 24), dims("ML"), dims("L"), dims("M")));
  const NamedLinop E(Diagonal(random({6}, t, d, 25), dims("L")));
  const NamedLinop D2(Dense(random({3, 5}, t, d, 26), dims("PM"), dims("M"), dims("P")));
  all.push_back({"Chain of matrices", D2 * G, {6}});
  all.push_back({"Chain of matrices normal", (D2 * G).N(), {6}});
  all.push_back({"Chain of diagonals", D * D * Value(2.0), {6, 5}});
  all.push_back({"Chain of diagonals normal", (D * D * Value(2.0)).N(), {6, 5}});
  all.push_back({"Add", D + Value(2.0) * NamedLinop(Identity(dims("NxNy"))), {6, 5}});
  all.push_back({"Add of three", G * E - G + Value(2.0) * G, {6}});
  all.push_back({"Add normal", (G * E - G).N(), {6}});
  all.push_back({"Relabel", G.rename({{"M", "P"}}), {6}});
}

// Chains and sums with transforms in them.
void add_transforms(std::vector<Sample>& all, DType t, Device d) {
  const NamedLinop S(
      Dense(random({4, 6, 5}, t, d, 21), dims("CNxNy"), dims("NxNy"), dims("CNxNy")));
  const NamedLinop F(FFT(2, dims("C"), FFT::Grids{dims("NxNy"), dims("KxKy")}, Norm::ortho, true));
  const NamedLinop M(Diagonal(random({6, 5}, DType::f32, d, 22), dims("CKxKy"), dims("C")));
  const Dims grid = dims("NxNyKxKyNx1Ny1Kx1Ky1");
  all.push_back({"Chain masked transform of coils", M * F * S, {6, 5}, grid});
  all.push_back({"Chain normal", (M * F * S).N(), {6, 5}, grid});
  const NamedLinop twice = (M * F * S).N().N();
  Dims mixed;
  for (NamedDimension n : twice.dims())
    if (n.word() != "C") mixed.push_back(n);
  all.push_back({"Chain normal twice", twice, {6, 5}, mixed});
  all.push_back({"Chain scaled", Value(0.5) * (F * S) * Value(3.0), {6, 5}, grid});
  all.push_back({"Chain transform pair", F.H() * F * S, {6, 5}});
  all.push_back({"Chain weight between transforms", F.normal(M), {4, 6, 5}, grid});
  all.push_back({"Chain coils of that", S.normal(F.normal(M)), {6, 5}, grid});
  // Lines: the transform along Ny cancels in the normal, whose factor knows the size of the whole.
  const FFT::Grids plane{dims("NxNy"), dims("KxKy")};
  const NamedLinop L(Diagonal(random({6, 1}, t, d, 27), dims("KxKy")));
  for (const Norm norm : {Norm::backward, Norm::forward}) {
    const NamedLinop lines = L * NamedLinop(FFT(2, {}, plane, norm));
    const std::string label = norm == Norm::backward ? "Chain lines" : "Chain lines, forward norm";
    all.push_back({label, lines, {6, 5}, grid});
    all.push_back({label + " normal", lines.N(), {6, 5}, dims("NxKxNx1Kx1")});
  }
  // Parts that know the size of their output only with the input.
  const NamedLinop P(FFT(1, {}, FFT::Grids{dims("X"), dims("Y")}, Norm::backward)),
      D(Diagonal(random({4}, t, d, 28), dims("X")));
  all.push_back({"Stack of transforms",
                 stack({P, Value(2.0) * P, P}, StackDim{"N", 0}, StackDim{"M", 1}),
                 {3, 4},
                 dims("XY")});
  all.push_back({"Concat of transforms",
                 concat({P * D, Value(2.0) * P * D}, {.idim = "X", .odim = "Y"}),
                 {8},
                 dims("XY")});
  all.push_back(
      {"Add regularised", (M * F * S).N() + Value(0.1) * NamedLinop(Identity()), {6, 5}, grid});
}

// All but those that transform, interpolate or fold: their kernels know float32 to complex128.
bool takes_short_numbers(std::string_view kind) {
  for (const char* without : {"FFT", "Toeplitz", "Convolution", "FFTConvolution", "Wavelet",
                              "Interpolate", "NUFFT", "ArrayToBlocks", "BlocksToArray", "Sparse"})
    if (kind == without) return false;
  return true;
}

std::vector<Sample> make_samples(DType t, Device d) {
  std::vector<Sample> all;
#define OPERATOR(Type)                              \
  if (size_of(t) > 2 || takes_short_numbers(#Type)) \
    for (const Sample& s : samples<Type>(t, d)) {   \
      all.push_back(s);                             \
      all.back().label = cat(#Type, " ", s.label);  \
    }
#include "tessera/linop/ops.def"
#undef OPERATOR
  for (const Sample& s : matrix_samples(t, d)) all.push_back(s);
  add_products(all, t, d);
  add_containers(all, t, d);
  if (size_of(t) == 2) return all;
  add_transforms(all, t, d);
  for (const Sample& s : trajectory_samples(t, d)) all.push_back(s);
  return all;
}
}  // namespace

const std::vector<Sample>& all_samples(DType t, Device d) {
  // Kept to the end on purpose: devices may be gone when statics are destroyed.
  static auto* kept = new std::map<std::pair<DType, Device>, std::vector<Sample>>;
  auto it = kept->find({t, d});
  if (it == kept->end()) it = kept->emplace(std::pair(t, d), make_samples(t, d)).first;
  return it->second;
}

}  // namespace tessera::laws
