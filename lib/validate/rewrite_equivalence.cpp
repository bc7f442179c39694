#include "lib/validate/rewrite_equivalence.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>
#include <unordered_map>

#include "lib/execute/execution.h"
#include "lib/runtime/random.h"
#include "lib/uop/render.h"
#include "lib/validate/side_expressions.h"

namespace tgc {
namespace {

constexpr int64_t kPointsPerRun = ExprIsolator::kPointsPerRun;
// Number of the DEFINE_GLOBAL for results of type double. kResultBufferNumber + 1 is that for results of type long.
constexpr int64_t kResultBufferNumber = ExprIsolator::kLeafArrayNumber - 2;

double tolerance(DType dtype) {
  switch (dtype.scalar_kind()) {
    case Scalar::Float64: return 1e-7;
    case Scalar::Float32: return 1e-3;
    case Scalar::Float16: return 3e-2;
    default: return 2e-1;
  }
}

std::map<int64_t, int64_t> array_sizes_by_number(const Arrays& arrays) {
  std::map<int64_t, int64_t> out;
  for (const NamedArray& a : arrays)
    if (a.name.starts_with("data")) out[std::stoll(a.name.substr(4))] = a.array.size();
  return out;
}

struct ComparedScalar {
  int64_t before, after;                        // slots of the two results in the array of doubles or of longs
  int64_t before_valid = -1, after_valid = -1;  // slots of bools that are false where a result is Invalid; -1: never
  bool is_float = false;
  DType dtype;
  bool has_only_bounds = false;
  double tolerance = 0;
  uint32_t memory = 0;      // for a store: node id of the memory to which it stores
};

// The pairs of numbers that decide whether two sides are equal; for a store, address and value of each element.
struct ComparedScalars {
  std::vector<ComparedScalar> parts = {};
  bool are_stores = false;
};

class EquivalenceEvaluator {
 public:
  EquivalenceEvaluator(Graph& graph, const Arrays& arrays, const VariableValues& variables, uint64_t seed)
      : graph_(graph), arrays_(arrays), variables_(variables), seed_(seed),
        side_isolator_(graph, array_sizes_by_number(arrays)) {
    double_buffer_ = graph.node(Op::DEFINE_GLOBAL, dtypes::float64.ptr(), {}, Arg(kResultBufferNumber));
    long_buffer_ = graph.node(Op::DEFINE_GLOBAL, dtypes::int64.ptr(), {}, Arg(kResultBufferNumber + 1));
  }

  std::vector<EquivalenceResult> run(std::span<const RewriteSides> pairs) {
    std::vector<EquivalenceResult> out(pairs.size());
    std::vector<ComparedScalars> common(pairs.size());
    for (size_t i = 0; i < pairs.size(); i++)
      switch (SideExpressions e = side_isolator_.expressions_of(pairs[i]); e.kind) {
        case SideExpressions::Kind::Same: out[i].kind = EquivalenceResult::Kind::Same; break;
        case SideExpressions::Kind::Unlike:
          out[i] = {.kind = EquivalenceResult::Kind::Unlike, .is_beyond_rounding = true};
          break;
        default:
          common[i].are_stores = e.kind == SideExpressions::Kind::Stores;
          for (const ComparedValues& v : e.compared_values) add_compared(common[i].parts, v, pairs[i].tolerance);
      }
    if (!stores_.empty()) evaluate();
    for (size_t i = 0; i < pairs.size(); i++)
      if (out[i].kind == EquivalenceResult::Kind::Open) out[i] = compare_results(pairs[i], common[i]);
    return out;
  }

 private:
  void add_compared(std::vector<ComparedScalar>& to, const ComparedValues& v, double tolerance) {
    bool is_float = dtypes::is_float(v.before.dtype());
    int64_t before = slot_of(v.before), after = slot_of(v.after);
    int64_t before_valid = v.before_valid ? slot_of(v.before_valid) : -1;
    int64_t after_valid = v.after_valid ? slot_of(v.after_valid) : -1;
    auto at = [](UOp v, int64_t slot, int64_t i) { return slot < 0 ? -1 : v.dtype().count() > 1 ? slot + i : slot; };
    for (int64_t i = 0; i < v.before.dtype().count(); i++)
      to.push_back({before + i, after + i, at(v.before_valid, before_valid, i), at(v.after_valid, after_valid, i),
                    is_float, v.before.dtype().scalar(), v.is_bounds_comparison, tolerance,
                    v.stored_memory ? v.stored_memory.id() : 0});
  }

  // Returns the number of the value's first element among the results of type double, or of type long; the other
  // elements follow it. At the first call for a value, makes the stores of its elements.
  int64_t slot_of(UOp value) {
    auto [it, is_new] = slots_.try_emplace(value.id(), 0);
    if (!is_new) return it->second;
    bool is_float = dtypes::is_float(value.dtype());
    int64_t& next = is_float ? num_doubles_ : num_longs_;
    it->second = next;
    for (int64_t i = 0; i < value.dtype().count(); i++) {
      UOp one = value.dtype().count() > 1 ? value.gep(i) : value;
      UOp at = (is_float ? double_buffer_ : long_buffer_)
                   .index_ptr(expr_isolator_.point_range() + Const(next++ * kPointsPerRun));
      stores_.push_back(at.store(one.cast(is_float ? dtypes::float64 : dtypes::int64)));
    }
    return it->second;
  }

  void evaluate() {
    UOp root = graph_.sink(graph_.group(stores_).end(expr_isolator_.point_range()));
    RefProgram program = std::move(RefProgram::make_from_graph(root).value_or_throw());
    fill_leaves();
    double_results_ = Array::allocate_shared(dtypes::float64, {num_doubles_ * kPointsPerRun});
    long_results_ = Array::allocate_shared(dtypes::int64, {num_longs_ * kPointsPerRun});
    std::vector<RefBuffer> buffers{
        {kResultBufferNumber, double_results_.data(), double_results_.nbytes()},
        {kResultBufferNumber + 1, long_results_.data(), long_results_.nbytes()},
        {ExprIsolator::kLeafArrayNumber, leaf_doubles_.data(), leaf_doubles_.size() * sizeof(double)},
        {ExprIsolator::kLeafArrayNumber + 1, leaf_longs_.data(), leaf_longs_.size() * sizeof(int64_t)}};
    std::vector<Array> drawn;
    for (const IsolatedMemory& m : expr_isolator_.memories()) {
      if (std::ranges::find(buffers, m.define_number, &RefBuffer::number) != buffers.end()) continue;
      const Array* own = find_array(arrays_, "data" + std::to_string(m.define_number));
      const size_t bytes = size_t(m.num_scalars) * size_t(m.define.dtype().base().itemsize());
      if (!own || own->nbytes() < bytes) {
        drawn.emplace_back(m.define.dtype().base(), std::vector<int64_t>{m.num_scalars});
        fill_random(drawn.back(), uint64_t(m.define_number), "memory");
        own = &drawn.back();
      }
      // REF does not write to this memory
      buffers.push_back({m.define_number, const_cast<uint8_t*>(own->data()), own->nbytes()});
    }
    run_in_worker(program, buffers).value_or_throw();
  }

  double double_at(int64_t slot, int64_t point) const {
    return double_results_.as<double>()[size_t(slot * kPointsPerRun + point)];
  }
  int64_t long_at(int64_t slot, int64_t point) const {
    return long_results_.as<int64_t>()[size_t(slot * kPointsPerRun + point)];
  }

  void fill_leaves() {
    std::mt19937_64 random(seed_);
    leaf_longs_.resize(size_t(std::max<int64_t>(1, expr_isolator_.num_leaf_slots()) * kPointsPerRun));
    leaf_doubles_.resize(leaf_longs_.size());
    for (const ExprLeaf& leaf : expr_isolator_.leaf_list()) {
      if (leaf.first_slot < 0) continue;
      auto [least, most] = bounds_of(leaf.node);
      for (int64_t i = 0; i < leaf.node.dtype().count() * kPointsPerRun; i++) {
        size_t at = size_t(leaf.first_slot * kPointsPerRun + i);
        leaf_longs_[at] = draw_leaf_value(random, i % kPointsPerRun, least, most);
        leaf_doubles_[at] = double(int64_t(random() % 2001) - 1000) / 256;
      }
    }
  }

  // Returns the bounds of a leaf's values, clamped to 62 bits for an integer.
  std::pair<int64_t, int64_t> bounds_of(UOp u) const {
    if (dtypes::is_float(u.dtype())) return {0, 1};
    if (u.is(Op::DEFINE_VAR))
      if (auto it = variables_.find(std::string(u.arg()[0].text())); it != variables_.end())
        return {it->second, it->second};
    auto clamped = [](Const c) { return int64_t(std::clamp(c.to_double(), -0x1p62, 0x1p62)); };
    return {clamped(u.vmin()), clamped(u.vmax())};
  }

  static int64_t draw_leaf_value(std::mt19937_64& random, int64_t point, int64_t least, int64_t most) {
    uint64_t r = random();
    if (point == 0 || least >= most) return least;
    if (point == 1) return most;
    if (r % 4 == 0) return r & 64 ? std::min(least + 1, most) : std::max(most - 1, least);
    uint64_t span = uint64_t(most) - uint64_t(least) + 1;
    if (span > 1 << 20 && r % 4 != 1 && least <= 0 && most >= 0)  // prefer small numbers if the bounds are far apart
      return std::clamp<int64_t>(r & 64 ? int64_t((r >> 8) % 201) - 100 : int64_t((r >> 8) % 7) - 2, least, most);
    return least + int64_t((r >> 8) % span);
  }

  bool is_valid_at(int64_t slot, int64_t point) const { return slot < 0 || long_at(slot, point); }

  // The order of stores does not matter, so sorts the parts of stores by the stores' addresses at a point.
  std::vector<ComparedScalar> sort_by_address(const std::vector<ComparedScalar>& parts, int64_t point) const {
    auto sorted = [&](int64_t ComparedScalar::*place, int64_t ComparedScalar::*valid) {
      std::vector<size_t> out(parts.size() / 2);
      std::iota(out.begin(), out.end(), 0);
      std::ranges::stable_sort(out, {}, [&](size_t i) {
        const ComparedScalar& p = parts[2 * i];
        bool stores = is_valid_at(p.*valid, point);
        return std::tuple(p.memory, !stores, stores ? long_at(p.*place, point) : 0);
      });
      return out;
    };
    std::vector<size_t> before = sorted(&ComparedScalar::before, &ComparedScalar::before_valid);
    std::vector<size_t> after = sorted(&ComparedScalar::after, &ComparedScalar::after_valid);
    std::vector<ComparedScalar> out = parts;
    for (size_t i = 0; i < out.size(); i++) {
      const ComparedScalar &b = parts[2 * before[i / 2] + i % 2], &a = parts[2 * after[i / 2] + i % 2];
      out[i].before = b.before, out[i].before_valid = b.before_valid;
      out[i].after = a.after, out[i].after_valid = a.after_valid;
    }
    return out;
  }

  EquivalenceResult compare_results(const RewriteSides& s, const ComparedScalars& common) const {
    if (common.parts.empty()) return {};
    EquivalenceResult out{.kind = EquivalenceResult::Kind::Same};
    int64_t last = -1;  // the last point at which the sides differ
    std::vector<ComparedScalar> placed;
    for (int64_t point = 0; point < kPointsPerRun; point++) {
      if (common.are_stores) placed = sort_by_address(common.parts, point);
      for (const ComparedScalar& p : common.are_stores ? placed : common.parts) {
        if (p.has_only_bounds && point > 1) continue;
        bool a = is_valid_at(p.before_valid, point), b = is_valid_at(p.after_valid, point);
        if (!a && !b) continue;
        if (!a && !p.dtype.is(Scalar::Index)) continue;  // `before` is invalid here, so `after` may have any value
        std::string before = a ? slot_text(p, p.before, point) : "Invalid",
                    after = b ? slot_text(p, p.after, point) : "Invalid";
        double apart = a != b ? INFINITY : relative_difference(p, point);
        if (before != after) out.is_exact = false;
        if (!(apart > 0)) continue;
        out.num_differing_points += std::exchange(last, point) != point;
        const double clear = p.tolerance > 0 ? p.tolerance : 0.1;
        if (out.kind == EquivalenceResult::Kind::Differ && (out.is_beyond_rounding || apart < clear)) continue;
        out.kind = EquivalenceResult::Kind::Differ;
        out.is_beyond_rounding = apart >= clear && !p.has_only_bounds;
        out.witness = point_of(s.before, point);
        out.before = before, out.after = after;
      }
    }
    return out;
  }

  // Returns the relative difference of the two numbers: 0 if rounding explains it, 1 for different integers, and 0.05
  // for different floats of which one is infinite or NaN.
  double relative_difference(const ComparedScalar& p, int64_t point) const {
    if (!p.is_float) return long_at(p.before, point) != long_at(p.after, point);
    double a = double_at(p.before, point), b = double_at(p.after, point);
    if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
    if (!std::isfinite(a) || !std::isfinite(b)) return 0.05;
    double apart = std::fabs(a - b) / std::max({std::fabs(a), std::fabs(b), 1e-6});
    return apart > (p.tolerance > 0 ? p.tolerance : tolerance(p.dtype)) ? apart : 0;
  }

  std::string slot_text(const ComparedScalar& p, int64_t slot, int64_t point) const {
    return (p.is_float ? Arg(double_at(slot, point)) : Arg(long_at(slot, point))).repr();
  }

  std::map<std::string, std::string> point_of(UOp u, int64_t point) const {
    std::map<std::string, std::string> out;
    auto& sides = const_cast<SideIsolator&>(side_isolator_);
    uint32_t set = sides.leaf_set_of(u);
    for (uint32_t number : expr_isolator_.leaf_set(set)) {
      const ExprLeaf& leaf = expr_isolator_.leaf_list()[number];
      if (leaf.first_slot < 0) continue;
      size_t at = size_t(leaf.first_slot * kPointsPerRun + point);
      bool is_float = dtypes::is_float(leaf.node.dtype());
      out[name_of_leaf(leaf.node)] = (is_float ? Arg(leaf_doubles_[at]) : Arg(leaf_longs_[at])).repr();
    }
    return out;
  }

  Graph& graph_;
  const Arrays& arrays_;
  const VariableValues& variables_;
  const uint64_t seed_;
  SideIsolator side_isolator_;
  const ExprIsolator& expr_isolator_ = side_isolator_.isolator();
  UOp double_buffer_, long_buffer_;
  std::unordered_map<uint32_t, int64_t> slots_;
  std::vector<UOp> stores_;
  int64_t num_doubles_ = 0, num_longs_ = 0;
  Array double_results_, long_results_;
  std::vector<double> leaf_doubles_;
  std::vector<int64_t> leaf_longs_;
};

}  // namespace

std::string name_of_leaf(UOp u) {
  if (u.is(Op::RANGE)) return "r" + range_str(u);
  if (u.is(Op::SPECIAL)) return std::string(u.arg().text());
  if (u.is(Op::DEFINE_VAR)) return std::string(u.arg()[0].text());
  return std::string(name_of(u.op())) + "#" + std::to_string(u.id());
}

bool EquivalenceResult::differs_at_one_point_in(int n) const {
  return kind == Kind::Differ && is_beyond_rounding && n * num_differing_points >= kPointsPerRun;
}

Result<std::vector<EquivalenceResult>> compare_sides(std::span<const RewriteSides> pairs, const Arrays& arrays,
                                        const VariableValues& variables, uint64_t seed) {
  return catch_failures([&] {
    auto any = std::ranges::find_if(pairs, [](const RewriteSides& s) { return bool(s.before); });
    if (any == pairs.end()) return std::vector<EquivalenceResult>(pairs.size());
    return EquivalenceEvaluator(any->before.graph(), arrays, variables, seed).run(pairs);
  });
}

}  // namespace tgc
