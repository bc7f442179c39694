#include "lib/prove/counterexample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <unordered_map>

#include "lib/prove/side_evaluator.h"
#include "lib/prove/smt_model.h"
#include "lib/uop/graph.h"
#include "lib/validate/reference_sample.h"

namespace tgc {
namespace {

using Point = SideEvaluator::Point;
using PointInput = SideEvaluator::PointInput;

constexpr size_t kMostPoints = 2048, kFewPoints = 512;

std::vector<Const> sample_integers(const PointInput& in) {
  std::vector<Int> all;
  for (int v : {0, 1,  -1, 2,  -2, 3,   -3, 4,  -4, 5,  -5, 6,   7,   -7,
                8, -8, 9,  10, 15, 16, -16, 31, 32, 33, 63, 64, 100, -100})
    all.push_back(v);
  for (const Int& end : {in.min_value, in.max_value})
    for (int by : {0, 1, -1, 2, -2}) all.push_back(end + by);
  all.push_back((in.min_value + in.max_value) >> 1);
  for (uint32_t bits : {7, 8, 15, 16, 31, 32})
    for (int by : {0, -1}) all.push_back(Int::pow2(bits) + by), all.push_back(-Int::pow2(bits) + by);
  std::vector<Const> out;
  for (const Int& v : all) {
    const bool is_there = std::ranges::any_of(out, [&](Const c) { return c.as_int() == v; });
    if (v >= in.min_value && v <= in.max_value && !is_there) out.push_back(v);
  }
  return out;
}

std::vector<Const> usual_values(const PointInput& in) {
  if (dtypes::is_bool(in.dtype)) return {Const(false), Const(true)};
  if (dtypes::is_int(in.dtype)) return sample_integers(in);
  std::vector<Const> out;
  for (double v : {1.0, 2.0,  0.0, -1.0, 0.5, 3.0,  -2.0, -0.5, 1.5,  4.0,   -3.0, 0.25,
                   -1.5, 8.0, -4.0, 5.0, 7.0, 0.75, 10.0, -8.0, 16.0, 100.0, -100.0})
    out.push_back(v);
  return out;
}

// Returns the smallest and the largest positive number of a float dtype of at least 16 bits.
std::pair<double, double> positive_float_range(DType d) {
  return d.is(Scalar::Float16)    ? std::pair(0x1p-24, 65504.0)
         : d.is(Scalar::Float64)  ? std::pair(0x1p-1074, std::numeric_limits<double>::max())
         : d.is(Scalar::BFloat16) ? std::pair(0x1p-133, 0x1.fep127)
                                  : std::pair(0x1p-149, double(std::numeric_limits<float>::max()));
}

std::vector<Const> special_values(const PointInput& in) {
  if (!dtypes::is_float(in.dtype)) {
    std::vector<Const> out = usual_values(in);
    out.resize(std::min<size_t>(out.size(), 6));
    return out;
  }
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  auto [least, most] = positive_float_range(in.dtype);
  // 16.0 to -1074.0 are exponents near the limits of dtypes
  return {-0.0,         0.0,  kInf,  -kInf, kNan,  1.0,    -1.0,   most,   -most,  least,   -least, 0.5, 2.0,
          std::sqrt(most) * 2, least * 1024, 16.0, -24.0, 127.0, 128.0, -126.0, -149.0, 1023.0, 1024.0, -1022.0,
          -1074.0, 4096.5, 1e5, -3e7};
}

// Returns combinations of one value of values[k] for each input k: all, ordered by the sum of the indices of their
// values, or `most_points` if they are many: those of the first few values of each input, and random ones.
std::vector<Point> sample_combinations(const std::vector<std::vector<Const>>& values, size_t most_points) {
  std::vector<Point> out;
  if (values.empty()) return {Point()};
  const size_t n = values.size();
  auto first = [&](size_t most) {  // number of combinations of the first `most` values of each input
    double product = 1;
    for (const auto& v : values) product *= double(std::min(v.size(), most));
    return product;
  };
  size_t side = 1, longest = 0;
  for (const auto& v : values) longest = std::max(longest, v.size());
  while (side < longest && first(side + 1) <= double(most_points) * 3 / 4) side++;
  std::vector<std::pair<size_t, std::vector<size_t>>> chosen;  // sums of indices, and the indices
  std::vector<size_t> at(n, 0);
  for (bool more = true; more;) {
    size_t sum = 0;
    for (size_t i : at) sum += i;
    chosen.emplace_back(sum, at);
    more = false;
    for (size_t k = n; k-- > 0 && !more;) {
      more = ++at[k] < std::min(values[k].size(), side);
      if (!more) at[k] = 0;
    }
  }
  std::ranges::stable_sort(chosen, {}, &std::pair<size_t, std::vector<size_t>>::first);
  for (auto& [sum, indices] : chosen) {
    Point p;
    for (size_t k = 0; k < n; k++) p.push_back(values[k][indices[k]]);
    out.push_back(std::move(p));
  }
  std::mt19937_64 random(1);
  while (side < longest && out.size() < most_points) {
    Point p;
    for (size_t k = 0; k < n; k++) p.push_back(values[k][random() % values[k].size()]);
    out.push_back(std::move(p));
  }
  return out;
}

// Adds `count` points of random numbers.
void add_random_points(std::vector<Point>& points, std::span<const PointInput> inputs, size_t count) {
  std::mt19937_64 random(2);
  for (size_t i = 0; i < count; i++) {
    Point p;
    for (const PointInput& in : inputs) {
      uint64_t r = random();
      if (dtypes::is_bool(in.dtype)) p.push_back(Const(bool(r & 1)));
      else if (dtypes::is_float(in.dtype)) p.push_back(Const(double(int64_t(r % 257) - 128) / 8));
      else {
        Int v = Int(int64_t(random() >> (1 + r % 63)));
        if (r & 1ull << 40) v = -v;
        p.push_back(std::clamp(v, in.min_value, in.max_value));
      }
    }
    points.push_back(std::move(p));
  }
}

// Adds points in which one integer is next to or equal to a constant of the sides or its negative, and all other values
// are those of an earlier point.
void add_points_near_constants(std::vector<Point>& points, std::span<const PointInput> inputs,
                               const ComparedValues& values) {
  if (points.empty()) return;
  constexpr size_t kMostNear = 192;
  std::set<Int> near;
  for (UOp side : {values.before, values.after})
    for (UOp u : toposort(side)) {
      if (!u.is_const() || u.is_invalid() || near.size() > kMostNear) continue;
      const Const c = u.arg().to_const();
      const double number = c.is_float() ? c.as_float() : 0;
      if (c.is_bool() || !std::isfinite(number) || std::fabs(number) > 0x1p62) continue;
      const Int middle = c.to_int();
      for (int by : {0, -1, 1}) near.insert(middle + by), near.insert(-middle + by);
    }
  const size_t earlier = points.size();
  for (size_t i = 0; i < inputs.size(); i++) {
    if (!dtypes::is_int(inputs[i].dtype)) continue;
    for (const Int& v : near) {
      if (v < inputs[i].min_value || v > inputs[i].max_value) continue;
      points.push_back(points[points.size() * 7919 % earlier]);
      points.back()[i] = v;
    }
  }
}

// Adds points in which one float has any exponent or is an edge case, and all others are values of an earlier point.
void add_points_of_all_exponents(std::vector<Point>& points, std::span<const PointInput> inputs) {
  if (points.empty()) return;
  const size_t earlier = points.size();
  for (size_t i = 0; i < inputs.size(); i++) {
    const DType d = inputs[i].dtype;
    if (!dtypes::is_float(d) || d.itemsize() < 2) continue;
    auto add = [&](Const v) {
      Point p = points[points.size() * 7919 % earlier];
      p[i] = v, points.push_back(std::move(p));
    };
    const int digits = d.is(Scalar::Float64) ? 52 : d.is(Scalar::Float32) ? 23 : d.is(Scalar::Float16) ? 10 : 7;
    const int most = d.is(Scalar::Float64) ? 1023 : d.is(Scalar::Float16) ? 15 : 127;
    for (int e = -most - digits; e <= most; e++)
      for (double m : {1.0, 1.3125, -1.6875}) add(Const(std::ldexp(m, e)));
    for (int k = 0; k < 2048; k += k < 200 || k > 1000 ? 1 : 10) add(Const(k + 0.5)), add(Const(-k - 0.5));
    for (int k = 1; k <= 200; k++) add(Const(k * 0.78539816339744830962));
    for (int places : {7, 10, 23})
      for (double by : {0x1p-30, -0x1p-30, 0x1p-52}) add(Const(1 + std::ldexp(1, -places - 1) + by));
    const Int infinity = Int::pow2(uint32_t(d.bitsize() - 1)) - Int::pow2(uint32_t(digits));
    for (int k = 0; k < digits; k++)
      for (int lowest : {0, 1}) add(Const(infinity + Int::pow2(uint32_t(k)) + Int(k ? lowest : 0)));
  }
}

std::optional<Counterexample> search_points(SideEvaluator& sides, std::span<const Point> points,
                                            std::optional<Counterexample::Kind> kind) {
  for (size_t i = 0; i < points.size(); i += SideEvaluator::kPointsPerRun) {
    auto part = points.subspan(i, std::min(SideEvaluator::kPointsPerRun, points.size() - i));
    if (auto found = sides.first_difference(part, kind)) return found;
  }
  return std::nullopt;
}

template <class Values>
std::vector<Point> points_of_inputs(const SideEvaluator& sides, Values values, size_t most = kMostPoints) {
  std::vector<std::vector<Const>> all;
  for (const PointInput& in : sides.inputs()) all.push_back(values(in));
  return sample_combinations(all, most);
}

}  // namespace

std::optional<Counterexample> find_counterexample(const ExprIsolator& isolator, const ComparedValues& values,
                                                  uint64_t rlimit) {
  using Kind = Counterexample::Kind;
  auto found = catch_failures([&]() -> std::optional<Counterexample> {
    SideEvaluator sides(isolator, values);
    if (!sides.can_run()) return std::nullopt;
    std::vector<Point> points = points_of_inputs(sides, usual_values, rlimit ? kMostPoints : kFewPoints);
    if (!sides.inputs().empty()) add_random_points(points, sides.inputs(), SideEvaluator::kPointsPerRun);
    add_points_near_constants(points, sides.inputs(), values);
    // add large numbers, but only for a sine: for other functions, they would only enlarge rounding errors
    if (values.before.is(Op::SIN) && sides.inputs().size() == 1 && dtypes::is_float(sides.inputs()[0].dtype))
      for (int i = 0; i < 200; i++) points.push_back({Const(1000.0 + 131 * i)});
    if (auto out = search_points(sides, points, Kind::Value)) return out;
    if (!rlimit || sides.inputs().empty() || sides.has_random_memories()) return std::nullopt;
    std::optional<Counterexample> out;
    for_each_smt_model(isolator, values, sides.inputs(), rlimit, [&](const Point& p) {
      out = sides.first_difference({&p, 1}, Kind::Value);
      return !out;
    });
    return out;
  });
  return found ? *found : std::nullopt;
}

std::optional<Counterexample> find_counterexample(SideIsolator& isolator, const RewriteSides& sides, uint64_t rlimit) {
  const SideExpressions e = isolator.expressions_of(sides);
  if (e.kind != SideExpressions::Kind::Values) return std::nullopt;
  for (const ComparedValues& v : e.compared_values)
    if (auto found = v.is_bounds_comparison ? std::nullopt : find_counterexample(isolator.isolator(), v, rlimit))
      return found;
  return std::nullopt;
}

std::optional<Counterexample> find_special_float_witness(const ExprIsolator& isolator, const ComparedValues& values) {
  auto found = catch_failures([&]() -> std::optional<Counterexample> {
    SideEvaluator sides(isolator, values);
    if (!sides.can_run()) return std::nullopt;
    const std::vector<Point> points = points_of_inputs(sides, special_values);
    if (auto out = search_points(sides, points, std::nullopt)) return out;
    for (size_t i = 0; i < points.size(); i += SideEvaluator::kPointsPerRun) {
      auto part = std::span(points).subspan(i, std::min(SideEvaluator::kPointsPerRun, points.size() - i));
      (void)sides.find_differences(part);
      for (size_t k = 0; k < part.size(); k++)
        if (sides.relative_error(k, 0) > 0.1) return sides.counterexample_at(part, k, Counterexample::Kind::Special);
    }
    return std::nullopt;
  });
  return found ? *found : std::nullopt;
}

std::optional<Counterexample> find_special_float_witness(SideIsolator& isolator, const RewriteSides& sides) {
  const SideExpressions e = isolator.expressions_of(sides);
  if (e.kind != SideExpressions::Kind::Values) return std::nullopt;
  for (const ComparedValues& v : e.compared_values)
    if (auto found = v.is_bounds_comparison ? std::nullopt : find_special_float_witness(isolator.isolator(), v))
      return found;
  return std::nullopt;
}

std::optional<Counterexample> find_larger_error(const ExprIsolator& isolator, const ComparedValues& values,
                                                const ComparedValues* right) {
  auto found = catch_failures([&]() -> std::optional<Counterexample> {
    SideEvaluator sides(isolator, values), other(isolator, right ? *right : values);
    auto are_same = [](const PointInput& a, const PointInput& b) { return a.load == b.load; };
    const bool can_run =
        sides.can_run() && other.can_run() && !sides.has_random_memories() && !other.has_random_memories();
    if (!can_run || !std::ranges::equal(sides.inputs(), other.inputs(), are_same)) return std::nullopt;
    std::vector<Point> points = points_of_inputs(sides, special_values);
    for (Point& p : points_of_inputs(sides, usual_values)) points.push_back(std::move(p));
    if (!sides.inputs().empty()) add_random_points(points, sides.inputs(), SideEvaluator::kPointsPerRun);
    add_points_of_all_exponents(points, sides.inputs());
    const double tiny = 64 * positive_float_range(values.before.dtype()).first;
    for (size_t i = 0; i < points.size(); i += SideEvaluator::kPointsPerRun) {
      auto part = std::span(points).subspan(i, std::min(SideEvaluator::kPointsPerRun, points.size() - i));
      auto differ = sides.find_differences(part),
           differ_right = right ? other.find_differences(part) : decltype(differ)();
      for (size_t k = 0; k < part.size(); k++) {
        if (right && differ_right[k]) continue;
        if (differ[k]) return sides.counterexample_at(part, k, *differ[k]);
        const double allowed = right ? 100 * std::max(other.relative_error(k), sides.rounding_error()) : 0;
        // tiny numbers that clearly differ, although their difference is small
        const bool is_tiny = right && sides.relative_error(k, tiny) > 0.1 && other.relative_error(k, tiny) < 0.01;
        if (sides.relative_error(k, right ? -1 : 0) > allowed || is_tiny)
          return sides.counterexample_at(part, k, Counterexample::Kind::Value);
      }
    }
    return std::nullopt;
  });
  return found ? *found : std::nullopt;
}

std::optional<double> largest_error(SideIsolator& isolator, const RewriteSides& sides) {
  constexpr double kMostWork = 5e5;
  constexpr size_t kFewestPoints = 8;
  const SideExpressions e = isolator.expressions_of(sides);
  if (e.kind != SideExpressions::Kind::Values && e.kind != SideExpressions::Kind::Stores) return std::nullopt;
  std::optional<double> out;
  for (const ComparedValues& v : e.compared_values) {
    if (v.is_bounds_comparison || !dtypes::is_float(v.before.dtype())) continue;
    const double work = (work_of(v.before) + work_of(v.after)) / ExprIsolator::kPointsPerRun;
    const size_t count = size_t(std::min(kMostWork / work, double(SideEvaluator::kPointsPerRun)));
    if (count < kFewestPoints) continue;
    auto found = catch_failures([&]() -> std::optional<double> {
      SideEvaluator both(isolator.isolator(), v, count);
      if (!both.can_run()) return std::nullopt;
      std::vector<Point> points;
      add_random_points(points, both.inputs(), count);
      std::mt19937_64 random(3);
      for (Point& p : points)  // use floats with random last digits, so that operations round
        for (Const& c : p)
          if (c.is_float()) c = Const(double(int64_t(random() >> 20) - (int64_t(1) << 43)) * 0x1p-40);
      (void)both.find_differences(points);
      double most = 0;
      for (size_t i = 0; i < points.size(); i++) most = std::max(most, both.units_in_last_place(i));
      return most;
    });
    if (found && *found) out = std::max(out.value_or(0), **found);
  }
  return out;
}

}  // namespace tgc
