// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator given by functions of arrays: the caller's own code, called by the host when a plan
// reaches it. It is not captured, it is cut where somebody says how, and whether it is linear, and
// the adjoint right, is the caller's word; check_adjoint() looks.
//   SimpleLinop([](const Array& x) { return ops::multiply(x, 2.0); },
//               [](const Array& y) { return ops::multiply(y, 2.0); })

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "tessera/linop/core/dim_sizes.hpp"
#include "tessera/linop/core/linop.hpp"

namespace tessera {

struct TESSERA_API SimpleLinop {
  using Function = std::function<Array(const Array&)>;
  // All that the caller may give; what is asked by name is asked by the names that the operator was
  // made with, whatever they are now. Functions also get the arrays of `arrays`, there where x is.
  struct Calls {
    using OfArrays = std::function<Array(const Array& x, std::span<const Array> held)>;
    OfArrays forward{}, backward{}, normal{};                  // normal may be empty
    std::function<NamedLinop(const Tile&)> split{};            // the part of the forward operator
    std::function<std::optional<i64>(NamedDimension)> size{};  // always the same for one dim
    std::function<std::vector<Array>()> arrays{};              // moved, copied and counted with it
  };
  Calls calls;
  NamedShape names;
  std::string label;  // "L", "L.H"
  DimSizes sizes;     // of dims that one side alone has; others are found by calling with zeros
  DType least;        // results have at least this dtype: complex64 for maps that are complex

  static constexpr const char* kind = "SimpleLinop";
  SimpleLinop(Calls calls, Dims ishape = {NamedDimension::ellipses()},
              std::optional<Dims> oshape = {}, std::string name = {}, DimSizes sizes = {},
              DType least = DType::b1);
  SimpleLinop(Function forward, Function adjoint, Function normal = {},
              Dims ishape = {NamedDimension::ellipses()}, std::optional<Dims> oshape = {},
              std::string name = {}, DimSizes sizes = {}, DType least = DType::b1);
  NamedShape shape() const { return names; }
  std::optional<i64> size(NamedDimension d) const;
  std::optional<Device> device() const;
  Shape output_shape(const Shape& input) const;
  DType output_dtype(DType t) const { return promote(t, least); }
  void apply(Recorder& r, const View& x, const View& y) const;
  SimpleLinop adjoint() const;
  std::optional<NamedLinop> normal() const;
  SimpleLinop renamed(const Renames& r) const;
  NamedLinop split(const Tile& tile) const;

  // What it was made of: names, and whether this is the adjoint of that, or its normal.
  const NamedShape& first_names() const { return first_; }
  bool flipped() const { return flipped_; }
  const SimpleLinop* normal_of() const { return normal_of_.get(); }
  std::vector<Array> held() const;  // its arrays as they are now: moved ones, else the caller's
  template <class Self, class F>
  static void each_array(Self& self, F&& f) {
    std::vector<Array> all = self.held();
    for (Array& a : all) f(a);
    if constexpr (!std::is_const_v<Self>)
      if (!all.empty()) self.moved_ = std::move(all);
  }

 private:
  struct Found;
  std::string who() const;
  const Calls::OfArrays& function() const { return flipped_ ? calls.backward : calls.forward; }
  Tile by_first_names(const Tile& tile) const;
  NamedLinop split_normal(const Tile& tile) const;

  NamedShape first_;  // as it was made, in the order of `names`
  bool flipped_ = false;
  std::shared_ptr<const SimpleLinop> normal_of_;
  std::vector<Array> moved_;  // instead of the caller's arrays
  std::shared_ptr<Found> found_;
};

extern template struct NamedLinop::Model<SimpleLinop>;

}  // namespace tessera
