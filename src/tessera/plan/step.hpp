// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of a recorded plan: slots (memory without an address), views of them, and steps over
// views. Plain data; recorder.hpp writes it, liveness.hpp and schedule.hpp complete it, plan.hpp
// runs it.
//   View y = recorder.temporary({3, 4}, DType::c64, device);

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/array/array.hpp"
#include "tessera/kernels/sweep/sweep.hpp"

namespace tessera {

// Part of a slot, as an array is part of a storage.
struct View {
  int slot = -1;
  Layout layout;
  DType dtype = DType::f32;
  const Shape& shape() const { return layout.shape; }
};

enum class SlotKind : std::uint8_t { input, output, constant, temporary };

struct Slot {
  SlotKind kind = SlotKind::temporary;
  Device device;
  std::optional<Kind> pinned{};  // kind temporary, host memory: page-locked for this kind
  i64 bytes = 0;
  Array constant;  // kind constant
  Layout layout;   // of an input or output: what the run is given
  DType dtype = DType::f32;
  std::string label;  // who asked for it
  int first = -1;     // first and last step that touches it
  int last = -1;
  int shares = -1;  // in-place reuse: the slot whose memory this one is
  i64 offset = -1;  // kind temporary: in the arena of its device
  int scope = -1;   // the operator that asked for it first, in the plan's tree
};

struct Access {
  int slot = -1;
  i64 byte_offset = 0;     // of the view's first element
  i64 begin = 0, end = 0;  // the bytes that the view spans, its gaps included
};

// Which part of which container of independent parts recorded a step; containers inside a part
// belong to it. `base` is where the container's input and output live.
struct Part {
  int container = -1;
  int index = -1;
  Device base;
};

// A step that the host runs itself, with arrays over the memory of its views: the caller's own
// code. The run waits for what it reads; what it enqueues on home streams comes before later steps.
struct HostCall {
  std::function<void(std::span<const Array> reads, const Array& write)> run;
  std::vector<Operand> operands;  // layouts without offset, the write last
};

// A launch over dense vectors that may be done in one pass with its neighbours (join_sweeps.hpp):
// one step of a sweep, or the program of scalars after it.
struct SweepPart {
  SweepKind kind = SweepKind::copy;
  DType dtype = DType::f32;
  i64 count = 0;
  int a = -1, b = -1, factor = -1;  // which operands of the launch; the last is the result
  double value = 0;                 // of a factor that is no operand
  std::optional<ScalarsSpec> program{};
};

struct Step {
  enum class Kind : std::uint8_t { launch, transfer, call };
  Kind kind = Kind::launch;
  std::string label;                     // "FFT (Nx,) -> (Kx,): fft"
  Device device;                         // where it runs
  Prepared prepared;                     // kind launch
  std::shared_ptr<const HostCall> call;  // kind call
  std::vector<Access> operands;          // reads, then the write; for a transfer: from, to
  bool updates = false;                  // the write is read too (accumulation)
  int reuse = -1;  // the operand whose memory the write may take over when it dies here
  i64 bytes = 0;   // moved (transfer) or touched (launch)
  i64 rows = 1;    // of a transfer: rows whose starts lie these many bytes apart
  i64 from_pitch = 0, to_pitch = 0;
  std::optional<Stream> stream;          // the caller's, instead of one that the run chooses
  std::vector<RepeatedEvent> listeners;  // the step starts after the latest record of each
  int workspace = -1;                    // slot of the kernel's work area
  std::uint32_t written = 0;             // which operands are, as bits; 0: the last alone
  std::uint32_t changed = 0;             // which of those written are read before, as bits
  std::optional<SweepPart> sweep{};
  Part part{};     // of which container it is
  int scope = -1;  // the operator that recorded it, in the plan's tree

  // Schedule.
  int lane = 0;
  std::vector<int> waits;  // steps of other lanes that must have ended
  bool signals = false;    // somebody waits for this step
  const Access& write() const { return operands.back(); }
  bool writes(std::size_t i) const {
    return written == 0 ? i + 1 == operands.size() : (written >> i & 1) != 0;
  }
  bool reads(std::size_t i) const { return !writes(i) || (changed >> i & 1) != 0; }
};

// An operator as it recorded: its place in the tree of operators, what it read and wrote.
struct ScopeNode {
  std::string name;  // "FFT (Nx,) -> (Kx,)"
  int parent = -1;
  View in, out;  // without a slot where nobody told
};

// An ordered queue of a run: the compute lane of a device, or a lane of transfers between two.
// Steps with streams of the caller have lanes of their own.
struct Lane {
  Device device;  // whose stream it is
  bool transfers = false;
  Device from, to;               // of a transfer lane
  std::optional<Stream> stream;  // the caller's
  friend bool operator==(const Lane&, const Lane&) = default;
};

}  // namespace tessera
