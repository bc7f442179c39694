#include "lib/prove/mutants.h"

#include <algorithm>
#include <set>

#include "lib/prove/rule_instances.h"
#include "lib/rewrite/matcher.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

using pat::PatNode;
using GuardChange = MutantRightSide::GuardChange;

constexpr size_t kMostInstances = 600;

// Returns the ops that a programmer may use in place of `op` by mistake.
std::vector<Op> related_ops(Op op) {
  switch (op) {
    case Op::ADD: return {Op::SUB, Op::MUL};
    case Op::SUB: return {Op::ADD};
    case Op::MUL: return {Op::ADD};
    case Op::IDIV: return {Op::MOD};
    case Op::MOD: return {Op::IDIV};
    case Op::CMPLT: return {Op::CMPNE};
    case Op::CMPNE: return {Op::CMPLT, Op::CMPEQ};
    case Op::AND: return {Op::OR};
    case Op::OR: return {Op::AND, Op::XOR};
    case Op::XOR: return {Op::OR};
    case Op::SHL: return {Op::SHR};
    case Op::SHR: return {Op::SHL};
    default: return {};
  }
}
constexpr OpSet kNoncommutativeOps{Op::SUB, Op::IDIV, Op::MOD, Op::SHL, Op::SHR, Op::CMPLT, Op::FDIV, Op::WHERE};

uint64_t captures_in(const PatNode* n) {
  uint64_t out = n->has_alternatives ? ~uint64_t(0) : 0;
  for (const PatNode* c : n->children) out = n->has_alternatives ? out & captures_in(c) : out | captures_in(c);
  return n->capture >= 0 ? out | uint64_t(1) << n->capture : out;
}

// Returns, as a bit set, the names whose nodes are parts of a right side, and not only their numbers, as in the folded
// constant c1 + c2.
uint64_t captured_nodes_in(const PatNode* right) {
  if (!right || right->listing_name == "fold") return 0;
  uint64_t out = right->capture >= 0 ? uint64_t(1) << right->capture : 0;
  for (const PatNode* c : right->children) out |= captured_nodes_in(c);
  return out;
}

template <class Visit>
void for_each_capture(uint64_t names, Visit visit) {
  for (int id = 0; id < pat::kNumCaptures; id++)
    if (names >> id & 1) visit(id);
}

// Returns the constant `u` plus `by`; for a bool, the other bool if `by` is positive. Null if this is not possible.
UOp change_constant(UOp u, int by) {
  if (!u.is_const() || u.is_invalid()) return {};
  const Const c = u.arg().to_const();
  if (dtypes::is_bool(u.dtype())) return by > 0 ? u.const_like(Const(!c.truthy())) : UOp();
  Const other = py_add(c, Const(int64_t(by)));
  if (!u.dtype().is(Scalar::Index) && !py_equal(truncate(other, u.dtype().scalar()), other)) return {};
  return py_equal(other, c) ? UOp() : u.const_like(other);
}

UOp change_node(UOp u, const ResultChange& change, const UOp* captured) {
  using Kind = ResultChange::Kind;
  if (change.kind == Kind::Name) {
    UOp to = captured[change.new_name];
    return to && captured[change.old_name] == u && to.dtype() == u.dtype() ? to : UOp();
  }
  if (!u.is(change.op)) return {};
  switch (change.kind) {
    case Kind::Constant: return change_constant(u, change.value);
    case Kind::Op: return u.replace({.op = change.new_op});
    case Kind::Dropped: {
      UOp s = size_t(change.value) < u.num_src() ? u.src(size_t(change.value)) : UOp();
      return s && s.dtype() == u.dtype() ? s : UOp();
    }
    default: {
      std::vector<UOp> src(u.src().begin(), u.src().end());
      if (src.size() < 2) return {};
      std::swap(src[src.size() - 1], src[src.size() - 2]);
      return u.with_src(src);
    }
  }
}

// Changes a node of the left side only for ResultChange::Kind::Name.
UOp change_at_path(UOp u, std::span<const uint8_t> path, const ResultChange& change, const PatternMatch& match,
                   const UOpSet& left_side) {
  if (path.empty()) {
    UOp out = left_side.contains(u) && change.kind != ResultChange::Kind::Name ? UOp()
                                                                             : change_node(u, change, match.captured);
    return out ? out : u;
  }
  if (left_side.contains(u) || path[0] >= u.num_src()) return u;
  std::vector<UOp> src(u.src().begin(), u.src().end());
  src[path[0]] = change_at_path(src[path[0]], path.subspan(1), change, match, left_side);
  return u.with_src(src);
}

void add_nodes(UOpSet& to, UOp root) {
  for (UOp u : toposort(root)) to.insert(u);
}

void collect_changes(std::set<ResultChange>& to, UOp u, const std::vector<uint8_t>& path, const PatternMatch& match,
                     uint64_t names, const UOpSet& left_side) {
  using Kind = ResultChange::Kind;
  auto add = [&](ResultChange change) {
    change.path = path, change.op = u.op();
    UOp out = change_node(u, change, match.captured);
    if (change.kind == Kind::Name) change.op = Op::NOOP;
    if (out && !(out == u)) to.insert(change);
  };
  if (left_side.contains(u)) {
    for_each_capture(names, [&](int name) {
      if (!(match.captured[name] == u) || u == match.root) return;
      for_each_capture(names, [&](int other) {
        if (!(match.captured[other] == match.root)) add({.kind = Kind::Name, .old_name = name, .new_name = other});
      });
    });
    return;
  }
  if (!u.dtype().is_value() || u.dtype() == dtypes::void_) return;
  if (u.is_const()) {
    for (int by : {1, -1}) add({.kind = Kind::Constant, .value = by});
    return;
  }
  if (u.in(ops::Elementwise)) {
    const bool is_bool = dtypes::is_bool(u.dtype()), is_float = dtypes::is_float(u.dtype());
    for (Op op : related_ops(u.op()))
      if (!(is_bool && op == Op::SUB) && !(is_float && op == Op::MOD)) add({.kind = Kind::Op, .new_op = op});
    for (size_t i = u.is(Op::WHERE) ? 1 : 0; i < u.num_src(); i++) add({.kind = Kind::Dropped, .value = int(i)});
    if (u.in(kNoncommutativeOps)) add({.kind = Kind::Exchanged});
  }
  for (size_t i = 0; i < u.num_src() && path.size() < 6; i++) {
    std::vector<uint8_t> below = path;
    below.push_back(uint8_t(i));
    collect_changes(to, u.src(i), below, match, names, left_side);
  }
}

std::string path_text(std::span<const uint8_t> path) {
  std::string out = "right side";
  for (uint8_t i : path) out += "." + std::to_string(i);
  return out;
}

std::string describe_change(const ResultChange& c) {
  using Kind = ResultChange::Kind;
  std::string at = path_text(c.path) + ": ", op(name_of(c.op));
  switch (c.kind) {
    case Kind::Constant: return at + "constant " + (c.value > 0 ? "plus 1" : "minus 1");
    case Kind::Op: return at + op + " becomes " + std::string(name_of(c.new_op));
    case Kind::Dropped: return at + op + " becomes its source " + std::to_string(c.value);
    case Kind::Exchanged: return at + "operands of " + op + " exchanged";
    case Kind::Name:
      return at + std::string(pat::name_of_capture(c.old_name)) + " becomes " +
             std::string(pat::name_of_capture(c.new_name));
  }
  return at;
}

UOp call_mutant(const Rule& rule, const PatternMatch& match) {
  const auto& right = *static_cast<const MutantRightSide*>(rule.right);
  const Rule& original = *right.original;
  UOp out;
  if (right.guard_change == GuardChange::Kept) out = original.call(original, match);
  for (size_t i = 0; right.guard_change != GuardChange::Kept && i < right.foldings.size() && !out; i++) {
    const RuleFolding& f = right.foldings[i];
    bool holds = true;
    for (size_t g = 0; holds && g < f.guard_tests.size(); g++) {
      const bool is_mutated = i == right.folding_index && g == right.guard_index;
      if (is_mutated && right.guard_change == GuardChange::Dropped) continue;
      holds = f.guard_tests[g](match) != is_mutated;
    }
    if (holds) out = f.build_result(original, match);
  }
  if (!out || !right.has_result_change) return out;
  UOpSet left_side(out.graph());
  add_nodes(left_side, match.root);
  return change_at_path(out, right.change.path, right.change, match, left_side);
}

// Returns the right sides of a mutant as data (Rule::list_foldings). If the mutant changes the right side, which only
// call_mutant() can compute, lists a function instead.
std::vector<RuleFolding> list_mutant_foldings(const Rule& rule) {
  const auto& right = *static_cast<const MutantRightSide*>(rule.right);
  std::vector<RuleFolding> out = right.foldings;
  for (size_t i = 0; i < out.size(); i++) {
    const bool is_mutated = right.guard_change != GuardChange::Kept && i == right.folding_index;
    if (right.has_result_change) out[i].right = pat::make_listing_function("mutant", {});
    else if (!is_mutated) continue;
    else if (right.guard_change == GuardChange::Dropped)
      out[i].guards.erase(out[i].guards.begin() + long(right.guard_index));
    else out[i].guards[right.guard_index] = pat::make_listing_call("not", {out[i].guards[right.guard_index]});
  }
  return out;
}

RuleMutant make_mutant(const Rule& rule, MutantRightSide right, const PatNode* left, std::string what) {
  right.original = &rule, right.foldings = foldings_of(rule), right.bound_names = captures_in(rule.left);
  RuleMutant out{std::make_shared<const MutantRightSide>(std::move(right)), rule, std::move(what)};
  out.rule.left = left;
  out.rule.call = call_mutant, out.rule.list_foldings = list_mutant_foldings, out.rule.right = out.right.get();
  out.rule.may_decline = true;
  return out;
}

const PatNode* copy_with_children(PatNode n, const std::vector<const PatNode*>& children) {
  auto* memory = static_cast<const PatNode**>(
      pat::allocate_permanently(sizeof(PatNode*) * children.size(), alignof(PatNode*)));
  std::ranges::copy(children, memory);
  n.children = {memory, children.size()};
  return pat::make_pattern_node(n);
}

// Calls add(pattern, text) for each changed pattern node in place of `n`. `seen` has the names to the left of `n` in
// the pattern, as a bit set.
using AddPattern = std::function<void(const PatNode* pattern, const std::string& text)>;
void add_pattern_changes(const PatNode* n, uint64_t& seen, const AddPattern& add) {
  const bool is_literal = n->has_arg && n->arg.is_const() && n->ops == OpSet{Op::CONST};
  if (is_literal) {
    const Const c = n->arg.to_const();
    for (int by : {1, -1}) {
      if (c.is_invalid() || (c.is_bool() && by < 0)) continue;
      PatNode copy = *n;
      copy.arg = c.is_bool() ? Arg(!c.truthy()) : Arg(py_add(c, Const(int64_t(by))));
      add(pat::make_pattern_node(copy), "literal " + n->arg.repr() + " becomes " + copy.arg.repr());
    }
  } else if (n->ops.size() == 1 && !n->children.empty()) {
    for (Op to : related_ops(n->ops.first())) {
      PatNode copy = *n;
      copy.ops = to;
      copy.permute = ops::Commutative.contains(to) && n->permute;
      add(pat::make_pattern_node(copy), std::string(name_of(n->ops.first())) + " becomes " + std::string(name_of(to)));
    }
  }
  if (!n->dtypes.empty() && !is_literal && n->children.empty()) {
    PatNode copy = *n;
    copy.dtypes = {};
    add(pat::make_pattern_node(copy), "any dtype for " + pat::pattern_text(*n));
  }
  if (n->capture >= 0 && n->children.empty() && (seen >> n->capture & 1)) {
    PatNode copy = *n;
    copy.capture = -1;
    add(pat::make_pattern_node(copy), "any node for the second " + std::string(pat::name_of_capture(n->capture)));
  }
  if (n->capture >= 0) seen |= uint64_t(1) << n->capture;
  for (size_t i = 0; i < n->children.size(); i++) {
    uint64_t before = seen;
    add_pattern_changes(n->children[i], n->has_alternatives ? before : seen,
                        [&](const PatNode* child, const std::string& text) {
                   std::vector<const PatNode*> children(n->children.begin(), n->children.end());
                   children[i] = child;
                   add(copy_with_children(*n, children), text);
                        });
  }
}

// Returns true if there is an instance of the mutant's pattern for which the mutant makes another node than its rule,
// or for which the rule declines.
bool differs_from_rule(const RuleMutant& mutant) {
  const Matcher original({mutant.right->original});
  bool out = false;
  for_each_instance(mutant.rule, [&](UOp before, UOp after, const PatternMatch&) {
    RuleHit hit;
    UOp expected = original.rewrite(before, nullptr, nullptr, hit);
    return !(out = !expected || !(expected == after));
  });
  return out;
}

}  // namespace

bool for_each_instance(const Rule& rule, const VisitInstance& visit) {
  const Matcher matcher({&rule});
  RuleInstances instances(rule, false);
  for (size_t i = 0; i < kMostInstances; i++) {
    Graph graph;
    bool is_last = false, goes_on = true;
    (void)catch_failures([&] {
      auto before = instances.next_instance(graph);
      is_last = !before;
      if (!before || !*before) return true;
      RuleHit hit;
      UOp after = matcher.rewrite(*before, nullptr, nullptr, hit);
      const PatternMatch match{*before, instances.captured_nodes().data(), nullptr, nullptr};
      if (after && !(after == *before)) goes_on = visit(*before, after, match);
      return true;
    });
    if (is_last || !goes_on) return is_last;
  }
  return false;
}

std::vector<RuleMutant> mutants_of_rule(const Rule& rule) {
  std::vector<RuleMutant> out;
  auto add = [&](MutantRightSide right, const PatNode* left, std::string what) {
    if (captures_in(left) != captures_in(rule.left)) return;
    RuleMutant m = make_mutant(rule, std::move(right), left, std::move(what));
    if (differs_from_rule(m)) out.push_back(std::move(m));
  };
  const std::vector<RuleFolding> foldings = foldings_of(rule);
  for (size_t f = 0; f < foldings.size(); f++)
    for (size_t g = 0; g < foldings[f].guards.size(); g++)
      for (GuardChange guard : {GuardChange::Dropped, GuardChange::Negated})
        add({.guard_change = guard, .folding_index = f, .guard_index = g}, rule.left,
            "guard " + pat::pattern_text(*foldings[f].guards[g]) +
                (guard == GuardChange::Dropped ? " dropped" : " negated"));
  uint64_t seen = 0;
  add_pattern_changes(rule.left, seen,
                      [&](const PatNode* left, const std::string& text) { add({}, left, "left side: " + text); });
  std::set<ResultChange> changes;
  // leave out captured constants that the right side uses only as numbers: a new constant may be the same node
  uint64_t names = captures_in(rule.left), nodes = 0;
  for (const RuleFolding& f : foldings) nodes |= captured_nodes_in(f.right);
  for_each_capture(names, [&](int name) {
    if (name >= pat::kCapture_c && !(nodes >> name & 1)) names &= ~(uint64_t(1) << name);
  });
  for_each_instance(rule, [&](UOp before, UOp after, const PatternMatch& match) {
    UOpSet left_side(before.graph());
    add_nodes(left_side, before);
    collect_changes(changes, after, {}, match, names, left_side);
    return true;
  });
  for (const ResultChange& c : changes) add({.has_result_change = true, .change = c}, rule.left, describe_change(c));
  return out;
}

}  // namespace tgc
