// SPDX-License-Identifier: Apache-2.0
#pragma once
// What operators write to: kernels over slots. Recording prepares kernels (slow, once) and touches
// no array data. Sizes, dtypes and devices are checked here, so that a run has nothing left to
// check.
//   Recorder r;  View x = r.input({64}, DType::f32, cpu);  View y = r.output({64}, DType::f32,
//   cpu); record::multiply(r, r.constant(w), x, y);   Plan p = std::move(r).finish();

#include <span>
#include <string_view>

#include "tessera/kernels/eager.hpp"
#include "tessera/plan/step.hpp"

namespace tessera {

class Plan;

// `reuse`: the read whose memory the write may take over (element-wise kernels). `updates`: the
// kernel also reads what it writes.
struct LaunchOptions {
  int reuse = -1;
  bool updates = false;
};

class TESSERA_API Recorder {
 public:
  View input(const Layout& layout, DType dtype, Device device, std::string_view label = "input");
  View output(const Layout& layout, DType dtype, Device device, std::string_view label = "output");
  View constant(const Array& array);  // shared, never copied; equal storages share a slot
  View temporary(const Shape& shape, DType dtype, Device device);

  Device device(const View& v) const { return slots_[static_cast<std::size_t>(v.slot)].device; }

  // Enqueues kernel `member` of the device that holds `write`.
  using Options = LaunchOptions;
  template <class Spec>
  void launch(Kernel<Spec> KernelTable::*member, std::string_view kernel, const Spec& spec,
              std::span<const View> reads, const View& write, Options options = {}) {
    const Device where = device(write);
    const Kernel<Spec>& entry = kernels_of(where).*member;
    if (!entry.prepare) throw NotAvailable(cat(scope_text(), no_kernel_text(kernel, where)));
    add_launch(kernel, entry.prepare(spec, where), reads, write, options);
  }
  // A step that calls `run` from the host; see HostCall.
  void call(std::string_view what, decltype(HostCall::run) run, std::span<const View> reads,
            const View& write);
  // Moves dense memory between devices; listed with its bytes by explain().
  void transfer(const View& from, const View& to);

  // Names the operator that records until the guard dies: part of the labels of its steps.
  class Scope {
   public:
    Scope(Recorder& r, std::string name) : recorder_(r) { r.scopes_.push_back(std::move(name)); }
    ~Scope() { recorder_.scopes_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Recorder& recorder_;
  };
  // A reason for explain(): what was rewritten or placed, and why.
  void note(std::string text) { notes_.push_back(std::move(text)); }

  Plan finish() &&;

 private:
  friend class Plan;
  int add_slot(Slot slot);
  std::string scope_text() const;
  Step make_step(std::string_view what, std::span<const View> reads, const View& write) const;
  void add_launch(std::string_view kernel, Prepared prepared, std::span<const View> reads,
                  const View& write, Options options);
  Access access(const View& v) const { return {v.slot, v.layout.offset * size_of(v.dtype)}; }

  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  std::vector<std::string> scopes_, notes_;
};

inline View sub_view(const View& v, Layout layout) { return {v.slot, std::move(layout), v.dtype}; }
inline Operand operand_of(const View& v) { return {v.layout, v.dtype}; }

// The kernels by name, as operators use them.
namespace record {
TESSERA_API void copy(Recorder& r, const View& x,
                      const View& y);  // casts and re-lays out; crosses devices
TESSERA_API void fill(Recorder& r, const Value& v, const View& y);
TESSERA_API void scale(Recorder& r, const Value& c, const View& x, const View& y);  // y = c x
TESSERA_API void multiply(Recorder& r, const View& a, const View& b,
                          const View& y);  // y = a b, broadcast
TESSERA_API void conj_multiply(Recorder& r, const View& a, const View& b,
                               const View& y);  // y = conj(a) b
TESSERA_API void add(Recorder& r, const View& a, const View& b, const View& y);
TESSERA_API void subtract(Recorder& r, const View& a, const View& b, const View& y);
TESSERA_API void multiply_add(Recorder& r, const Value& c, const View& x, const View& a,
                              const View& y);  // y = c x + a
// y = sum of x over the axes along which y has size 1.
TESSERA_API void sum(Recorder& r, const View& x, const View& y);
TESSERA_API void fft(Recorder& r, const View& x, const View& y, const Shape& axes, int sign,
                     double scale);
// x real: the half spectrum of it; y real: the transform of a half spectrum back to it.
TESSERA_API void real_fft(Recorder& r, const View& x, const View& y, const Shape& axes,
                          double scale);
// y = scale * F^H (weight * F x), unscaled F over `axes`; on devices that compute in host memory.
TESSERA_API void filter(Recorder& r, const View& x, const View& weight, const View& y,
                        const Shape& axes, int sign, double scale);
TESSERA_API void fft_in_place(Recorder& r, const View& y, const Shape& axes, int sign,
                              double scale);
TESSERA_API void matmul(Recorder& r, const View& a, const View& b, const View& y, bool conj_a,
                        bool conj_b);
// y = sum conj(a) b over the axes along which y has size 1.
TESSERA_API void vdot(Recorder& r, const View& a, const View& b, const View& y);
}  // namespace record

}  // namespace tessera
