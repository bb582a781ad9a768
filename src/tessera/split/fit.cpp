// SPDX-License-Identifier: Apache-2.0
#include "tessera/split/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tessera/linop/containers/fetched.hpp"
#include "tessera/linop/rewrite/memory_map.hpp"
#include "tessera/split/batched.hpp"
#include "tessera/split/split_linop.hpp"

namespace tessera {
namespace {

constexpr std::string_view fitting = "fit";

// An operator as it would be on another device: recorded there, its arrays not moved.
struct Assumed {
  NamedLinop a;
  Device where;

  static constexpr const char* kind = "Assumed";
  NamedShape shape() const { return a.shape(); }
  Dims dims() const { return a.dims(); }
  std::optional<i64> size(NamedDimension d) const { return a.size(d); }
  std::optional<Device> device() const { return where; }
  Shape output_shape(const Shape& input) const { return a.output_shape(input); }
  DType output_dtype(DType t) const { return a.output_dtype(t); }
  void apply(Recorder& r, const View& x, const View& y) const {
    const Recorder::Residence there(r, where, Recorder::Constants::assumed);
    a.record(r, x, y);
  }
  NamedLinop adjoint() const { return Assumed{a.H(), where}; }
  std::vector<NamedLinop> parts() const { return {a}; }
};

using Devices = std::vector<Device>;

// One way to run the operator.
struct Way {
  DimSizes sizes;  // of the tiles; empty: whole
  bool resident = true;
  Devices devices;
};

struct Sized {
  NamedDimension dim;
  i64 size;
};

enum class Cuts : std::uint8_t { one, several, finest };

class Search {
 public:
  Search(const NamedLinop& a, const FitOptions& o)
      : a_(a), o_(o), machine_(Machine::measured()), devices_(o.devices) {
    require<ArgumentError>(!o.budget.empty() || !o.devices.empty(), fitting, ": ", a,
                           ": no device and no budget given");
    for (const auto& [d, bytes] : o.budget) {
      require<ArgumentError>(bytes > 0, fitting, ": ", a, ": the budget of ", d, " is ", bytes,
                             " bytes; a positive number is expected");
      if (o.devices.empty()) devices_.push_back(d);
    }
    for (Device d : devices_) (void)RankDevice(d).local(fitting);
    // On all of them, and on each alone: one that has little room is no reason to refuse the
    // others.
    choices_.push_back(devices_);
    for (Device d : devices_)
      if (devices_.size() > 1) choices_.push_back({d});
    out_shape_ = a.output_shape(o.shape);
  }

  Fitted best() {
    find_dims();
    if (const std::optional<Fitted> f = searched()) return *f;
    // Placed, something took more than its sketch: from now on ways that fit are placed at once.
    if (std::exchange(exact_, misled_) != misled_) {
      seen_.clear();
      bad_.clear();
      if (const std::optional<Fitted> f = searched()) return *f;
    }
    if (const std::optional<Fitted> f = placed_nearest()) return *f;
    refuse();
  }

 private:
  struct Looked {
    Way way;
    FitForecast forecast;
    bool placed = false;  // its forecast is of the operator itself, not of a sketch
  };

  std::optional<Fitted> searched() {
    // Along one dim; where that is not enough along several, and last with another one cut into
    // single elements.
    for (const Cuts cuts : {Cuts::one, Cuts::several, Cuts::finest})
      for (const bool resident : {true, false}) {
        for (const Devices& devices : choices_) look_along(cuts, resident, devices);
        if (std::optional<Fitted> f = settle()) return f;
      }
    return std::nullopt;
  }

  i64 budget_of(Device d) const {
    for (const auto& [device, bytes] : o_.budget)
      if (device == d) return bytes;
    return 0;
  }

  void find_dims() {
    for (NamedDimension d : a_.dims()) {
      const std::optional<i64> n = d.is_wildcard() ? std::nullopt : size_of_dim(a_, d, o_.shape);
      if (!n || *n < 2) continue;
      try {
        (void)a_.split(Tile{{d, 0, 1, *n}});
        dims_.push_back({d, *n});
      } catch (const SplitError& e) {
        reasons_.push_back(cat("not along '", d, "': ", e.what()));
      }
    }
    // Dims of both sides first: their tiles neither repeat the input nor are summed.
    auto sides = [&](NamedDimension d) {
      return int{contains(a_.ishape(), d)} + int{contains(a_.oshape(), d)};
    };
    std::stable_sort(dims_.begin(), dims_.end(),
                     [&](const Sized& x, const Sized& y) { return sides(x.dim) > sides(y.dim); });
  }

  void look_along(Cuts cuts, bool resident, const Devices& devices) {
    if (cuts == Cuts::one && devices.size() == 1) consider({{}, resident, devices});
    if (cuts == Cuts::several) return halve(resident, devices);
    for (const Sized& s : dims_) {
      if (cuts == Cuts::one) grow(s, {}, resident, devices);
      for (const Sized& other : dims_)
        if (cuts == Cuts::finest && !(other.dim == s.dim)) grow(s, other, resident, devices);
    }
  }

  // Smaller and smaller tiles along all dims: each time the dim is halved by which the fullest
  // device gains most, so that tiles of a product stay near to cubes while panels of both operands
  // stream. It starts where there are tiles enough for one to come and one to go: two would hold
  // all.
  void halve(bool resident, const Devices& devices) {
    if (dims_.size() < 2) return;
    const std::size_t found = good_.size();
    std::vector<i64> chunks;
    for (const Sized& s : dims_) chunks.push_back((s.size + 3) / 4);
    for (std::optional<std::size_t> next = 0; next;) {
      if (!look_at(chunks, resident, devices) || good_.size() > found) return;
      next.reset();
      i64 least = 0;
      for (std::size_t k = 0; k < dims_.size(); ++k) {
        if (chunks[k] == 1) continue;
        std::vector<i64> smaller = chunks;
        smaller[k] = (chunks[k] + 1) / 2;
        const std::optional<i64> bytes = look_at(smaller, resident, devices);
        if (good_.size() > found) return;
        if (!bytes || (next && *bytes >= least)) continue;
        next = k;
        least = *bytes;
      }
      if (next) chunks[*next] = (chunks[*next] + 1) / 2;
    }
  }

  // Tiles of these sizes: what the fullest device holds; nothing where they fit, are too many or
  // cannot be planned.
  std::optional<i64> look_at(const std::vector<i64>& chunks, bool resident,
                             const Devices& devices) {
    Way way{{}, resident, devices};
    i64 count = 1;
    for (std::size_t k = 0; k < dims_.size(); ++k) {
      if (chunks[k] == dims_[k].size) continue;
      way.sizes.emplace_back(dims_[k].dim, chunks[k]);
      count *= (dims_[k].size + chunks[k] - 1) / chunks[k];
    }
    if (count > 1024) {
      too_many_ = true;
      return std::nullopt;
    }
    if (seen_.insert(text_of(way)).second) (void)consider(way);
    return fullest(way);
  }

  // What the fullest of the devices that compute holds; nothing for a way that could not be
  // planned.
  std::optional<i64> fullest(const Way& way) const {
    const std::string text = text_of(way);
    for (const Looked& l : bad_) {
      if (text_of(l.way) != text) continue;
      i64 most = 0;
      for (const DeviceBytes& m : l.forecast.memory)
        if (std::find(way.devices.begin(), way.devices.end(), m.device) != way.devices.end())
          most = std::max(most, m.total());
      return most;
    }
    return std::nullopt;
  }

  // More and more tiles along one dim, until they fit.
  void grow(const Sized& s, const std::optional<Sized>& single, bool resident,
            const Devices& devices) {
    i64 tiles = std::max<i64>(2, static_cast<i64>(devices.size()));
    for (i64 last = 0;; tiles *= 2) {
      const i64 chunk = std::max<i64>(1, (s.size + tiles - 1) / tiles);
      if (chunk == last) return;
      last = chunk;
      Way way{{{s.dim, chunk}}, resident, devices};
      if (single)
        way.sizes.insert(place(single->dim) < place(s.dim) ? way.sizes.begin() : way.sizes.end(),
                         {single->dim, 1});
      if (!seen_.insert(text_of(way)).second) continue;  // the other one grew before
      const i64 count = (s.size + chunk - 1) / chunk * (single ? single->size : 1);
      if (count > (single ? 1024 : 4096)) {
        reasons_.push_back(cat(text_of(way), ": ", count, " tiles are too many to plan"));
        too_many_ = true;
        return;
      }
      if (consider(way)) return;
    }
  }

  std::size_t place(NamedDimension d) const {
    std::size_t i = 0;
    while (!(dims_[i].dim == d)) ++i;
    return i;
  }

  std::vector<BatchSpec> specs_of(const Way& w) const {
    if (w.sizes.empty() && w.devices.front() == o_.device) return {};
    std::vector<RankDevice> places(w.devices.begin(), w.devices.end());
    return {BatchSpec{.batch_sizes = w.sizes,
                      .device_matrix = DeviceMatrix(std::move(places)),
                      .base_device = RankDevice(o_.device),
                      .resident = w.resident}};
  }

  Plan plan_of(const NamedLinop& op) const {
    return op.plan({.shape = o_.shape, .dtype = o_.dtype, .device = o_.device});
  }

  FitForecast forecast_of(const NamedLinop& op,
                          const std::vector<std::pair<Device, i64>>& arrays) const {
    const Plan plan = plan_of(op);
    FitForecast f;
    auto entry = [&](Device d) -> DeviceBytes& {
      for (DeviceBytes& m : f.memory)
        if (m.device == d) return m;
      f.memory.push_back({.device = d, .budget = budget_of(d)});
      return f.memory.back();
    };
    entry(o_.device).data = count_of(o_.shape) * size_of(o_.dtype) +
                            count_of(out_shape_) * size_of(a_.output_dtype(o_.dtype));
    for (const auto& [d, bytes] : arrays) entry(d).arrays += bytes;
    for (const auto& [d, bytes] : plan.workspace()) entry(d).workspace += bytes;
    for (const auto& [d, bytes] : formed(plan, op)) entry(d).workspace += bytes;
    const Forecast times = tessera::forecast(plan, machine_);
    f.seconds = times.seconds;
    f.transfers = times.transfers;
    return f;
  }

  // What making the plan leaves on devices: constants that are no arrays of the operator, such as
  // weights that were multiplied.
  static std::vector<std::pair<Device, i64>> formed(const Plan& plan, const NamedLinop& op) {
    std::vector<std::uintptr_t> own;
    for (const Array& a : op.arrays()) own.push_back(address(a));
    std::sort(own.begin(), own.end());
    std::vector<std::pair<Device, i64>> all;
    for (const Slot& s : plan.slots())
      if (s.kind == SlotKind::constant &&
          !std::binary_search(own.begin(), own.end(), address(s.constant)))
        all.emplace_back(s.device, s.constant.storage().bytes());
    return all;
  }
  static std::uintptr_t address(const Array& a) {
    return reinterpret_cast<std::uintptr_t>(a.storage().data());
  }

  // What the tiles of each device hold there, and what stays on the base.
  FitForecast look(const Way& w) const {
    const std::vector<BatchSpec> specs = specs_of(w);
    if (specs.empty()) return forecast_of(a_, bytes_by_device(a_));
    std::vector<std::pair<Device, std::vector<Array>>> held;
    auto holds = [&](Device d, const NamedLinop& tile) {
      auto it = std::find_if(held.begin(), held.end(), [&](const auto& h) { return h.first == d; });
      if (it == held.end()) it = held.insert(it, {d, {}});
      for (const Array& array : tile.arrays()) it->second.push_back(array);
    };
    const NamedLinop sketch = batched_with(
        a_, specs, o_.shape, [&](const NamedLinop& tile, Device d, bool resident) -> NamedLinop {
          if (!resident) return Fetched{tile, d};
          if (tile.device().value_or(d) == d) return tile;
          holds(d, tile);
          return Assumed{tile, d};
        });
    std::vector<std::pair<Device, i64>> arrays;
    arrays.reserve(held.size() + 1);
    for (const auto& [d, all] : held) arrays.emplace_back(d, bytes_together(all));
    const i64 own = a_.device() ? bytes_together(a_.arrays()) : 0;
    if (own > 0) arrays.emplace_back(*a_.device(), own);
    return forecast_of(sketch, arrays);
  }

  static bool fits(const FitForecast& f) {
    return std::all_of(f.memory.begin(), f.memory.end(),
                       [](const DeviceBytes& m) { return m.budget == 0 || m.total() <= m.budget; });
  }

  static std::string text_of(const Way& w) {
    return cat(w.sizes.empty() ? "whole" : cat("tiles of ", to_text(w.sizes)), " on ",
               join(w.devices), w.resident ? "" : ", arrays fetched by each run");
  }

  bool consider(const Way& w) {
    FitForecast f;
    try {
      f = look(w);
    } catch (const SplitError& e) {
      reasons_.push_back(cat(text_of(w), ": ", e.what()));
      if (!refusal_) refusal_ = e.what();
      return true;  // smaller tiles will not help
    }
    planned_ = true;
    bool enough = fits(f);
    const bool placed = enough && exact_;
    if (placed) {
      try {
        f = fitted(w).forecast;
        enough = fits(f);
      } catch (const OutOfMemory& e) {
        reasons_.push_back(cat(text_of(w), ": ", e.what()));
        return false;
      }
    }
    std::vector<std::string> held;
    for (const DeviceBytes& m : f.memory)
      if (m.budget > 0)
        held.push_back(cat(bytes_text(m.total()), m.total() > m.budget ? " > " : " of ",
                           bytes_text(m.budget), " on ", m.device));
    reasons_.push_back(cat(text_of(w), ": ", enough ? "fits, " : "too large, ", join(held, ", "),
                           fmt::format(", {:.3g} ms", f.seconds * 1e3)));
    (enough ? good_ : bad_).push_back({w, std::move(f), placed});
    return enough;
  }

  // The operator cut and placed this way, with its own forecast.
  Fitted fitted(const Way& w) const {
    const std::vector<BatchSpec> specs = specs_of(w);
    const NamedLinop op = specs.empty() ? a_ : create_batched_linop(a_, specs, o_.shape);
    std::vector<std::pair<Device, i64>> arrays = bytes_by_device(op);
    // The original keeps its own arrays, whether or not tiles have copies elsewhere.
    if (a_.device() && w.resident && !specs.empty() &&
        std::none_of(arrays.begin(), arrays.end(),
                     [&](const auto& p) { return p.first == *a_.device(); }))
      arrays.emplace_back(*a_.device(), bytes_together(a_.arrays()));
    return {{{op}}, specs, forecast_of(op, arrays)};
  }

  // The fastest of those that fit, placed; the next when the device has less than it was thought.
  std::optional<Fitted> settle() {
    std::stable_sort(good_.begin(), good_.end(), [](const Looked& x, const Looked& y) {
      return x.forecast.seconds < y.forecast.seconds;
    });
    for (const Looked& l : good_) {
      try {
        Fitted f = fitted(l.way);
        if (!fits(f.forecast)) {
          misled_ = true;
          bad_.push_back({l.way, std::move(f.forecast), true});
          continue;
        }
        reasons_.push_back(cat("chosen: ", text_of(l.way)));
        f.reasons = reasons_;
        return f;
      } catch (const OutOfMemory& e) {
        reasons_.push_back(cat(text_of(l.way), ": ", e.what()));
      }
    }
    good_.clear();
    return std::nullopt;
  }

  // By how much it is too large: on the worst device, then in all. What another way needs less of
  // comes first, so that with one byte less no way is left.
  static std::pair<i64, i64> excess(const FitForecast& f) {
    i64 worst = 0, sum = 0;
    for (const DeviceBytes& m : f.memory)
      if (m.budget > 0 && m.total() > m.budget) {
        worst = std::max(worst, m.total() - m.budget);
        sum += m.total() - m.budget;
      }
    return {worst, sum};
  }

  static bool nearer(const Looked& x, const Looked& y) {
    return excess(x.forecast) < excess(y.forecast);
  }

  // Places the way that is nearest to fitting, until that is one whose forecast is of what is
  // really there: what is offered is enough. One that takes less than its sketch may do after all.
  std::optional<Fitted> placed_nearest() {
    while (!bad_.empty()) {
      Looked& l = *std::min_element(bad_.begin(), bad_.end(), nearer);
      if (l.placed) return std::nullopt;
      l.placed = true;
      try {
        Fitted f = fitted(l.way);
        l.forecast = f.forecast;
        if (!fits(f.forecast)) continue;
        reasons_.push_back(cat("chosen: ", text_of(l.way)));
        f.reasons = reasons_;
        return f;
      } catch (const OutOfMemory&) {
        return std::nullopt;  // the device itself is too full to try
      }
    }
    return std::nullopt;
  }

  [[noreturn]] void refuse() const {
    require<SplitError>(planned_ || !refusal_, fitting, ": ", a_, " is not for ", join(devices_),
                        ": ", refusal_.value_or(""));
    require<OutOfMemory>(!bad_.empty(), fitting, ": ", a_, " fits on none of ", join(devices_),
                         ": ", join(reasons_, "; "));
    const Looked& nearest = *std::min_element(bad_.begin(), bad_.end(), nearer);
    std::vector<std::string> held, enough;
    for (const DeviceBytes& m : nearest.forecast.memory) {
      if (m.budget == 0 || m.total() <= m.budget) continue;
      held.push_back(cat(m.device, " holds ", m.total(), " bytes (", largest(nearest.way, m),
                         "), its budget is ", m.budget));
      enough.push_back(cat(m.total(), " bytes on ", m.device));
    }
    throw OutOfMemory(cat(fitting, ": ", a_, " does not fit: ", text_of(nearest.way), ": ",
                          join(held, ", "), "; the smallest budget that would do is ",
                          join(enough, " and "), too_many_ ? ", in tiles few enough to plan" : ""));
  }

  // Which of its arrays takes most.
  std::string largest(const Way& w, const DeviceBytes& m) const {
    i64 bytes = 0;
    std::string text = "nothing";
    auto offer = [&](i64 n, const std::string& what) {
      if (n > bytes) {
        bytes = n;
        text = cat(bytes_text(n), " for ", what);
      }
    };
    if (m.device == o_.device) {
      offer(count_of(o_.shape) * size_of(o_.dtype), cat("the input ", o_.shape));
      offer(count_of(out_shape_) * size_of(a_.output_dtype(o_.dtype)),
            cat("the output ", out_shape_));
    }
    if (m.arrays > 0) {
      const std::vector<Array> own = a_.arrays();
      const auto most =
          std::max_element(own.begin(), own.end(),
                           [](const Array& x, const Array& y) { return x.bytes() < y.bytes(); });
      offer(m.arrays, cat("the operator's array ", most->shape(),
                          own.size() > 1 ? cat(" with ", own.size() - 1, " more") : ""));
    }
    const std::vector<BatchSpec> specs = specs_of(w);
    const Plan plan = plan_of(
        specs.empty()
            ? a_
            : batched_with(
                  a_, specs, o_.shape, [](const NamedLinop& tile, Device d, bool resident) {
                    return resident ? NamedLinop(Assumed{tile, d}) : NamedLinop(Fetched{tile, d});
                  }));
    for (const Slot& s : plan.slots())
      if (s.kind == SlotKind::temporary && s.device == m.device && s.first >= 0)
        offer(s.bytes, cat("a temporary of ", s.label));
    return text;
  }

  const NamedLinop& a_;
  const FitOptions& o_;
  Machine machine_;
  Devices devices_;
  std::vector<Devices> choices_;
  Shape out_shape_;
  std::vector<Sized> dims_;
  std::vector<Looked> good_, bad_;
  std::vector<std::string> reasons_;
  std::set<std::string> seen_;
  bool too_many_ = false;               // some ways have too many tiles to be looked at
  bool planned_ = false;                // some could be looked at
  bool misled_ = false;                 // some took more when placed than their sketch
  bool exact_ = false;                  // place what fits at once
  std::optional<std::string> refusal_;  // why the first that could not
};

}  // namespace

Fitted fit(const NamedLinop& a, const FitOptions& options) { return Search(a, options).best(); }

void Fitted::apply(Recorder& r, const View& x, const View& y) const {
  for (const std::string& why : reasons) r.note(why);
  a.record(r, x, y);
}

std::string Fitted::details() const {
  std::vector<std::string> held;
  for (const DeviceBytes& m : forecast.memory)
    held.push_back(cat(bytes_text(m.total()), " on ", m.device));
  return join(held, ", ");
}

std::string Fitted::explain() const {
  std::string text = cat(a, "\n");
  for (const DeviceBytes& m : forecast.memory)
    text += cat("  ", m.device, ": ", m.total(), " bytes (arrays ", m.arrays, ", workspace ",
                m.workspace, ", input and output ", m.data, ")",
                m.budget ? cat(" of ", m.budget) : "", "\n");
  for (const LinkBytes& l : forecast.transfers)
    text += cat("  ", l.from, " -> ", l.to, ": ", bytes_text(l.bytes), " a run\n");
  text += fmt::format("  forecast: {:.3g} ms a run\n", forecast.seconds * 1e3);
  for (const std::string& r : reasons) text += cat("  ", r, "\n");
  return text;
}

}  // namespace tessera
