// SPDX-License-Identifier: Apache-2.0
#include "tessera/compute/cost_model.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr std::array<std::string_view, operation_count> operation_names{
    "elementwise", "reduce",   "matvec", "matmul", "bit_matmul", "solve",
    "inverse",     "cholesky", "qr",     "eigh",   "eig",        "svd"};

// Behind the name of the operation, in the order of Pattern.
constexpr std::array<std::string_view, 4> pattern_words{"", "tall", "stack", "columns"};

std::string_view word_of(Pattern p) { return pattern_words[static_cast<std::size_t>(p)]; }

// The operation that has curves of this pattern beside the plain one.
Operation owner_of(Pattern p) {
  return p == Pattern::columns ? Operation::solve : Operation::matmul;
}

constexpr std::string_view first_line = "tessera costs 6";

bool sound(double x) { return std::isfinite(x) && x > 0; }

double number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require<IoError>(error == std::errc{} && end == text.data() + text.size() && sound(value),
                   "costs: '", text, "' is not a positive number");
  return value;
}

std::string_view next_word(std::string_view& line) {
  const std::size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  line.remove_prefix(space == line.npos ? line.size() : space + 1);
  return word;
}

constexpr double beyond_caches = 64e6;  // bytes: more than the caches of a host hold

// Whether the matrices of a stack wait for one another there. GPUs take small ones (a warp or a
// block for each) and Hermitian eigenvalues all at once.
bool one_by_one(Device device, const Workload& t) {
  if (device == cpu || t.op < Operation::solve || t.op == Operation::eigh) return false;
  const i64 small = t.op == Operation::cholesky ? 32 : 64;
  return t.m > small || t.n > small || t.op == Operation::eig;
}

bool memory_decides(Operation op) {
  return op == Operation::elementwise || op == Operation::reduce || op == Operation::matvec;
}

}  // namespace

std::string_view name(Operation op) { return operation_names[static_cast<std::size_t>(op)]; }

std::optional<Operation> parse_operation(std::string_view text) {
  const auto found = std::find(operation_names.begin(), operation_names.end(), text);
  if (found == operation_names.end()) return std::nullopt;
  return static_cast<Operation>(found - operation_names.begin());
}

double work(const Workload& t) {
  const double m = static_cast<double>(t.m), n = static_cast<double>(t.n);
  const double k = static_cast<double>(t.k), batch = static_cast<double>(t.batch);
  switch (t.op) {
    case Operation::elementwise:
    case Operation::reduce: return batch * m;
    case Operation::matvec: return batch * m * k;
    case Operation::matmul:
    case Operation::bit_matmul: return batch * 2 * m * n * k;
    case Operation::solve:
      return batch * (t.triangular ? m * m * n : 2.0 / 3 * m * m * m + 2 * m * m * n);
    case Operation::inverse: return batch * (t.triangular ? 1.0 / 3 : 2) * m * m * m;
    case Operation::cholesky: return batch / 3 * m * m * m;
    case Operation::qr: return batch * 2 * m * n * std::min(m, n);
    case Operation::eigh: return batch * 9 * m * m * m;
    case Operation::eig: return batch * 25 * m * m * m;
    case Operation::svd: return batch * 14 * m * n * std::min(m, n);
  }
  return 0;
}

double touched_bytes(const Workload& t) {
  const double m = static_cast<double>(t.m), n = static_cast<double>(t.n);
  const double k = static_cast<double>(t.k), batch = static_cast<double>(t.batch);
  const double size = static_cast<double>(size_of(t.dtype));
  switch (t.op) {
    case Operation::elementwise: return batch * 3 * m * size;
    case Operation::reduce: return batch * m * size;
    case Operation::matvec: return batch * (m * k + k + m) * size;
    case Operation::matmul: return batch * (m * k + k * n + m * n) * size;
    case Operation::bit_matmul: return batch * ((m * k + k * n) / 8 + 4 * m * n);
    case Operation::solve: return batch * (m * m + 2 * m * n) * size;
    case Operation::qr:
    case Operation::svd: return batch * 2 * m * n * size;
    default: return batch * 2 * m * m * size;
  }
}

double operand_bytes(const Workload& t) {
  const double m = static_cast<double>(t.m), n = static_cast<double>(t.n);
  const double batch = static_cast<double>(t.batch);
  const double size = static_cast<double>(size_of(t.dtype));
  switch (t.op) {
    case Operation::elementwise: return touched_bytes(t) - batch * m * size;
    case Operation::reduce: return touched_bytes(t);
    case Operation::matvec: return touched_bytes(t) - batch * m * size;
    case Operation::matmul:
    case Operation::solve: return touched_bytes(t) - batch * m * n * size;
    case Operation::bit_matmul: return touched_bytes(t) - batch * 4 * m * n;
    default: return touched_bytes(t) / 2;
  }
}

double tallness(const Workload& t) {
  if (t.op != Operation::matmul) return 0;
  const auto [least, most] = std::minmax({t.m, t.n, t.k});
  if (least == most) return 0;
  const double aspect = static_cast<double>(most) / static_cast<double>(std::max<i64>(least, 1));
  return std::clamp(std::log(aspect) / std::log(static_cast<double>(tall_aspect)), 0.0, 1.0);
}

Pattern pattern_of(const Workload& t) {
  if (t.op == Operation::solve && t.n > 1 && !t.triangular) return Pattern::columns;
  if (t.op != Operation::matmul) return Pattern::plain;
  if (t.batch > 1) return Pattern::stack;
  return tallness(t) > 0.5 ? Pattern::tall : Pattern::plain;
}

DType stand_in(Operation op, DType dtype) {
  if (op == Operation::bit_matmul) return DType::b1;
  if (op <= Operation::reduce && dtype == DType::c64) return DType::f64;
  if (op >= Operation::solve && dtype == DType::c64) return DType::c128;
  if (op == Operation::eig && !is_complex(dtype)) return DType::f64;
  if (dtype == DType::f16 || dtype == DType::bf16) return DType::f32;
  if (is_inexact(dtype)) return dtype;
  return memory_decides(op) && size_of(dtype) <= 4 ? DType::f32 : DType::f64;
}

void Curve::add(double work, double seconds) {
  require<ArgumentError>(sound(work) && sound(seconds), "cost curve: ", seconds, " s for work of ",
                         work, "; expected positive numbers");
  const auto at = std::lower_bound(points_.begin(), points_.end(), work,
                                   [](const Point& p, double w) { return p.work < w; });
  auto i = static_cast<std::size_t>(at - points_.begin());
  if (at != points_.end() && at->work == work)
    at->seconds = seconds;
  else
    points_.insert(at, {work, seconds});
  // Less work takes no longer: a point that says so was disturbed.
  for (i = std::min(i + 1, points_.size() - 1); i > 0; --i)
    points_[i - 1].seconds = std::min(points_[i - 1].seconds, points_[i].seconds);
}

double Curve::seconds(double work) const {
  require<ArgumentError>(!points_.empty(), "cost curve: no point was measured");
  const Point& last = points_.back();
  if (work >= last.work) {
    // Between the growth of the last stretch and that of the work, where it ends up.
    double growth = 1;
    if (points_.size() > 1) {
      const Point& before = points_[points_.size() - 2];
      growth = std::clamp(
          std::log(last.seconds / before.seconds) / std::log(last.work / before.work), 0.0, 1.0);
    }
    return last.seconds * std::pow(work / last.work, (1 + growth) / 2);
  }
  if (work <= points_.front().work) return points_.front().seconds;
  const auto right = std::upper_bound(points_.begin(), points_.end(), work,
                                      [](double w, const Point& p) { return w < p.work; });
  const auto left = right - 1;
  const double share = std::log(work / left->work) / std::log(right->work / left->work);
  return left->seconds * std::pow(right->seconds / left->seconds, share);
}

double CostModel::Known::seconds(double work, double tallness) const {
  const double square = plain->seconds(work);
  if (!tall || tallness == 0) return square;
  return square * std::pow(tall->seconds(work) / square, tallness);
}

double CostModel::Known::single_seconds(const Workload& one) const {
  if (!columns || pattern_of(one) != Pattern::columns) return seconds(work(one), tallness(one));
  Workload least = one, measured = one;
  least.n = 1;
  measured.n = system_columns;
  const double first = plain->seconds(work(least)),
               all = std::max(columns->seconds(work(measured)), first);
  // Below the smallest size that was measured calls take as long, right-hand sides do not.
  const double share = std::min(1.0, work(measured) / columns->points().front().work);
  return first + share * (all - first) * static_cast<double>(one.n - 1) / (system_columns - 1);
}

double CostModel::Known::stack_seconds(const Workload& problem) const {
  Workload one = problem, some = problem;
  one.batch = 1;
  some.batch = stack_length;
  const double shape = tallness(problem), single = seconds(work(one), shape),
               shaped = single / plain->seconds(work(one)),
               measured = std::max(shaped * stack->seconds(work(some)), single),
               longer = static_cast<double>(problem.batch) / static_cast<double>(stack_length);
  if (longer > 1) {
    const double as_many = longer * measured;
    return std::sqrt(as_many *
                     std::clamp(shaped * stack->seconds(work(problem)), measured, as_many));
  }
  const double share =
      std::log(static_cast<double>(problem.batch)) / std::log(static_cast<double>(stack_length));
  return single * std::pow(measured / single, share);
}

const Curve* CostModel::find(Device device, Operation op, DType dtype, Pattern pattern) const {
  for (const Row& r : rows_)
    if (r.device == device && r.op == op && r.dtype == dtype && r.pattern == pattern)
      return &r.curve;
  return nullptr;
}

Curve& CostModel::curve(Device device, Operation op, DType dtype, Pattern pattern) {
  for (Row& r : rows_)
    if (r.device == device && r.op == op && r.dtype == dtype && r.pattern == pattern)
      return r.curve;
  return rows_.emplace_back(Row{device, op, dtype, pattern, {}}).curve;
}

CostModel::Known CostModel::known(Device device, Operation op, DType dtype) const {
  const Curve* plain = find(device, op, dtype);
  if (!plain) plain = find(device, op, dtype = stand_in(op, dtype));
  if (op == Operation::solve)
    return {plain, nullptr, nullptr, find(device, op, dtype, Pattern::columns)};
  if (op != Operation::matmul) return {plain};
  return {plain, find(device, op, dtype, Pattern::tall), find(device, op, dtype, Pattern::stack)};
}

double CostModel::step_seconds(Device device) const {
  double least = std::numeric_limits<double>::infinity();
  for (const Row& r : rows_)
    if (r.device == device && r.op == Operation::elementwise && !r.curve.points().empty())
      least = std::min(least, r.curve.points().front().seconds);
  return std::isfinite(least) ? least : 0;
}

void CostModel::add(Device device, const Workload& problem, double seconds) {
  curve(device, problem.op, problem.dtype, pattern_of(problem)).add(work(problem), seconds);
}

void CostModel::set_memory_rate(Device device, double bytes_per_second) {
  require<ArgumentError>(sound(bytes_per_second), "cost model: ", bytes_per_second,
                         " bytes per second of ", device, "; expected a positive number");
  for (Memory& m : memories_)
    if (m.device == device) {
      m.bytes_per_second = bytes_per_second;
      return;
    }
  memories_.push_back({device, bytes_per_second});
}

std::optional<double> CostModel::seconds(Device device, const Workload& problem) const {
  const Known costs = known(device, problem.op, problem.dtype);
  if (!costs.plain) return std::nullopt;
  Workload one = problem;
  one.batch = 1;
  const double shape = tallness(problem), single = costs.single_seconds(one);
  double computed = static_cast<double>(problem.batch) * single;
  if (problem.batch > 1 && costs.stack)
    computed = std::min(costs.stack_seconds(problem), computed);
  else if (problem.batch > 1 && !one_by_one(device, problem))
    computed = std::min(std::max(costs.seconds(work(problem), shape), single), computed);
  if (problem.steps > 0) computed += problem.steps * step_seconds(device);
  const double bytes = touched_bytes(problem);
  if (bytes < beyond_caches) return computed;
  for (const Memory& m : memories_)
    if (m.device == device) return std::max(computed, bytes / m.bytes_per_second);
  return computed;
}

void CostModel::add_move(Device from, Device to, double bytes, double seconds) {
  for (Route& r : routes_)
    if (r.from == from && r.to == to) return r.curve.add(bytes, seconds);
  routes_.emplace_back(Route{from, to, {}}).curve.add(bytes, seconds);
}

std::optional<double> CostModel::move_seconds(Device from, Device to, double bytes) const {
  for (const Route& r : routes_)
    if (r.from == from && r.to == to) return r.curve.seconds(std::max(bytes, 1.0));
  return std::nullopt;
}

std::optional<double> CostModel::double_rate(Device device) const {
  const Curve* single = find(device, Operation::matmul, DType::f32);
  const Curve* twice = find(device, Operation::matmul, DType::f64);
  if (!single || !twice) return std::nullopt;
  const auto best = [](const Curve& c) {
    double rate = 0;
    for (const Curve::Point& p : c.points()) rate = std::max(rate, p.work / p.seconds);
    return rate;
  };
  return best(*twice) / best(*single);
}

bool CostModel::knows(Device device) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const Row& r) { return r.device == device; });
}

std::string CostModel::text() const {
  std::string out = cat(first_line, '\n');
  for (const Memory& m : memories_) out += cat(m.device, " memory ", m.bytes_per_second, '\n');
  for (const Route& r : routes_)
    for (const Curve::Point& p : r.curve.points())
      out += cat(r.from, " to ", r.to, ' ', p.work, ' ', p.seconds, '\n');
  for (const Row& r : rows_)
    for (const Curve::Point& p : r.curve.points())
      out += cat(r.device, ' ', name(r.op), ' ', word_of(r.pattern),
                 r.pattern == Pattern::plain ? "" : " ", name(r.dtype), ' ', p.work, ' ', p.seconds,
                 '\n');
  return out;
}

CostModel CostModel::parse(std::string_view text) {
  CostModel model;
  const auto next_line = [&] {
    const std::size_t end = text.find('\n');
    require<IoError>(end != text.npos, "costs: the text ends within a line");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
  };
  require<IoError>(next_line() == first_line, "costs: the text does not begin with '", first_line,
                   "'");
  while (!text.empty()) {
    std::string_view line = next_line();
    const Device device = Device::parse(next_word(line));
    const std::string_view what = next_word(line);
    if (what == "memory") {
      model.set_memory_rate(device, number(line));
      continue;
    }
    if (what == "to") {
      const Device to = Device::parse(next_word(line));
      const double bytes = number(next_word(line));
      model.add_move(device, to, bytes, number(line));
      continue;
    }
    const auto op = parse_operation(what);
    std::string_view word = next_word(line);
    Pattern pattern = Pattern::plain;
    for (const Pattern p : {Pattern::tall, Pattern::stack, Pattern::columns})
      if (word == word_of(p) && op == owner_of(p)) pattern = p;
    if (pattern != Pattern::plain) word = next_word(line);
    const auto dtype = parse_dtype(word);
    require<IoError>(op && dtype, "costs: '", what, "' is no operation with a dtype behind it");
    const double at = number(next_word(line));
    model.curve(device, *op, *dtype, pattern).add(at, number(line));
  }
  return model;
}

}  // namespace tessera
