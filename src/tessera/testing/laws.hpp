// SPDX-License-Identifier: Apache-2.0
#pragma once
// What must hold for any linear operator, checked on small samples of it: adjoint, linearity,
// normal, splitting, renaming, strides, plans, threads, devices. Nothing here knows a particular
// operator, and nothing needs a test framework: an operator outside the library is checked by its
// own main.
//   int main() { return tessera::laws::check_laws(my_samples) == 0 ? 0 : 1; }

#include <string>
#include <vector>

#include "tessera/linop/core/linop.hpp"

// Link with tessera::testing, a static library beside tessera::tessera.
namespace tessera::laws {

struct Sample {
  std::string label;
  NamedLinop op;
  Shape input;
  // Along these A.split() must raise SplitError; along all others it must work.
  Dims unsplittable{};
};

// Samples whose arrays have dtype t and live on d. Good ones are small, not square, of odd sizes
// and of size 1, with batches and wildcards, and use every option.
using Samples = std::vector<Sample> (*)(DType t, Device d);

// One sample at one dtype on one device; laws note here what they find wrong.
class Subject {
 public:
  Subject(const Sample& s, DType t, Device d) : sample(s), A(s.op), dtype(t), device(d) {}
  const Sample& sample;
  const NamedLinop& A;
  const DType dtype;
  const Device device;

  Array random_input(std::uint64_t seed) const;
  // Rounding of the sums that the operator forms, with room for transforms.
  double tolerance() const;
  template <class... Parts>
  bool expect(bool ok, const Parts&... parts) {
    if (!ok) faults.push_back(cat(parts...));
    return ok;
  }
  bool expect_near(const Array& a, const Array& b, double tolerance, std::string_view what);
  std::vector<std::string> faults;
};

struct Law {
  const char* name;
  void (*check)(Subject& s);
};
const std::vector<Law>& all_laws();

// A sentence for each fault; empty when the law holds. An exception is a fault.
std::vector<std::string> faults_of(const Law& law, const Sample& sample, DType t, Device d);

// Every law over every sample: float32 to complex128 on the first device, complex64 on the others.
// Turns config().poison on, prints the faults and a count; returns the number of broken laws.
int check_laws(Samples samples, const std::vector<Device>& devices = {cpu, Device::parse("sim:0")});

}  // namespace tessera::laws
