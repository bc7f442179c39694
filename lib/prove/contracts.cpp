#include "lib/prove/contracts.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lib/uop/exec_alu.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

constexpr int64_t kMostIterations = 1 << 20;

bool is_loop(UOp u) { return u.in({Op::RANGE, Op::SPECIAL}); }

// Evaluates integer expressions of loops. Returns false if an op is not known.
class LoopEvaluator {
 public:
  explicit LoopEvaluator(const RangeMap& map) {
    std::unordered_set<UOp> seen;
    for (auto& [range, to] : map)
      for (UOp u : toposort(to))
        if (seen.insert(u).second) nodes_.push_back(u), values_[u] = 0;
  }
  std::vector<UOp> loops() const {
    std::vector<UOp> out;
    for (UOp u : nodes_)
      if (is_loop(u)) out.push_back(u);
    return out;
  }
  void set(UOp loop, int64_t value) { values_[loop] = value; }
  bool run() {
    return std::ranges::all_of(nodes_, [&](UOp u) { return evaluate(u); });
  }
  int64_t operator[](UOp u) const { return values_.at(u); }

 private:
  bool evaluate(UOp u) {
    if (is_loop(u)) return true;
    auto src = [&](size_t i) { return values_.at(u.src(i)); };
    int64_t& out = values_[u];
    switch (u.op()) {
      case Op::CONST: return u.arg().is_int() && u.arg().as_int().is_small() && (out = u.arg().small_int(), true);
      case Op::ADD: return !__builtin_add_overflow(src(0), src(1), &out);
      case Op::MUL: return !__builtin_mul_overflow(src(0), src(1), &out);
      case Op::IDIV: return src(1) != 0 && (out = src(0) / src(1), true);
      case Op::MOD: return src(1) != 0 && (out = src(0) % src(1), true);
      case Op::SUB: return !__builtin_sub_overflow(src(0), src(1), &out);
      case Op::CAST: return dtypes::is_int(u.dtype()) && dtypes::is_int(u.src(0).dtype()) && (out = src(0), true);
      default: return false;
    }
  }

  std::vector<UOp> nodes_;  // sources first
  std::unordered_map<UOp, int64_t> values_;
};

int64_t constant_size(UOp loop) {
  if (!loop.num_src() || !loop.src(0).is_const() || !loop.src(0).arg().is_int()) return -1;
  auto size = loop.src(0).arg().as_int().to_int64();
  return size ? *size : -1;
}

// The operands of nested ops `op`, from left to right.
void operands_of(UOp u, Op op, std::vector<UOp>& out) {
  std::vector<UOp> stack{u};
  while (!stack.empty()) {
    UOp x = stack.back();
    stack.pop_back();
    if (x.is(op)) stack.insert(stack.end(), x.src().rbegin(), x.src().rend());
    else out.push_back(x);
  }
}

UOp behind_after(UOp u) {
  while (u.is(Op::AFTER)) u = u.src(0);
  return u;
}

std::unordered_set<UOp> set_of(std::span<const UOp> nodes) { return {nodes.begin(), nodes.end()}; }

}  // namespace

bool is_same_iterations(const RangeMap& map) {
  LoopEvaluator evaluator(map);
  std::vector<UOp> loops = evaluator.loops();
  int64_t before = 1, after = 1;
  std::vector<int64_t> sizes;
  for (auto& [range, to] : map) {
    int64_t n = constant_size(range);
    if (n <= 0 || __builtin_mul_overflow(before, n, &before)) return false;
  }
  for (UOp loop : loops) {
    sizes.push_back(constant_size(loop));
    if (sizes.back() <= 0 || __builtin_mul_overflow(after, sizes.back(), &after)) return false;
  }
  if (before != after) return false;
  // A loop that only gets another name or kind needs no enumeration.
  std::unordered_set<UOp> targets;
  bool are_names = true;
  for (auto& [range, to] : map)
    are_names = are_names && is_loop(to) && constant_size(to) == constant_size(range) && targets.insert(to).second;
  if (are_names) return true;
  if (before > kMostIterations) {
    // Independent parts of the map can be enumerated apart.
    if (map.size() == 1) return false;
    for (auto& one : map)
      if (!is_same_iterations({one})) return false;
    size_t total = 0;
    for (auto& one : map) total += LoopEvaluator({one}).loops().size();
    return total == loops.size();  // no loop is in two parts
  }
  std::vector<bool> hit(static_cast<size_t>(before), false);
  std::vector<int64_t> at(loops.size(), 0);
  for (int64_t n = 0; n < after; n++) {
    int64_t rest = n;
    for (size_t i = 0; i < loops.size(); i++) evaluator.set(loops[i], rest % sizes[i]), rest /= sizes[i];
    if (!evaluator.run()) return false;
    int64_t index = 0;
    for (auto& [range, to] : map) {
      int64_t v = evaluator[to], size = constant_size(range);
      if (v < 0 || v >= size) return false;
      index = index * size + v;
    }
    if (hit[static_cast<size_t>(index)]) return false;
    hit[static_cast<size_t>(index)] = true;
  }
  return true;
}

bool is_same_memory(UOp before, UOp after) {
  if (!before.in(ops::Defines) || !after.is(Op::CAST)) return false;
  UOp now = after.src(0);
  DType a = before.dtype(), b = now.dtype();
  return now.op() == before.op() && now.arg() == before.arg() && after.dtype() == a && a.is_ptr() && b.is_ptr() &&
         !a.is_image() && a.addrspace() == b.addrspace() && a.base().scalar() == b.base() &&
         a.size() * a.base().count() == b.size();
}

namespace {

// Returns whether the operands have the same forms, in each lane, as the terms of the REDUCE.
bool are_terms(UOp reduce, std::span<const UOp> operands, LaneForms& lanes) {
  for (int lane = 0; lane < reduce.dtype().count(); lane++) {
    std::vector<LaneForms::Form> expected = lanes.terms(reduce, lane, {}), actual;
    for (UOp u : operands) actual.push_back(lanes.value(u, u.dtype().count() > 1 ? lane : 0, {}));
    std::ranges::sort(expected), std::ranges::sort(actual);
    if (expected != actual) return false;
  }
  return true;
}

}  // namespace

bool is_accumulator_of(UOp before, UOp after, LaneForms& lanes) {
  if (before.is(Op::REDUCE) && before.num_src() == 1 && after.is(before.arg().op())) {
    std::vector<UOp> operands;
    operands_of(after, before.arg().op(), operands);
    return are_terms(before, operands, lanes);
  }
  if (!before.is(Op::REDUCE) || !after.is(Op::INDEX) || !after.src(0).is(Op::AFTER)) return false;
  const Op op = before.arg().op();
  UOp reg = behind_after(after.src(0));
  if (!reg.is(Op::DEFINE_REG) || after.src(0).num_src() != 2) return false;
  UOp end = after.src(0).src(1);
  if (!end.is(Op::END) || !end.src(0).is(Op::STORE)) return false;
  std::unordered_set<UOp> loops;
  for (UOp s : before.src().subspan(1))
    if (s.is(Op::RANGE)) loops.insert(s);
    else return false;
  if (set_of(end.src().subspan(1)) != loops) return false;
  UOp store = end.src(0), place = store.src(0);
  if (!place.is(Op::INDEX) || behind_after(place.src(0)) != reg || !place.src(1).is_const() ||
      !after.src(1).is_const() || !(place.src(1).arg() == after.src(1).arg()))
    return false;
  // One operand of the stored value is the register; the others are the terms.
  std::vector<UOp> operands;
  operands_of(store.src(1), op, operands);
  UOp register_read;
  std::vector<UOp> rest;
  for (UOp u : operands) {
    bool reads = u.is(Op::INDEX) && behind_after(u.src(0)) == reg;
    if (reads && register_read) return false;
    if (reads) register_read = u;
    else rest.push_back(u);
  }
  if (!register_read || !(register_read.src(1).arg() == after.src(1).arg()) || !register_read.src(0).is(Op::AFTER))
    return false;
  // The register is read after its initialization, once for each iteration of the loops.
  UOp start = register_read.src(0);
  std::unordered_set<UOp> needs = set_of(start.src().subspan(1));
  for (UOp r : loops)
    if (!needs.contains(r)) return false;
  bool is_initialized = false;
  for (UOp x = start; x.is(Op::AFTER); x = x.src(0))
    for (UOp dep : x.src().subspan(1))
      if (dep.is(Op::STORE) && dep.src(0).is(Op::INDEX) && behind_after(dep.src(0).src(0)) == reg &&
          dep.src(1).is_const() && dep.src(0).src(1).arg() == after.src(1).arg())
        is_initialized |= py_equal(dep.src(1).arg().to_const(), identity_element(op, before.dtype().scalar()));
  if (!is_initialized) return false;
  return are_terms(before, rest, lanes);
}

UOp inside_ends(UOp u) {
  while (u.is(Op::END)) u = u.src(0);
  return u;
}

bool ends_same_loops(UOp before, UOp after) {
  auto loops = [](UOp u) {
    std::unordered_set<UOp> out;
    for (; u.is(Op::END); u = u.src(0))
      for (UOp s : u.src().subspan(1))
        for (UOp x : toposort(s))
          if (x.is(Op::RANGE)) out.insert(x);
    return out;
  };
  return (before.is(Op::END) || after.is(Op::END)) && loops(before) == loops(after);
}

}  // namespace tgc
