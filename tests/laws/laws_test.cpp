// SPDX-License-Identifier: Apache-2.0
// Every law over every sample: dtypes × devices × operators. The laws themselves are in
// tessera/testing, where operators outside the library find them too.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "samples.hpp"
#include "support/support.hpp"
#include "tessera/testing/subject.hpp"

namespace tessera::laws {
namespace {

struct Case {
  const Law* law;
  DType dtype;
  Device device;
  std::size_t index;
};
// GoogleTest would print the bytes of each of tens of thousands.
void PrintTo(const Case& c, std::ostream* out) { *out << c.law->name << " of sample " << c.index; }

class Laws : public ::testing::TestWithParam<Case> {};

TEST_P(Laws, Hold) {
  const Case& c = GetParam();
  const Sample& sample = all_samples(c.dtype, c.device)[c.index];
  for (const std::string& fault : faults_of(*c.law, sample, c.dtype, c.device))
    ADD_FAILURE() << fault;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  std::vector<Device> devices{test_device()};
  if (test_device() == cpu) devices.push_back(Device::parse("sim:0"));
  for (const Law& law : all_laws())
    for (Device d : devices)
      for (DType t : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::c64, DType::c128}) {
        if (d != test_device() && t != DType::c64) continue;
        const std::size_t n = all_samples(t, cpu).size();
        for (std::size_t i = 0; i < n; ++i) all.push_back({&law, t, d, i});
      }
  return all;
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  std::string text = cat(c.law->name, "_", all_samples(c.dtype, cpu)[c.index].label, "_",
                         name(c.dtype), "_", c.device);
  for (char& letter : text)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return text;
}

INSTANTIATE_TEST_SUITE_P(All, Laws, ::testing::ValuesIn(cases()), case_name);

// A law that cannot fail is no law: wrong operators are found out.
struct Wrong {
  enum class Fault : std::uint8_t { adjoint, linear, writes_input, normal, split };
  Fault fault;
  static constexpr const char* kind = "Wrong";
  NamedShape shape() const { return NamedShape(dims("X")); }
  std::optional<i64> size(NamedDimension) const {
    return fault == Fault::split ? std::nullopt : std::optional<i64>(3);
  }
  void apply(Recorder& r, const View& x, const View& y) const {
    if (fault == Fault::linear) return record::fill(r, Value(1.0), y);
    if (fault == Fault::split)  // mixes along a dim that it has on both sides
      return record::copy(r, sub_view(x, x.layout.slice(0, x.shape()[0] - 1, x.shape()[0], -1)), y);
    record::scale(r, Value(2.0), x, y);
    if (fault == Fault::writes_input) record::fill(r, Value(0.0), x);
  }
  void apply_adjoint(Recorder& r, const View& y, const View& x) const {
    if (fault == Fault::split) return apply(r, y, x);
    record::scale(r, Value(fault == Fault::adjoint ? -2.0 : 2.0), y, x);
  }
  std::optional<NamedLinop> normal() const {
    if (fault != Fault::normal) return std::nullopt;
    return Scalar(5.0, dims("X"));
  }
};

std::vector<std::string> broken(Wrong::Fault fault) {
  const Sample sample{
      "wrong", Wrong{fault}, {3}, fault == Wrong::Fault::split ? Dims{} : dims("X")};
  std::vector<std::string> names;
  for (const Law& law : all_laws())
    if (!faults_of(law, sample, DType::f64, cpu).empty()) names.emplace_back(law.name);
  return names;
}

TEST(LawsThemselves, FindWrongOperators) {
  using F = Wrong::Fault;
  for (const auto& [fault, law] : {std::pair(F::adjoint, "DotTest"),
                                   {F::linear, "Linearity"},
                                   {F::writes_input, "InputsAreUntouched"},
                                   {F::normal, "NormalIsAdjointAfterOperator"},
                                   {F::split, "PartsMakeTheWhole"}}) {
    const std::vector<std::string> names = broken(fault);
    EXPECT_NE(std::find(names.begin(), names.end(), law), names.end()) << law;
  }
}

// EverySpecEqualsTheWhole cuts tiles once more only where a dim makes no more than twelve.
TEST(LawsThemselves, EveryOperatorHasASmallSample) {
  std::map<std::string, i64> smallest;  // longest dim of the smallest sample, by operator
  for (const Sample& s : all_samples(DType::c64, cpu)) {
    i64 longest = 1;
    for (const Sized& d : sized_dims(s.op, s.input))
      if (!contains(s.unsplittable, d.dim)) longest = std::max(longest, d.size);
    i64& known = smallest.try_emplace(std::string(s.op.kind()), longest).first->second;
    known = std::min(known, longest);
  }
  EXPECT_GT(smallest.size(), 30u);
  for (const auto& [kind, longest] : smallest) EXPECT_LE(longest, 12) << kind;
}

}  // namespace
}  // namespace tessera::laws
