// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a solve leaves beside its operator: its vectors, scalars and plans with their graphs. The
// next solve of the same problem takes them, writes b and the first guess over the old ones and
// records nothing. Freed with the operator; few are kept, and none above config().kept_solver_bytes.
//   SolveMemories& m = memories_of(A);   auto mine = m.take(key);   ...   m.put(key, std::move(mine));

#include <list>
#include <memory>
#include <mutex>

#include "tessera/linop/core/linop.hpp"
#include "tessera/solve/core/scalar_program.hpp"
#include "tessera/solve/core/vectors.hpp"

namespace tessera {

// What the plans of a solver depend on, beside the operator.
struct SolveKey {
  std::string solver;
  Shape shape;  // of b, or of what the operator acts on where there is none
  DType dtype;  // that it is computed in
  Device device;
  std::uint64_t preconditioner = 0;  // its serial()
  std::vector<double> numbers{};     // settings that are part of the plans
  std::string maps{};                // proximal maps that are, by name
  bool kept = true;                  // false: something is part of them that no key can tell
  std::uint64_t settings = 0, events = 0;

  SolveKey(std::string who, const Shape& in, DType in_dtype, Device on,
           const std::optional<NamedLinop>& m = {}, std::vector<double> numbers_ = {});
  SolveKey(std::string who, const Array& b, const std::optional<NamedLinop>& m = {},
           std::vector<double> numbers_ = {})
      : SolveKey(std::move(who), b.shape(), b.dtype(), b.device(), m, std::move(numbers_)) {}
  friend bool operator==(const SolveKey&, const SolveKey&) = default;
};

struct SolveMemory {
  SolveMemory(Device device, DType vectors) : scalars(device, vectors) {}
  ScalarProgram scalars;
  std::vector<std::pair<std::string, vec::Vector>> vectors;
  std::list<std::pair<std::string, Run>> runs;
  i64 bytes = 0;           // of vectors and workspaces
  bool calls_out = false;  // a plan calls a function of somebody else

  const vec::Vector* find(const std::string& name) const;
  const vec::Vector& add(std::string name, vec::Vector v);
};

class SolveMemories {
 public:
  std::unique_ptr<SolveMemory> take(const SolveKey& key);  // null: none
  void put(const SolveKey& key, std::unique_ptr<SolveMemory> memory);

 private:
  std::mutex mutex_;
  std::list<std::pair<SolveKey, std::unique_ptr<SolveMemory>>> kept_;  // most recent first
};

std::shared_ptr<SolveMemories> memories_of(const NamedLinop& a);

}  // namespace tessera
