// SPDX-License-Identifier: Apache-2.0
#pragma once
// What operators offer to those that rewrite, lower and join them: rules ask these questions, listed
// in offers.def, and know no operator by its type. An operator takes part by having a member of
// that name, inside the library or outside of it; without one the answer is no.
//   if (const auto c = a.offers().factor()) …      const auto both = a.offers().merged_with(b);

#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/device/device_spec.hpp"
#include "tessera/names/named_shape.hpp"
#include "tessera/plan/recorder.hpp"

namespace tessera {

class NamedLinop;

using SizeOf = std::function<std::optional<i64>(NamedDimension)>;
using OperatorWindow = std::span<const NamedLinop>;

// Of the last axes of an array, the first of them first.
struct AxisRange {
  i64 start, stop;
};
using AxisRanges = std::vector<AxisRange>;

// A tensor with names; axes of size 1 named in broadcast_dims apply to any size.
struct NamedWeight {
  Array weight;
  Dims dims, broadcast_dims;
  bool conjugated = false;
};

// Two tiles side by side along a dim, of these sizes: one of a side alone, or of both.
struct Seam {
  NamedDimension dim;
  i64 first, second;
  bool both_sides;
};

// An image in a larger one, over the last axes; `cuts`: the map goes from the larger to the image.
struct Frame {
  Shape image, outer, start;
  bool cuts = false;
  // Along an axis where it starts before the first element it goes on at the end: it is in two parts.
  bool wraps() const {
    for (const i64 s : start)
      if (s < 0) return true;
    return false;
  }
};

// The first `count` operators of a window, recorded as one.
struct Fused {
  std::size_t count;
  std::function<void(Recorder&, const View& x, const View& y)> record;
};

struct Transfer {
  DeviceSpec from, to;
  // Until it dies, transfers go as the specs say; what computes on the target does for good.
  Recorder::Route route(Recorder& r) const {
    r.compute_on(to.device, to.compute_stream);
    return Recorder::Route(r, from.transfer_stream ? from.transfer_stream : to.transfer_stream);
  }
};

// Arrays that operators of one chain make when a plan is made, each once: an operator and its
// adjoint share them, so that where they meet they are seen to cancel.
class TESSERA_API SharedTables {
 public:
  explicit SharedTables(DType dtype) : dtype_(dtype) {}
  DType dtype() const { return dtype_; }  // complex, in the precision of the data
  const std::vector<Array>& of(const std::string& name, Device device,
                               const std::function<std::vector<Array>()>& make);

 private:
  DType dtype_;
  std::map<std::pair<std::string, Device>, std::vector<Array>> known_;
};

// One function for each member that an operator of one type has; null: it does not say.
struct OfferTable {
#define OFFER(result, member, arguments, ...) \
  result (*member)(const void* op __VA_OPT__(, ) __VA_ARGS__) = nullptr;
#include "tessera/linop/core/offers.def"
#undef OFFER
};

// R, looked at only once T is known: NamedLinop is complete by then.
template <class T, class R>
struct OfferedBy {
  using Result = R;
};
template <class T>
constexpr OfferTable make_offer_table() {
  OfferTable t;
#define OFFER(result, member, arguments, ...)                                        \
  if constexpr (requires(const T& op __VA_OPT__(, ) __VA_ARGS__) {                   \
                  {                                                                  \
                    op.member arguments                                              \
                    } -> std::convertible_to<typename OfferedBy<T, result>::Result>; \
                })                                                                   \
    t.member = [](const void* op __VA_OPT__(, ) __VA_ARGS__) ->                      \
        typename OfferedBy<T, result>::Result {                                      \
          return static_cast<const T*>(op)->member arguments;                        \
        };
#include "tessera/linop/core/offers.def"
#undef OFFER
  return t;
}
template <class T>
inline constexpr OfferTable offer_table = make_offer_table<T>();

// The answers of one operator, which must outlive this.
class TESSERA_API Offers {
 public:
  Offers(const OfferTable& table, const void* op) : table_(&table), op_(op) {}
  const OfferTable& table() const { return *table_; }
#define OFFER(result, member, arguments, ...) result member(__VA_ARGS__) const;
#include "tessera/linop/core/offers.def"
#undef OFFER

 private:
  const OfferTable* table_;
  const void* op_;
};

}  // namespace tessera
