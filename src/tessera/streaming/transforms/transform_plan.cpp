// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/transforms/transform_plan.hpp"

#include <algorithm>

#include "tessera/kernels/eager.hpp"
#include "tessera/kernels/elementwise/elementwise.hpp"
#include "tessera/streaming/passes/pass.hpp"
#include "tessera/streaming/transforms/pass_pieces.hpp"
#include "tessera/streaming/transforms/roots.hpp"
#include "tessera/streaming/transforms/split_axis.hpp"

namespace tessera::streaming {
namespace {

void conjugate(const Array& x) {
  if (is_complex(x.dtype())) elementwise(ElementOp::conj, std::vector<ArrayOrValue>{x}, x);
}

// What happens to a strip between its reads and its writes.
struct StripWork {
  const TransformPass pass;
  std::shared_ptr<const RootTable> roots = {};
  std::shared_ptr<const Prepared> kernel = {};
  BufferView work = {}, output = {}, space = {};
  std::vector<std::pair<BufferView, BufferView>> converted = {};  // what was read, what it becomes
  std::vector<BufferView> zeros = {};
  Shape begin = {};

  void operator()(const Buffers& b) const {
    const Array x = b(work);
    for (const auto& [from, to] : converted) b(to).copy_from(b(from));
    for (const BufferView& z : zeros) b(z).fill(Value(0));
    if (pass.conjugates_in) conjugate(x);
    if (pass.counts_once >= 0) count_once(x);
    const Array y = pass.has_output() ? b(output) : x;
    if (kernel) run(b, x, pass.kind == FftKind::complex ? x : y);
    if (roots) roots->multiply(x, pass.axes[0], begin[pass.axes[0] + 1], pass.sign);
    if (pass.takes_real_part) elementwise(ElementOp::real, std::vector<ArrayOrValue>{x}, y);
    if (pass.conjugates_out) conjugate(y);
    y.host_data();  // has ended
  }

 private:
  void run(const Buffers& b, const Array& x, const Array& y) const {
    x.host_data();
    Launch launch;
    launch.operand[0] = x.data();
    launch.operand[1] = y.data();
    launch.workspace = b(space).data();
    kernel->task.run(kernel->task.state.get(), launch);
  }
  void count_once(const Array& x) const {
    const AxisInTwo& two = *pass.read_in_two;
    const i64 r = two.axis, c = two.axis + 1;
    const auto halve = [&](i64 number) {
      const i64 row = number / two.columns, column = number % two.columns - begin[c];
      if (column < 0 || column >= x.shape(c)) return;
      const Array those = x.slice(r, row, row + 1).slice(c, column, column + 1);
      elementwise(ElementOp::multiply, std::vector<ArrayOrValue>{those, Value(0.5)}, those);
    };
    halve(0);
    if (pass.counts_once > 0) halve(pass.counts_once);
  }
};

// The steps of one pass.
class PassSteps {
 public:
  PassSteps(StreamPlan& plan, const TransformPass& pass, i64 from, i64 to)
      : plan_(plan), pass_(pass), from_(from), to_(to) {
    plan.begin_phase();
    for (i64 k = 0; k < pass.slots; ++k)
      slots_.push_back(plan.add_buffer(pass.slot_bytes(pass.step)));
    space_ = plan.add_buffer(pass.workspace_bytes(pass.step));
    const i64 elements = count_of(pass.strip(pass.work, pass.step));
    work_at_ = pass.converts() ? StreamPlan::rounded(elements * size_of(pass.from)) : 0;
    output_at_ = work_at_ + StreamPlan::rounded(elements * size_of(pass.working));
    if (pass.rooted) roots_ = std::make_shared<const RootTable>(pass.rooted);
  }

  void add() {
    const Box all{Shape(pass_.ndim(), 0), pass_.work};
    std::size_t number = 0;
    for (const Box& box : parts_of(all, pass_.step))
      add_strip(box, slots_[number++ % slots_.size()]);
  }

 private:
  static BufferView view(i64 slot, i64 at, Layout layout, DType dtype) {
    layout.offset += at / size_of(dtype);
    return {slot, std::move(layout), dtype};
  }
  BufferView work_view(i64 slot, const Layout& part) const {
    return view(slot, work_at_, part, pass_.working);
  }

  void add_strip(const Box& box, i64 slot) {
    StripWork work{.pass = pass_, .roots = roots_, .begin = box.begin};
    work.work = work_view(slot, Layout::contiguous(pass_.strip(pass_.work, box.shape)));
    work.output =
        view(slot, output_at_, Layout::contiguous(pass_.strip(pass_.out, box.shape)), pass_.result);
    work.space = dense_view(space_, {0}, DType::u8);
    Step step;
    const PiecesRead there = read_pieces(pass_, box);
    for (const StripPiece& p : there.pieces) {
      const BufferView here = view(slot, 0, p.part, pass_.from);
      step.reads.push_back({from_, p.box, pass_.converts() ? here : work_view(slot, p.part)});
      if (pass_.converts()) work.converted.emplace_back(here, work_view(slot, p.part));
    }
    for (const Layout& z : there.zeros)
      if (z.size() > 0) work.zeros.push_back(work_view(slot, z));
    if (!pass_.axes.empty()) work.kernel = kernel_of(box.shape);
    for (const StripPiece& p : written_pieces(pass_, box))
      step.writes.push_back({to_, p.box,
                             pass_.has_output() ? view(slot, output_at_, p.part, pass_.result)
                                                : work_view(slot, p.part)});
    step.uses = {slot, space_};
    step.restarts = true;
    step.compute = std::move(work);
    plan_.add_step(std::move(step));
  }

  std::shared_ptr<const Prepared> kernel_of(const Shape& box) {
    for (const auto& [shape, kernel] : kernels_)
      if (shape == box) return kernel;
    kernels_.emplace_back(
        box, std::make_shared<const Prepared>(kernels_of(cpu).fft.prepare(pass_.kernel(box), cpu)));
    return kernels_.back().second;
  }

  StreamPlan& plan_;
  const TransformPass& pass_;
  i64 from_, to_;
  std::vector<i64> slots_;
  i64 space_ = 0, work_at_ = 0, output_at_ = 0;  // bytes from the beginning of a slot
  std::shared_ptr<const RootTable> roots_;
  std::vector<std::pair<Shape, std::shared_ptr<const Prepared>>> kernels_;
};

StorePtr seen_by(const StorePtr& store, const std::optional<AxisInTwo>& two) {
  return two ? split_axis(store, two->axis, two->columns) : store;
}

std::string note_of(const TransformPass& p, i64 number, i64 passes) {
  std::string what = p.axes.empty() ? std::string("moves numbers into other tiles or another dtype")
                                    : cat("transforms axes ", p.axes, " of ", p.work);
  if (p.rooted) what += cat(" (lines of ", p.rooted, " points in two passes)");
  return cat("pass ", number, " of ", passes, ": ", what, " in strips of ", p.step, ", ", p.slots,
             " at a time");
}

void require_result(std::string_view who, const StorePtr& from, const StorePtr& to,
                    const Shape& shape, DType dtype) {
  require<ShapeError>(to->grid().shape() == shape, who, ": gives shape ", shape,
                      ", the output has ", to->grid().shape());
  require<DTypeError>(to->grid().dtype() == dtype, who, ": gives ", name(dtype),
                      ", the output holds ", name(to->grid().dtype()));
  require<IoError>(to->writable(), who, ": the output is read-only: ", to->describe());
  require<ArgumentError>(from != to, who, ": source and output are the same store");
}

// Elements [begin, begin + length) of a line of n as they come `shift` behind: one piece or two.
struct Turned {
  i64 at, from, length;  // in the strip, in the source
};
std::vector<Turned> turned_parts(i64 begin, i64 length, i64 n, i64 shift) {
  const i64 from = ((begin - shift) % n + n) % n, first = std::min(length, n - from);
  std::vector<Turned> out{{0, from, first}};
  if (first < length) out.push_back({first, 0, length - first});
  return out;
}

}  // namespace

std::vector<std::string> scratch_of_transform(const TransformSpec& spec) {
  std::vector<std::string> names;  // two passes for each stage, and one that moves
  for (std::size_t k = 1; k <= 2 * spec.stages.size() + 1; ++k) names.push_back(cat("pass", k));
  return names;
}

StreamPlan plan_transform(const TransformSpec& spec, const StorePtr& from, const StorePtr& to,
                          const MakeScratch& scratch, const Options& options) {
  require_result(name(spec.direction), from, to, spec.out, spec.result);
  const store::TileGrid& source = from->grid();
  StreamPlan plan(cat(name(spec.direction), ": ", source.shape(), " ", name(source.dtype()), " to ",
                      spec.out, " ", name(spec.result)),
                  options);
  if (count_of(spec.out) == 0) {
    plan.add_store("source", from);
    plan.add_store("output", to);
    return plan;
  }
  const TransformLayout layout = transform_layout(spec, *from, options);
  const auto passes = static_cast<i64>(layout.passes.size());
  StorePtr before = from;
  for (i64 k = 0; k < passes; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const TransformPass& pass = layout.passes[at];
    const StorePtr after = k + 1 == passes ? to
                                           : scratch(cat("pass", k + 1), layout.shapes[at],
                                                     pass.result, layout.tiles[at]);
    const i64 in = plan.add_store(k == 0 ? "source" : cat("pass ", k),
                                  seen_by(before, pass.read_in_two)),
              out = plan.add_store(k + 1 == passes ? "output" : cat("pass ", k + 1),
                                   seen_by(after, pass.written_in_two));
    PassSteps(plan, pass, in, out).add();
    plan.add_note(note_of(pass, k + 1, passes));
    before = after;
  }
  plan.add_held(layout.tables);
  return plan;
}

StreamPlan plan_shift(const StorePtr& from, const StorePtr& to, const Shape& axes, bool inverse,
                      const Options& options) {
  const std::string_view who = inverse ? "ifftshift" : "fftshift";
  const Shape& shape = from->grid().shape();
  const DType dtype = from->grid().dtype();
  require_result(who, from, to, shape, dtype);
  Shape shifts(shape.size(), 0);
  for (const i64 given : axes) {
    const i64 a = normalize_axis(given, shape.size(), who);
    shifts[a] += inverse ? -(shape[a] / 2) : shape[a] / 2;
  }
  StreamPlan plan(cat(who, ": ", shape, " ", name(dtype)), options);
  const i64 source = plan.add_store("source", from), output = plan.add_store("output", to);
  if (count_of(shape) == 0) return plan;
  TransformPass pass{
      .in = shape, .work = shape, .out = shape, .from = dtype, .working = dtype, .result = dtype};
  if (!cut_within(pass, to->grid().tile_shape(), budget_of(options), {}))
    require_budget(who, options, pass.slot_bytes(Shape(shape.size(), 1)));
  for (i64 k = 0; k < pass.slots; ++k) plan.add_buffer(pass.slot_bytes(pass.step));
  i64 number = 0;
  for (const Box& box : parts_of(to->grid().whole(), pass.step)) {
    const BufferView all = dense_view(number++ % pass.slots, box.shape, dtype);
    std::vector<Move> reads{{source, box, all}};
    for (i64 d = 0; d < shape.size(); ++d) {
      std::vector<Move> cut;
      for (const Move& m : reads)
        for (const Turned& t : turned_parts(box.begin[d], box.shape[d], shape[d], shifts[d])) {
          Move part = m;
          part.box.begin[d] = t.from;
          part.box.shape[d] = t.length;
          part.view.layout = m.view.layout.slice(d, t.at, t.length);
          cut.push_back(std::move(part));
        }
      reads = std::move(cut);
    }
    Step step;
    step.reads = std::move(reads);
    step.writes.push_back({output, box, all});
    step.restarts = true;
    plan.add_step(std::move(step));
  }
  plan.add_note(cat("boxes of ", pass.step, ", ", pass.slots, " at a time"));
  return plan;
}

}  // namespace tessera::streaming
