// SPDX-License-Identifier: Apache-2.0
#include "tessera/streaming/forms/form_product.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "tessera/matrix/products/multiply.hpp"
#include "tessera/streaming/forms/form_cut.hpp"

namespace tessera::streaming {
namespace {

using Kind = BlockPlace::Kind;

// Sizes 2, 3 and 4 that are equal, and larger, where those of the matrices are.
std::array<i64, 3> small_sizes(std::array<i64, 3> n) {
  std::array<i64, 3> sorted = n, out{};
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < 3; ++i) {
    i64 smaller = 0;
    for (std::size_t k = 0; k < 3; ++k)
      if (sorted[k] < n[i] && (k == 0 || sorted[k] != sorted[k - 1])) ++smaller;
    out[i] = 2 + smaller;
  }
  return out;
}

// A block that waits in a buffer, or that is made of what is in memory.
struct Loaded {
  BlockPlace place;
  BufferView view;  // of what is stored; unused where there is no store
};

// What one step adds to one block of the result.
struct Term {
  bool fresh = false;  // nothing was added before
  BufferView sums;
  Loaded left, right;
};

// All that the steps of a product share.
struct ProductWork {
  FormSource a, b;
  FormResult result;
  BlockCall call;

  static Piece piece(const Buffers& buffers, const FormSource& m, const Loaded& l) {
    return piece_of(m, l.place, m.store ? buffers(l.view) : Array{});
  }
  void add(const Buffers& buffers, const Term& t) const {
    const Array c = buffers(t.sums);
    if (t.fresh) c.fill(Value(0));
    multiply_add(c, piece(buffers, a, t.left), piece(buffers, b, t.right), call);
  }
};

class ProductPlanner {
 public:
  ProductPlanner(StreamPlan& plan, std::shared_ptr<const ProductWork> work, const FormCut& cut,
                 const StorePtr& out, bool turned)
      : plan_(plan), work_(std::move(work)), cut_(cut), turned_(turned) {
    const FormSource &a = work_->a, &b = work_->b;
    a_store_ = a.store ? plan.add_store(turned ? "B" : "A", a.store) : 0;
    if (b.store)
      b_store_ = b.store == a.store ? a_store_ : plan.add_store(turned ? "A" : "B", b.store);
    out_store_ = plan.add_store("C", out);
    rows_ = cut_at_multiples(0, a.rows(), cut.side);
    inner_ = cut_at_multiples(0, a.cols(), cut.side);
    cols_ = cut_at_multiples(0, b.cols(), cut.side);
  }

  void add_steps() {
    const FormSizes sizes{work_->a, work_->b, work_->result, work_->call};
    const auto buffers = [&](i64 count, i64 bytes) {
      std::vector<i64> out;
      for (i64 k = 0; k < count; ++k) out.push_back(plan_.add_buffer(bytes));
      return out;
    };
    const i64 b_rows = cut_.one_pass ? ssize(inner_) : 2;
    a_ = buffers(work_->a.store ? form_a_slots : 0, sizes.a_bytes(cut_.side));
    b_ = buffers(work_->b.store ? b_rows * cut_.block_cols : 0, sizes.b_bytes(cut_.side));
    c_ = buffers(cut_.block_rows * cut_.block_cols, sizes.c_bytes(cut_.side));
    if (sizes.out_bytes(cut_.side) > 0) out_ = buffers(2, sizes.out_bytes(cut_.side));
    plan_.add_held(
        temporary_bytes(work_->a, work_->b, work_->call, std::min(cut_.side, longest())));
    for (i64 i = 0; i < ssize(rows_); i += cut_.block_rows)
      for (i64 j = 0; j < ssize(cols_); j += cut_.block_cols) {
        began_.assign(c_.size(), false);
        top_ = i;
        left_ = j;
        restarts_ = true;
        cut_.one_pass ? add_one_pass() : add_sums();
        add_writes();
      }
    plan_.add_note(note());
  }

 private:
  static i64 ssize(const std::vector<Range>& r) { return static_cast<i64>(r.size()); }
  static const Range& at(const std::vector<Range>& r, i64 k) {
    return r[static_cast<std::size_t>(k)];
  }
  i64 longest() const {
    return std::max({work_->a.rows(), work_->a.cols(), work_->b.cols(), i64{1}});
  }
  i64 bottom() const { return std::min(ssize(rows_), top_ + cut_.block_rows); }
  i64 right() const { return std::min(ssize(cols_), left_ + cut_.block_cols); }
  bool is_wanted(i64 i, i64 j) const { return !work_->result.is_half() || i <= j; }

  BlockPlace left_place(i64 i, i64 k) const {
    return place_of(work_->a, at(rows_, i), at(inner_, k));
  }
  BlockPlace right_place(i64 k, i64 j) const {
    return place_of(work_->b, at(inner_, k), at(cols_, j));
  }

  // A block on its way into a buffer; nothing moves where it has no store.
  Loaded load(const FormSource& m, i64 store, const BlockPlace& place, i64 buffer,
              Step& step) const {
    Loaded out{place, {}};
    if (!m.store) return out;
    const Box box = box_of(m, place);
    out.view = dense_view(buffer, box.shape, m.store->grid().dtype());
    step.reads.push_back({store, box, out.view});
    return out;
  }

  std::size_t sums_at(i64 i, i64 j) const {
    return static_cast<std::size_t>((i - top_) * cut_.block_cols + j - left_);
  }
  BufferView sums(i64 i, i64 j) const {
    const i64 rows = at(rows_, i).size(), cols = at(cols_, j).size();
    const bool words = work_->result.has_words();
    return dense_view(c_[sums_at(i, j)], {rows, words ? bit_words(cols) : cols},
                      words ? DType::u64 : work_->call.work);
  }
  Term term(i64 i, i64 j, const Loaded& l, const Loaded& r, Step& step) {
    const std::size_t k = sums_at(i, j);
    Term out{!began_[k], sums(i, j), l, r};
    began_[k] = true;
    step.uses.push_back(c_[k]);
    if (work_->a.store) step.uses.push_back(l.view.buffer);
    if (work_->b.store) step.uses.push_back(r.view.buffer);
    return out;
  }
  void add(Step step, std::vector<Term> terms) {
    step.restarts = restarts_;
    restarts_ = false;
    step.compute = [work = work_, terms = std::move(terms)](const Buffers& buffers) {
      for (const Term& t : terms) work->add(buffers, t);
    };
    plan_.add_step(std::move(step));
  }

  // Blocks of the result stay; a column of blocks of A and a row of those of B pass at a time.
  void add_sums() {
    for (i64 k = 0; k < ssize(inner_); ++k) {
      std::vector<i64> js;
      for (i64 j = left_; j < right(); ++j)
        if (right_place(k, j).kind != Kind::zero && is_met(k, j)) js.push_back(j);
      if (js.empty()) continue;
      Step step;
      std::vector<Loaded> loaded;
      loaded.reserve(js.size());
      for (const i64 j : js)
        loaded.push_back(load(work_->b, b_store_, right_place(k, j), next_b(), step));
      for (i64 i = top_; i < bottom(); ++i) {
        const BlockPlace place = left_place(i, k);
        if (place.kind == Kind::zero || !is_wanted(i, js.back())) continue;
        const Loaded l = load(work_->a, a_store_, place, next_a(), step);
        std::vector<Term> terms;
        for (std::size_t n = 0; n < js.size(); ++n)
          if (is_wanted(i, js[n])) terms.push_back(term(i, js[n], l, loaded[n], step));
        add(std::move(step), std::move(terms));
        step = {};
      }
    }
  }
  // Whether a block of B meets one of A for a block that is wanted here.
  bool is_met(i64 k, i64 j) const {
    for (i64 i = top_; i < bottom(); ++i)
      if (is_wanted(i, j) && left_place(i, k).kind != Kind::zero) return true;
    return false;
  }

  // All rows of B and of the result stay; each square of A is read once, for both of its places.
  void add_one_pass() {
    Step first;
    const i64 width = right() - left_;
    std::vector<Loaded> loaded;
    for (i64 k = 0; k < ssize(inner_); ++k)
      for (i64 j = left_; j < right(); ++j) {
        const BlockPlace place = right_place(k, j);
        const i64 buffer =
            work_->b.store ? b_[static_cast<std::size_t>(k * cut_.block_cols + j - left_)] : 0;
        if (place.kind == Kind::zero)
          loaded.push_back({place, {}});
        else
          loaded.push_back(load(work_->b, b_store_, place, buffer, first));
      }
    const auto right_of = [&](i64 k, i64 j) -> const Loaded& {
      return loaded[static_cast<std::size_t>(k * width + j - left_)];
    };
    add(std::move(first), {});
    for (i64 i = 0; i < ssize(rows_); ++i)
      for (i64 k = i; k < ssize(inner_); ++k) {
        Step step;
        std::vector<Term> terms;
        Loaded l = load(work_->a, a_store_, left_place(i, k), next_a(), step), mirror = l;
        mirror.place = left_place(k, i);
        for (i64 j = left_; j < right(); ++j) {
          if (right_of(k, j).place.kind != Kind::zero)
            terms.push_back(term(i, j, l, right_of(k, j), step));
          if (i != k && right_of(i, j).place.kind != Kind::zero)
            terms.push_back(term(k, j, mirror, right_of(i, j), step));
        }
        if (!terms.empty()) add(std::move(step), std::move(terms));
      }
  }

  void add_writes() {
    for (i64 i = top_; i < bottom(); ++i)
      for (i64 j = left_; j < right(); ++j) {
        if (!is_wanted(i, j)) continue;
        const BufferView from = sums(i, j);
        BufferView to = from;
        Step step;
        if (!began_[sums_at(i, j)]) {  // nothing met: zeros
          if (!out_.empty()) to = dense_view(from.buffer, from.layout.shape, work_->result.dtype);
          step.compute = [to](const Buffers& buffers) {
            buffers(to).fill(Value(0));
            buffers(to).host_data();
          };
          step.restarts = restarts_;
          restarts_ = false;
        } else if (!out_.empty()) {
          to = dense_view(out_[static_cast<std::size_t>(turn_++ % 2)], from.layout.shape,
                          work_->result.dtype);
          step.uses.push_back(from.buffer);
          step.compute = [from, to, call = work_->call](const Buffers& buffers) {
            finish_block(buffers(from), buffers(to), call);
          };
        }
        step.writes.push_back(written(i, j, to));
        plan_.add_step(std::move(step));
      }
  }
  Move written(i64 i, i64 j, BufferView view) const {
    const i64 column = at(cols_, j).begin;
    Box box{{at(rows_, i).begin, work_->result.has_words() ? column / 64 : column},
            view.layout.shape};
    if (turned_) {
      std::swap(box.begin[0], box.begin[1]);
      std::swap(box.shape[0], box.shape[1]);
      std::swap(view.layout.shape[0], view.layout.shape[1]);
      std::swap(view.layout.strides[0], view.layout.strides[1]);
    }
    return {out_store_, box, view};
  }

  i64 next_a() { return a_.empty() ? 0 : a_[static_cast<std::size_t>(turn_a_++) % a_.size()]; }
  i64 next_b() { return b_.empty() ? 0 : b_[static_cast<std::size_t>(turn_b_++) % b_.size()]; }

  std::string note() const {
    const std::string a = turned_ ? "B" : "A", b = turned_ ? "A" : "B";
    const std::string size = cat("blocks of (", cut_.side, ", ", cut_.side, ")");
    if (cut_.one_pass)
      return cat(size, ": all rows of ", b, " and C stay, ", cut_.block_cols,
                 " blocks wide, and each block of ", a, " is read once for both of its places");
    return cat(size, ": ", cut_.block_rows, " x ", cut_.block_cols,
               " of C stay; those that a form says are zero are not read");
  }

  StreamPlan& plan_;
  std::shared_ptr<const ProductWork> work_;
  FormCut cut_;
  bool turned_ = false, restarts_ = true;
  i64 a_store_ = 0, b_store_ = 0, out_store_ = 0;
  i64 top_ = 0, left_ = 0;  // the blocks of C that stay
  i64 turn_ = 0, turn_a_ = 0, turn_b_ = 0;
  std::vector<Range> rows_, inner_, cols_;
  std::vector<i64> a_, b_, c_, out_;
  std::vector<bool> began_;
};

BlockCall call_of(const FormSource& a, const FormSource& b, const FormResult& r,
                  const FormProduct& what) {
  const bool counts = a.has_words() && b.has_words() && !is_inexact(r.dtype);
  BlockCall call{r.dtype, work_dtype(r.dtype, counts), counts, what.boolean};
  if ((!a.is_scaled() && !b.is_scaled()) || what.boolean) return call;
  // What is stored is multiplied; both factors are one, which a small matrix multiplies as exactly.
  const AnyMatrix both = AnyMatrix::identity(1, 1, DType::i64).scaled(a.scale).scaled(b.scale);
  call.factor = both.scale();
  return call;
}

struct Chosen {
  FormCut cut;
  bool turned = false;  // (a b)^T = b^T a^T: a mirrored b is read once
};
Chosen choose(const FormSource& a, const FormSource& b, const FormResult& r,
              const FormProduct& what, const Options& options) {
  const BlockCall call = call_of(a, b, r, what);
  const FormCut cut = choose_form_cut({a, b, r, call}, options);
  if (!b.is_mirrored() || r.form != Form::dense) return {cut};
  FormResult other = r;
  std::swap(other.rows, other.cols);
  const FormSource left = b.transpose(), right = a.transpose();
  const FormCut of_turned = choose_form_cut({left, right, other, call}, options);
  if (of_turned.one_pass && of_turned.cost < cut.cost) return {of_turned, true};
  return {cut};
}

}  // namespace

i64 form_product_side(const FormSource& a, const FormSource& b, const FormProduct& what,
                      const Options& options) {
  const FormResult r = product_form(a, b, what);
  if (r.lower) return form_product_side(b.transpose(), a.transpose(), what, options);
  return choose(a, b, r, what, options).cut.side;
}

FormResult result_of(const AnyMatrix& given, i64 rows, i64 cols) {
  // Scaled bits are numbers.
  const AnyMatrix small = given.dtype() == given.payload().dtype ? given : given.copy();
  FormResult r{small.form(), small.dtype(), rows, cols, small.lower(), small.payload().strict};
  if (r.form == Form::diagonal || r.form == Form::identity) r.form = Form::dense;
  return r;
}

FormSource FormResult::source(const StorePtr& store) const {
  FormSource m =
      has_words() ? FormSource::bits(form, store, cols) : FormSource::numbers(form, store, strict);
  return lower ? m.transpose() : m;
}

std::string FormResult::about() const {
  if (form == Form::dense) return {};
  return cat("matrix ", name(form), " ", cols, lower ? " lower" : "", strict ? " strict" : "");
}

FormResult FormResult::told_by(const StorePtr& store) {
  const std::string about = store->about();
  const Shape& shape = store->grid().shape();
  FormResult r;
  for (std::size_t begin = 0; begin < about.size() && shape.size() == 2;) {
    // The one number among the words.
    const std::size_t end = std::min(about.find(' ', begin), about.size());
    std::from_chars(about.data() + begin, about.data() + end, r.cols);
    begin = end + 1;
  }
  using enum Form;
  for (const Form known : {bit, triangular_bit, triangular, symmetric, antisymmetric})
    for (const bool is_lower : {false, true})
      for (const bool is_strict : {false, true}) {
        const FormResult said{known, DType::b1, 0, r.cols, is_lower, is_strict};
        if (shape.size() == 2 && said.about() == about) r = said;
      }
  require<IoError>(r.form != dense, store->describe(), ": is said to hold '", about,
                   "'; matrices of a form are known, and arrays");
  r.rows = shape[0];
  if (!r.has_words()) r.dtype = store->grid().dtype();
  const bool is_triangle = r.form == triangular || r.form == triangular_bit;
  const bool fits = r.cols >= 0 && r.cols / 64 <= shape[1] && (!r.is_half() || r.rows == r.cols);
  require<IoError>(fits && r.stored_shape() == shape && r.stored_dtype() == store->grid().dtype(),
                   store->describe(), ": is said to hold '", about,
                   "', which is not stored in that shape and dtype");
  require<IoError>(is_triangle || !r.lower, store->describe(), ": is said to hold '", about,
                   "'; triangles alone are lower ones");
  return r;
}

FormResult product_form(const FormSource& a, const FormSource& b, const FormProduct& what) {
  const std::string_view who = what.boolean ? "boolean_product" : "matmul";
  require<ShapeError>(a.cols() == b.rows(), who, ": ", a.describe(), " times ", b.describe(),
                      ": the first has ", a.cols(), " columns, the second ", b.rows(), " rows");
  require<DTypeError>(!what.boolean || (a.has_words() && b.has_words()), who, ": ", a.describe(),
                      " and ", b.describe(), "; on disk it takes two matrices of bits");
  const auto [m, k, n] = small_sizes({a.rows(), a.cols(), b.cols()});
  const AnyMatrix x = a.small(m, k), y = b.small(k, n);
  FormResult r = result_of(what.boolean ? boolean_product(x, y) : matmul(x, y), a.rows(), b.cols());
  constexpr i64 most = std::numeric_limits<std::int32_t>::max();
  if (a.has_words() && b.has_words() && !what.boolean && a.cols() > most) r.dtype = DType::i64;
  return r;
}

StreamPlan plan_form_product(const FormSource& a, const FormSource& b, const StorePtr& out,
                             const FormProduct& what, const Options& options) {
  const FormResult r = product_form(a, b, what);
  if (r.lower) return plan_form_product(b.transpose(), a.transpose(), out, what, options);
  const store::TileGrid& grid = out->grid();
  require<ShapeError>(grid.shape() == r.stored_shape() && grid.dtype() == r.stored_dtype(),
                      "matmul: the output is ", name(grid.dtype()), " of shape ", grid.shape(),
                      ", the result is stored as ", name(r.stored_dtype()), " of shape ",
                      r.stored_shape());
  require<IoError>(out->writable(), "matmul: the output is read-only: ", out->describe());
  require<ArgumentError>(out != a.store && out != b.store,
                         "matmul: the output is one of the factors");
  StreamPlan plan(cat(what.boolean ? "boolean_product: " : "matmul: ", a.describe(), " times ",
                      b.describe(), ", ", name(r.dtype)),
                  options);
  if (r.rows == 0 || r.cols == 0) return plan;
  const Chosen chosen = choose(a, b, r, what, options);
  BlockCall call = call_of(a, b, r, what);
  const auto& [cut, turned] = chosen;
  FormResult result = r;
  if (turned) std::swap(result.rows, result.cols);
  call.strip = cut.strip();
  const auto work = std::make_shared<const ProductWork>(
      ProductWork{turned ? b.transpose() : a, turned ? a.transpose() : b, result, call});
  ProductPlanner(plan, work, cut, out, turned).add_steps();
  return plan;
}

}  // namespace tessera::streaming
