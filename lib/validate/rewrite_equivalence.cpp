#include "lib/validate/rewrite_equivalence.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>
#include <unordered_set>

#include "lib/execute/contained_ref.h"
#include "lib/runtime/random.h"
#include "lib/uop/render.h"
#include "lib/validate/isolated_expr.h"

namespace tgc {
namespace {

constexpr int64_t kPoints = ExprIsolator::kPoints;
// The number of the DEFINE_GLOBAL for results of type double; the next number is that for results of type long.
constexpr int64_t kOutputs = ExprIsolator::kLeaves - 2;

// Returns the largest relative difference that rounding can explain between two ways to compute a float.
double tolerance(DType dtype) {
  switch (dtype.scalar_kind()) {
    case Scalar::Float64: return 1e-7;
    case Scalar::Float32: return 1e-3;
    case Scalar::Float16: return 3e-2;
    default: return 2e-1;
  }
}

std::map<int64_t, int64_t> sizes_of(const Arrays& arrays) {
  std::map<int64_t, int64_t> out;
  for (const NamedArray& a : arrays)
    if (a.name.starts_with("data")) out[std::stoll(a.name.substr(4))] = a.array.size();
  return out;
}

// A pair of numbers to compare, one from each side, and where it is stored at which points they are valid.
struct Part {
  int64_t before, after;                 // where the two results are stored: slots of the output array
  int64_t before_valid = -1, after_valid = -1;
  bool is_float = false;
  DType dtype;
  bool ends_alone = false;  // compare only at points 0 and 1, where all leaves are at their least, or greatest
  double tolerance = 0;     // relative difference that rounding explains
  uint32_t memory = 0;      // for stores: node id of the memory that they store to
};

// The pairs that decide whether two sides are equal. A store has two pairs for each element: its address and value.
struct Common {
  std::vector<Part> parts = {};
  bool are_stores = false;
};

class Evaluation {
 public:
  Evaluation(Graph& graph, const Arrays& arrays, const VariableValues& variables, uint64_t seed)
      : graph_(graph), arrays_(arrays), variables_(variables), seed_(seed), isolator_(graph, sizes_of(arrays)) {
    doubles_ = graph.node(Op::DEFINE_GLOBAL, dtypes::float64.ptr(), {}, Arg(kOutputs));
    longs_ = graph.node(Op::DEFINE_GLOBAL, dtypes::int64.ptr(), {}, Arg(kOutputs + 1));
  }

  std::vector<EquivalenceResult> run(std::span<const Sides> pairs) {
    std::vector<EquivalenceResult> out(pairs.size());
    std::vector<Common> common(pairs.size());
    for (size_t i = 0; i < pairs.size(); i++)
      if (are_alike(pairs[i])) out[i].kind = EquivalenceResult::Kind::Same;
      else if (are_unlike(pairs[i])) out[i] = {.kind = EquivalenceResult::Kind::Unlike, .beyond_rounding = true};
      else common[i] = common_of(pairs[i]);
    if (!stores_.empty()) evaluate();
    for (size_t i = 0; i < pairs.size(); i++)
      if (out[i].kind == EquivalenceResult::Kind::Open) out[i] = compare(pairs[i], common[i]);
    return out;
  }

 private:
  // Returns whether both sides are the same node, or end the same loops in another order or form.
  static bool are_alike(const Sides& s) {
    if (!s.before || !s.after || s.before == s.after) return s.before && s.after;
    int64_t start = range_start(s.before.op());
    if (start < 0 || s.before.op() != s.after.op() || s.before.dtype() != s.after.dtype() ||
        !(s.before.arg() == s.after.arg()))
      return false;
    auto inner = [&](UOp u) { return u.src().first(std::min(size_t(start), u.num_src())); };
    return std::ranges::equal(inner(s.before), inner(s.after)) && loops(s.before, start) == loops(s.after, start);
  }
  static std::unordered_set<UOp> loops(UOp u, int64_t start) {
    std::unordered_set<UOp> out;
    for (UOp end : u.src().subspan(std::min(size_t(start), u.num_src())))
      for (UOp x : toposort(end))
        if (x.is(Op::RANGE)) out.insert(x);
    return out;
  }

  // Returns whether the sides have different dtypes, or whether only `after` has a node whose source has a wrong number
  // of elements. Ignores nodes other than computations on values, because their dtypes may change: a BUFFERIZE may
  // become a pointer, an address an integer, and a load from several addresses has one element for each.
  static bool are_unlike(const Sides& s) {
    if (!is_computed(s.before) || !is_computed(s.after)) return false;
    if (s.before.dtype() != s.after.dtype()) return true;
    constexpr int kDepth = 4;  // number of levels of `after` to check: rules seldom make more new nodes
    return is_torn(s.after, kDepth) && !is_torn(s.before, kDepth);
  }
  static bool is_computed(UOp u) {
    constexpr OpSet kOthers{Op::CAST, Op::BITCAST, Op::CONST, Op::VCONST, Op::VECTORIZE, Op::GEP, Op::CAT, Op::REDUCE};
    return u && u.in(ops::ALU | kOthers) && u.dtype().is_value() && u.dtype() != dtypes::void_;
  }
  static bool is_torn(UOp u, int depth) {
    if (!is_computed(u)) return false;
    for (size_t i = 0; i < u.num_src(); i++) {
      UOp s = u.src(i);
      bool is_each = u.in(ops::ALU | OpSet{Op::CAST}) && s.dtype().is_value() && !(u.is(Op::WHERE) && i == 0);
      if (is_each && s.dtype().count() != u.dtype().count()) return true;
      if (depth > 1 && is_torn(s, depth - 1)) return true;
    }
    return false;
  }

  // ---- the pairs of values to compare

  // One element that a store writes to memory.
  struct Effect {
    UOp memory, offset, valid, value;
    uint32_t leaves;
  };

  // Returns the pairs to compare. Returns none if the two sides cannot be compared; the result is then Open.
  Common common_of(const Sides& s) {
    if (!s.before || !s.after) return {};
    std::vector<Effect> before, after;
    if (add_effects(before, s.before) && add_effects(after, s.after)) return {parts_of(before, after), true};
    return {parts_of(s)};
  }

  std::vector<Part> parts_of(std::vector<Effect>& before, std::vector<Effect>& after) {
    std::vector<Part> out;
    bool same = before.size() == after.size();
    for (auto* side : {&before, &after})
      std::ranges::stable_sort(*side, {}, [](const Effect& e) { return e.memory.id(); });
    uint32_t leaves = 0;
    for (const Effect& e : before) leaves = isolator_.joined(leaves, e.leaves);
    for (size_t i = 0; same && i < before.size(); i++)
      same = within(after[i].leaves, leaves) && add_effect(out, before[i], after[i]);
    return same ? out : std::vector<Part>();
  }

  // Returns the pairs to compare if both sides are values, or both are addresses.
  std::vector<Part> parts_of(const Sides& s) {
    std::vector<Part> out;
    const IsolatedExpr a = isolator_.of(s.before), b = isolator_.of(s.after);
    if (a.is_place() && b.is_place()) {
      if (!(a.memory == b.memory) || !within(b.leaves, a.leaves)) return {};
      return add(out, a.value, a.valid, b.value, b.valid) ? out : std::vector<Part>();
    }
    UOp x = isolator_.loaded(s.before), y = isolator_.loaded(s.after);
    if (!x || !y || isolator_.is_opaque(s.before)) return {};
    bool ends_alone = s.before.is(Op::RANGE) && !within(b.leaves, a.leaves);  // the new size depends on other ranges
    if (ends_alone ? adds_variable(b.leaves, a.leaves) : !within(b.leaves, a.leaves)) return {};
    auto valid = [](const IsolatedExpr& c) { return c.is_place() ? UOp() : c.valid; };
    if (!add(out, x, valid(a), y, valid(b))) return {};
    for (Part& p : out) p.ends_alone = ends_alone, p.tolerance = s.tolerance;
    return out;
  }

  bool within(uint32_t after, uint32_t before) const {
    return std::ranges::includes(isolator_.leaves(before), isolator_.leaves(after));
  }

  // Returns whether the set `after` has a variable that `before` lacks: then this is the placeholder of a substitution.
  bool adds_variable(uint32_t after, uint32_t before) const {
    const auto& had = isolator_.leaves(before);
    return std::ranges::any_of(isolator_.leaves(after), [&](uint32_t leaf) {
      return isolator_.leaf_list()[leaf].node.is(Op::DEFINE_VAR) && !std::ranges::binary_search(had, leaf);
    });
  }

  // Adds the elements that `u` writes, which is a store or a group of stores. Returns false if `u` is neither, or if
  // REF cannot evaluate it.
  bool add_effects(std::vector<Effect>& to, UOp u) {
    if (u.is(Op::GROUP))
      return u.num_src() && std::ranges::all_of(u.src(), [&](UOp s) { return add_effects(to, s); });
    bool passes_on = u.is(Op::GEP) || (u.is(Op::UNROLL) && u.arg().items().empty());
    if (passes_on && u.dtype() == dtypes::void_) return add_effects(to, u.src(0));
    if (!u.is(Op::STORE)) return false;
    const IsolatedExpr place = isolator_.of(u.src(0).is(Op::LOAD) ? u.src(0).src(0) : u.src(0));  // before "add loads"
    UOp value = isolator_.loaded(u.src(1));
    if (!place.is_place() || !value) return false;
    int64_t places = place.value.dtype().count(), n = std::max<int64_t>(value.dtype().count(), places);
    if (n % places || (value.dtype().count() != n && value.dtype().count() != 1)) return false;
    auto element = [](UOp v, int64_t i) { return v && v.dtype().count() > 1 ? v.gep(i) : v; };
    uint32_t leaves = isolator_.joined(place.leaves, isolator_.of(u.src(1)).leaves);
    for (int64_t i = 0, each = n / places; i < n; i++)
      to.push_back({place.memory, element(place.value, i / each).cast(dtypes::index) + Const(i % each),
                    element(place.valid, i / each), element(value, i), leaves});
    return true;
  }

  bool add_effect(std::vector<Part>& to, const Effect& a, const Effect& b) {
    if (!(a.memory == b.memory) || !add(to, a.offset, a.valid, b.offset, b.valid) ||
        !add(to, a.value, a.valid, b.value, b.valid))
      return false;
    to.back().memory = to[to.size() - 2].memory = a.memory.id();
    return true;
  }

  bool add(std::vector<Part>& to, UOp x, UOp x_valid, UOp y, UOp y_valid) {
    int64_t n = x.dtype().count();
    bool is_float = dtypes::is_float(x.dtype());
    if (y.dtype().count() != n || dtypes::is_float(y.dtype()) != is_float) return false;
    int64_t before = slot_of(x), after = slot_of(y);
    int64_t before_valid = x_valid ? slot_of(x_valid) : -1, after_valid = y_valid ? slot_of(y_valid) : -1;
    auto at = [](UOp v, int64_t slot, int64_t i) { return slot < 0 ? -1 : v.dtype().count() > 1 ? slot + i : slot; };
    for (int64_t i = 0; i < n; i++)
      to.push_back({before + i, after + i, at(x_valid, before_valid, i), at(y_valid, after_valid, i), is_float,
                    x.dtype().scalar()});
    return true;
  }

  // Returns the first slot of a value. The value's elements have consecutive slots.
  int64_t slot_of(UOp value) {
    auto [it, is_new] = slots_.try_emplace(value.id(), 0);
    if (!is_new) return it->second;
    bool is_float = dtypes::is_float(value.dtype());
    int64_t& next = is_float ? num_doubles_ : num_longs_;
    it->second = next;
    for (int64_t i = 0; i < value.dtype().count(); i++) {
      UOp one = value.dtype().count() > 1 ? value.gep(i) : value;
      UOp at = (is_float ? doubles_ : longs_).index_ptr(isolator_.point() + Const(next++ * kPoints));
      stores_.push_back(at.store(one.cast(is_float ? dtypes::float64 : dtypes::int64)));
    }
    return it->second;
  }

  // ---- evaluation

  void evaluate() {
    UOp root = graph_.sink(graph_.group(stores_).end(isolator_.point()));
    RefProgram program = std::move(RefProgram::from_graph(root).value_or_throw());
    fill_leaves();
    doubles_out_ = Array::shared(dtypes::float64, {num_doubles_ * kPoints});
    longs_out_ = Array::shared(dtypes::int64, {num_longs_ * kPoints});
    std::vector<RefBuffer> buffers{
        {kOutputs, doubles_out_.data(), doubles_out_.nbytes()},
        {kOutputs + 1, longs_out_.data(), longs_out_.nbytes()},
        {ExprIsolator::kLeaves, leaf_doubles_.data(), leaf_doubles_.size() * sizeof(double)},
        {ExprIsolator::kLeaves + 1, leaf_longs_.data(), leaf_longs_.size() * sizeof(int64_t)}};
    std::vector<Array> drawn;
    for (const IsolatedMemory& m : isolator_.memories()) {
      if (std::ranges::find(buffers, m.number, &RefBuffer::number) != buffers.end()) continue;
      const Array* own = find_array(arrays_, "data" + std::to_string(m.number));
      if (!own) {
        drawn.emplace_back(m.define.dtype().base(), std::vector<int64_t>{m.size});
        fill_random(drawn.back(), uint64_t(m.number), "memory");
        own = &drawn.back();
      }
      buffers.push_back({m.number, const_cast<uint8_t*>(own->data()), own->nbytes()});  // REF only reads it
    }
    run_in_worker(program, buffers).value_or_throw();
  }

  double double_at(int64_t slot, int64_t point) const {
    return doubles_out_.as<double>()[size_t(slot * kPoints + point)];
  }
  int64_t long_at(int64_t slot, int64_t point) const {
    return longs_out_.as<int64_t>()[size_t(slot * kPoints + point)];
  }

  void fill_leaves() {
    std::mt19937_64 random(seed_);
    leaf_longs_.resize(size_t(std::max<int64_t>(1, isolator_.leaf_slots()) * kPoints));
    leaf_doubles_.resize(leaf_longs_.size());
    for (const Leaf& leaf : isolator_.leaf_list()) {
      if (leaf.slot < 0) continue;
      auto [least, most] = bounds_of(leaf.node);
      for (int64_t i = 0; i < leaf.node.dtype().count() * kPoints; i++) {
        size_t at = size_t(leaf.slot * kPoints + i);
        leaf_longs_[at] = draw(random, i % kPoints, least, most);
        leaf_doubles_[at] = double(int64_t(random() % 2001) - 1000) / 256;
      }
    }
  }

  // Returns the bounds of an integer leaf, limited to 62 bits. Both bounds of a variable are its value in the run.
  std::pair<int64_t, int64_t> bounds_of(UOp u) const {
    if (dtypes::is_float(u.dtype())) return {0, 1};
    if (u.is(Op::DEFINE_VAR))
      if (auto it = variables_.find(std::string(u.arg()[0].text())); it != variables_.end())
        return {it->second, it->second};
    auto clamped = [](Const c) { return int64_t(std::clamp(c.to_double(), -0x1p62, 0x1p62)); };
    return {clamped(u.vmin()), clamped(u.vmax())};
  }

  static int64_t draw(std::mt19937_64& random, int64_t point, int64_t least, int64_t most) {
    uint64_t r = random();
    if (point == 0 || least >= most) return least;
    if (point == 1) return most;
    if (r % 4 == 0) return r & 64 ? std::min(least + 1, most) : std::max(most - 1, least);
    uint64_t span = uint64_t(most) - uint64_t(least) + 1;
    if (span > 1 << 20 && r % 4 != 1 && least <= 0 && most >= 0)  // mostly small numbers if the range is wide
      return std::clamp<int64_t>(int64_t((r >> 8) % 201) - 100, least, most);
    return least + int64_t((r >> 8) % span);
  }

  // ---- comparison

  bool holds(int64_t slot, int64_t point) const { return slot < 0 || long_at(slot, point); }

  // Sorts the pairs of stores by their address at a point, because the order of stores does not matter.
  std::vector<Part> by_place(const std::vector<Part>& parts, int64_t point) const {
    auto sorted = [&](int64_t Part::*place, int64_t Part::*valid) {
      std::vector<size_t> out(parts.size() / 2);
      std::iota(out.begin(), out.end(), 0);
      std::ranges::stable_sort(out, {}, [&](size_t i) {
        const Part& p = parts[2 * i];
        bool stores = holds(p.*valid, point);
        return std::tuple(p.memory, !stores, stores ? long_at(p.*place, point) : 0);
      });
      return out;
    };
    std::vector<size_t> before = sorted(&Part::before, &Part::before_valid);
    std::vector<size_t> after = sorted(&Part::after, &Part::after_valid);
    std::vector<Part> out = parts;
    for (size_t i = 0; i < out.size(); i++) {
      const Part &b = parts[2 * before[i / 2] + i % 2], &a = parts[2 * after[i / 2] + i % 2];
      out[i].before = b.before, out[i].before_valid = b.before_valid;
      out[i].after = a.after, out[i].after_valid = a.after_valid;
    }
    return out;
  }

  EquivalenceResult compare(const Sides& s, const Common& common) const {
    if (common.parts.empty()) return {};
    EquivalenceResult out{.kind = EquivalenceResult::Kind::Same};
    int64_t last = -1;  // the last point at which the sides differ
    std::vector<Part> placed;
    for (int64_t point = 0; point < kPoints; point++) {
      if (common.are_stores) placed = by_place(common.parts, point);
      for (const Part& p : common.are_stores ? placed : common.parts) {
        if (p.ends_alone && point > 1) continue;
        bool a = holds(p.before_valid, point), b = holds(p.after_valid, point);
        if (!a && !b) continue;
        if (!a && !p.dtype.is(Scalar::Index)) continue;  // `before` is invalid here, so `after` may have any value
        std::string before = a ? text(p, p.before, point) : "Invalid", after = b ? text(p, p.after, point) : "Invalid";
        double apart = a != b ? INFINITY : distance(p, point);
        if (before != after) out.exactly = false;
        if (!(apart > 0)) continue;
        out.points += std::exchange(last, point) != point;
        const double clear = p.tolerance > 0 ? p.tolerance : 0.1;
        if (out.kind == EquivalenceResult::Kind::Differ && (out.beyond_rounding || apart < clear)) continue;
        out.kind = EquivalenceResult::Kind::Differ;
        out.beyond_rounding = apart >= clear && !p.ends_alone;
        out.point = point_of(s.before, point);
        out.before = before, out.after = after;
      }
    }
    return out;
  }

  // Returns the relative distance of the two numbers: 0 if rounding explains it; 1 for integers that differ.
  double distance(const Part& p, int64_t point) const {
    if (!p.is_float) return long_at(p.before, point) != long_at(p.after, point);
    double a = double_at(p.before, point), b = double_at(p.after, point);
    if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
    if (!std::isfinite(a) || !std::isfinite(b)) return 0.05;
    double apart = std::fabs(a - b) / std::max({std::fabs(a), std::fabs(b), 1e-6});
    return apart > (p.tolerance > 0 ? p.tolerance : tolerance(p.dtype)) ? apart : 0;
  }

  std::string text(const Part& p, int64_t slot, int64_t point) const {
    return (p.is_float ? Arg(double_at(slot, point)) : Arg(long_at(slot, point))).repr();
  }

  std::map<std::string, std::string> point_of(UOp u, int64_t point) const {
    std::map<std::string, std::string> out;
    ExprIsolator& isolator = const_cast<ExprIsolator&>(isolator_);  // nothing new is isolated, so nothing changes
    uint32_t set = u.is(Op::STORE) ? isolator.joined(isolator.of(u.src(0)).leaves, isolator.of(u.src(1)).leaves)
                                   : isolator.of(u).leaves;
    for (uint32_t number : isolator_.leaves(set)) {
      const Leaf& leaf = isolator_.leaf_list()[number];
      if (leaf.slot < 0) continue;
      size_t at = size_t(leaf.slot * kPoints + point);
      bool is_float = dtypes::is_float(leaf.node.dtype());
      out[name_of_leaf(leaf.node)] = (is_float ? Arg(leaf_doubles_[at]) : Arg(leaf_longs_[at])).repr();
    }
    return out;
  }

  static std::string name_of_leaf(UOp u) {
    if (u.is(Op::RANGE)) return "r" + range_str(u);
    if (u.is(Op::SPECIAL)) return std::string(u.arg().text());
    if (u.is(Op::DEFINE_VAR)) return std::string(u.arg()[0].text());
    return std::string(name_of(u.op())) + "#" + std::to_string(u.id());
  }

  Graph& graph_;
  const Arrays& arrays_;
  const VariableValues& variables_;
  const uint64_t seed_;
  ExprIsolator isolator_;
  UOp doubles_, longs_;
  std::unordered_map<uint32_t, int64_t> slots_;  // by node id of a value: the first slot of the value's results
  std::vector<UOp> stores_;
  int64_t num_doubles_ = 0, num_longs_ = 0;
  Array doubles_out_, longs_out_;
  std::vector<double> leaf_doubles_;
  std::vector<int64_t> leaf_longs_;
};

}  // namespace

bool EquivalenceResult::differs_at_one_in(int n) const {
  return kind == Kind::Differ && beyond_rounding && n * points >= kPoints;
}

Result<std::vector<EquivalenceResult>> compare_sides(std::span<const Sides> pairs, const Arrays& arrays,
                                        const VariableValues& variables, uint64_t seed) {
  return catch_failures([&] {
    auto any = std::ranges::find_if(pairs, [](const Sides& s) { return bool(s.before); });
    if (any == pairs.end()) return std::vector<EquivalenceResult>(pairs.size());
    return Evaluation(any->before.graph(), arrays, variables, seed).run(pairs);
  });
}

}  // namespace tgc
