// SPDX-License-Identifier: Apache-2.0
#pragma once
// What operators write to: kernels over slots. Recording prepares kernels (slow, once) and touches
// no array data. Sizes, dtypes and devices are checked here, so that a run has nothing left to
// check.
//   Recorder r;  View x = r.input({64}, DType::f32, cpu);  View y = r.output({64}, DType::f32,
//   cpu); record::multiply(r, r.constant(w), x, y);   Plan p = std::move(r).finish();

#include <map>
#include <span>
#include <string_view>
#include <tuple>

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
  // The view where `device` can use it: itself, or a dense copy that is sent once and serves every
  // later request as long as nobody writes either.
  View resident(const View& v, Device device);
  View pinned(i64 bytes, Kind kind);  // a temporary in host memory that is page-locked for `kind`

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
  // The step recorded last may become part of a pass over vectors.
  void may_join(SweepPart part) { steps_.back().sweep = std::move(part); }
  // A step that calls `run` from the host; see HostCall.
  void call(std::string_view what, decltype(HostCall::run) run, std::span<const View> reads,
            const View& write);
  // Moves memory in rows (record_transfer.hpp) between devices; listed with its bytes by explain().
  void transfer(const View& from, const View& to, std::string_view part = {});

  // Names the operator that records until the guard dies: part of the labels of its steps, and a
  // node of the plan's tree.
  class TESSERA_API Scope {
   public:
    Scope(Recorder& r, std::string name, const View& in = {}, const View& out = {});
    ~Scope() { recorder_.scope_ = outer_; }
    void withdraw();  // nothing was recorded after all
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Recorder& recorder_;
    int outer_;
  };
  // Marks the independent parts of a container, so that the plan may overlap them: call next()
  // before each part is recorded. Containers inside a part are steps of that part.
  class Parts {
   public:
    Parts(Recorder& r, Device base);
    ~Parts();
    void next() {
      if (outermost_) ++recorder_.part_.index;
    }
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;

   private:
    Recorder& recorder_;
    bool outermost_;
  };

  // Where constants are until the guard dies, for operators whose arrays are not on the device that
  // computes. Fetched: the plan sends them there, once, when they are needed. Assumed: the plan is
  // made as if they were there; it tells what it would take, and cannot run.
  enum class Constants : std::uint8_t { as_they_are, fetched, assumed };
  class Residence {
   public:
    Residence(Recorder& r, Device device, Constants how)
        : recorder_(r), before_(r.residence_), how_(r.constants_) {
      r.residence_ = device;
      r.constants_ = how;
    }
    ~Residence() {
      recorder_.residence_ = before_;
      recorder_.constants_ = how_;
    }
    Residence(const Residence&) = delete;
    Residence& operator=(const Residence&) = delete;

   private:
    Recorder& recorder_;
    Device before_;
    Constants how_;
  };
  // An operator with arrays on `arrays` may compute on `here`.
  bool reaches(Device arrays, Device here) const {
    return arrays == here || (constants_ != Constants::as_they_are && here == residence_);
  }
  // Until the guard dies: transfers go on `stream` where it belongs to one of their ends.
  class Route {
   public:
    Route(Recorder& r, std::optional<Stream> stream) : recorder_(r) {
      r.stream_ = std::move(stream);
    }
    ~Route() { recorder_.stream_.reset(); }
    Route(const Route&) = delete;
    Route& operator=(const Route&) = delete;

   private:
    Recorder& recorder_;
  };
  // Until the guard dies: what is recorded starts after the latest record of the event, where there
  // is one that the plan does not start with.
  class TESSERA_API Listening {
   public:
    Listening(Recorder& r, const std::optional<RepeatedEvent>& event);
    ~Listening() {
      auto& all = recorder_.listeners_;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(before_), all.end());
    }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

   private:
    Recorder& recorder_;
    std::size_t before_;
  };
  // Every run of the plan records this event when it starts: once its input is ready, before
  // anything of it begins. What listens to it inside the plan has nothing more to wait for.
  void starts(const RepeatedEvent& event);
  bool starts_with(const RepeatedEvent& event) const;
  // No operator is recording: scopes that others open have no input.
  bool outermost() const {
    return scope_ < 0 || tree_[static_cast<std::size_t>(scope_)].in.slot < 0;
  }

  // What computes on `device` from now on does so on `stream`; without one, where the run decides.
  void compute_on(Device device, const std::optional<Stream>& stream);

  // A reason for explain(): what was rewritten or placed, and why.
  void note(std::string text) { notes_.push_back(std::move(text)); }

  Plan finish() &&;

 private:
  friend class Plan;
  int add_slot(Slot slot);
  std::string scope_name(std::string_view otherwise) const;
  std::string scope_text() const;
  Step make_step(std::string_view what, std::span<const View> reads, const View& write) const;
  void add_launch(std::string_view kernel, Prepared prepared, std::span<const View> reads,
                  const View& write, Options options);
  static Access access(const View& v);
  void push(Step step);
  i64& writes(const View& v);
  View constant_slot(const Array& array, Device device);

  // A view that is also somewhere else, as of the writes counted when it was sent.
  struct Copy {
    View from, to;
    i64 from_writes, to_writes;
  };
  std::vector<Slot> slots_;
  std::vector<Step> steps_;
  // By the slot and first element of what was sent, and where to; those with the same differ in
  // shape, or were written since.
  std::map<std::tuple<int, i64, Kind, int>, std::vector<Copy>> copies_;
  std::map<std::tuple<const void*, Kind, int>, std::vector<int>> constant_slots_;  // by memory
  std::vector<i64> writes_;                                                        // by slot
  Part part_{};
  int containers_ = 0;
  Device residence_{};
  Constants constants_ = Constants::as_they_are;
  std::vector<Stream> compute_streams_;   // the caller's, one per device at most
  std::optional<Stream> stream_;          // of the Route
  std::vector<RepeatedEvent> listeners_;  // of the Listenings
  std::vector<RepeatedEvent> starts_;
  std::vector<std::string> notes_;
  std::vector<ScopeNode> tree_;
  int scope_ = -1;  // the node of the tree that records now
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
