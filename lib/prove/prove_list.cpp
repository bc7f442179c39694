#include "lib/prove/prove_list.h"

#include <algorithm>
#include <set>

#include "lib/prove/launch_contract.h"
#include "lib/prove/proof_time.h"
#include "lib/rewrite/rewrite.h"
#include "lib/support/deadline.h"
#include "lib/support/log.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

struct CompareById {
  bool operator()(UOp a, UOp b) const { return a.id() < b.id(); }
};
RewriteProof decide_with_timing(const Rewrite& a, const std::function<RewriteProof()>& decide) {
  constexpr double kLong = 0.5;
  auto begin = Clock::now();
  RewriteProof out = decide();
  if (const double seconds = seconds_since(begin); seconds > kLong)
    log_debug(LogTopic::Prove, [&] {
      char text[64];
      std::snprintf(text, sizeof text, "%.1f s for rewrite %llu of ", seconds, (unsigned long long)a.number_in_stage);
      return text + std::string(a.rule ? a.rule->name : "a recorded rule") + ": " + out.reason;
    });
  return out;
}

using RangeSet = std::set<UOp, CompareById>;

RangeSet ranges_in(UOp root) {
  RangeSet out;
  for (UOp u : toposort(root))
    if (u.is(Op::RANGE)) out.insert(u);
  return out;
}

// Returns the expression of loops in `after` that replaced `range`; null if none is found. `targets` maps the id of a
// range to its replacements.
UOp resolve_range(UOp range, const std::map<uint32_t, std::vector<UOp>>& targets, const RangeSet& after, int depth) {
  auto it = targets.find(range.id());
  if (it == targets.end() || depth > 8) return {};
  for (UOp target : it->second) {
    RangeMap inner;
    bool good = true;
    for (UOp u : toposort(target)) {
      if (!u.is(Op::RANGE) || after.contains(u)) continue;
      // compare numbers and bounds, because the rule may have simplified the size of the new loop later
      auto same =
          std::ranges::find_if(after, [&](UOp r) { return r.arg() == u.arg() && py_equal(r.vmax(), u.vmax()); });
      UOp to = same != after.end() ? *same : resolve_range(u, targets, after, depth + 1);
      if (!(good = bool(to))) break;
      inner.emplace_back(u, to);
    }
    if (good) return inner.empty() ? target : substitute(target, inner);
  }
  return {};
}

bool depends_only_on_loops(UOp u) {
  constexpr OpSet kOps = ops::ALU | OpSet{Op::RANGE, Op::SPECIAL, Op::CONST};
  if (!dtypes::is_int(u.dtype()) || u.is(Op::CONST)) return false;
  return std::ranges::all_of(toposort(u), [](UOp x) { return x.in(kOps); });
}

// Adds the wrong iteration (if any) to `proof`, as its reason and counterexample.
RewriteProof with_wrong_iteration(RewriteProof proof, const std::optional<WrongIteration>& wrong) {
  if (!wrong) return proof;
  proof.reason =
      wrong->is_lost ? "the new loops may leave out an iteration" : "the new loops may run an iteration twice";
  for (auto& [range, value] : wrong->loop_values) proof.counterexample["r" + range_str(range)] = std::to_string(value);
  proof.counterexample["runs"] = wrong->is_lost ? "0 times" : "twice";
  return proof;
}

}  // namespace

std::vector<RewriteProof> RewriteListProver::decide_rewrites(std::span<const RewriteSides> sides) {
  std::vector<RewriteProof> out;
  std::vector<SidePairs> pairs;
  std::vector<std::string> keys;
  for (size_t i = 0; i < sides.size(); i++) {
    const Rewrite& a = rule_applications_[i];
    const bool is_replaced = a.substitution_target && a.depth == 0;
    if (is_time_over()) {
      out.push_back({.reason = "the time is over", .application_index = i});
      keys.emplace_back(), pairs.emplace_back();
      continue;
    }
    Result<SidePairs> imported = import_sides_(is_replaced ? RewriteSides{a.before, a.after} : sides[i]);
    std::string key = imported && !(is_replaced && a.before.is(Op::RANGE)) ? sides_prover_.cache_key_of(*imported) : "";
    const bool is_kept = sides_prover_.known_verdicts() && !key.empty();
    bool depends_on_other_rewrites = false;
    if (auto known = is_kept ? sides_prover_.known_verdicts()->find_verdict(key) : std::nullopt)
      out.push_back(*known), key = "";
    else out.push_back(decide_with_timing(a, [&] { return decide(i, sides[i], imported, depends_on_other_rewrites); }));
    if (std::string& hash = out.back().rewrite_hash; hash.empty()) hash = key;
    else if (hash.size() != sizeof(Sha256)) hash = hash_of_text(hash);
    out.back().application_index = i;
    keys.push_back(depends_on_other_rewrites || is_time_over() ? "" : std::move(key));
    pairs.push_back(imported ? std::move(*imported) : SidePairs());
  }
  std::vector<RewriteProof*> open;
  std::vector<const SidePairs*> open_pairs;
  for (size_t i = 0; i < out.size(); i++) {
    // do not compare an index of loops that a stage replaces: it may differ, because other indices are replaced, too
    const bool is_replaced = rule_applications_[i].substitution_target && rule_applications_[i].depth == 0 &&
                             depends_only_on_loops(rule_applications_[i].before);
    if (out[i].kind == Kind::Unknown && !is_replaced) open.push_back(&out[i]), open_pairs.push_back(&pairs[i]);
  }
  if (!is_time_over()) sides_prover_.evaluate_open_rewrites(open, open_pairs);
  for (size_t i = 0; i < out.size(); i++)
    if (sides_prover_.known_verdicts() && !keys[i].empty())
      sides_prover_.known_verdicts()->add_verdict(keys[i], out[i]);
  return out;
}

RewriteProof RewriteListProver::decide(const Result<SidePairs>& pairs) {
  return pairs ? sides_prover_.decide_sides(*pairs) : RewriteProof{.reason = pairs.diag().message};
}

// Decides the application `i`, whose sides are `s`. `pairs` are the sides in tgc's IR or, if a stage replaced a node,
// the node and its replacement. Sets `depends_on_other_rewrites` if the verdict also depends on other applications of
// the list.
RewriteProof RewriteListProver::decide(size_t i, const RewriteSides& s, const Result<SidePairs>& pairs,
                                       bool& depends_on_other_rewrites) {
  const Rewrite& a = rule_applications_[i];
  const bool is_replaced = a.substitution_target && a.depth == 0;  // the stage replaced the node, not a rule
  RewriteProof out = decide(pairs);
  if (is_replaced && out.kind != Kind::Proven && a.before.is(Op::RANGE))
    return depends_on_other_rewrites = true, decide_loops(top_rewrite_of(i));
  if (is_replaced && out.kind != Kind::Proven && a.before.is(Op::STORE) && a.after.is(Op::STORE))
    return depends_on_other_rewrites = true, decide_stores(top_rewrite_of(i), a.after);
  if (is_replaced || out.kind == Kind::Proven || !s.before || !s.after) return out;
  RangeMap map = find_replaced_loops(i);
  if (map.empty()) return out;
  depends_on_other_rewrites = true;
  std::optional<WrongIteration> wrong;
  if (!preserves_iterations(map, wrong)) return with_wrong_iteration(std::move(out), wrong);
  for (UOp before : {a.before, gate_repeated_stores(a.before, map)}) {
    if (!before) continue;
    RewriteProof rest = decide(import_sides_({substitute(before, map), a.after}));
    if (rest.kind == Kind::Proven) return rest.proof_method = "loops", rest;
  }
  return out;
}

// Returns true if the new loops are proven to run the same iterations. Else sets `wrong` to an iteration that is lost
// or runs more than once, if one is found.
bool RewriteListProver::preserves_iterations(const RangeMap& map, std::optional<WrongIteration>& wrong) const {
  RangeMap imported;
  for (auto& [range, to] : map) {
    Result<SidePairs> pairs = import_sides_({range, to});
    if (!pairs || pairs->size() != 1 || !(*pairs)[0].before.is(Op::RANGE)) return false;
    imported.emplace_back((*pairs)[0].before, (*pairs)[0].after);
  }
  if (has_same_iterations(imported)) return true;
  wrong = find_wrong_iteration(imported);
  return false;
}

// Returns pairs of a loop that the rule of application `i` replaced by substitutions, and its expression of loops in
// the result of the rule.
RangeMap RewriteListProver::find_replaced_loops(size_t i) const {
  std::map<uint32_t, std::vector<UOp>> targets;  // by node id of a RANGE: its replacements, the last one first
  for (size_t k = i; k-- > first_nested_rewrite(rule_applications_, i);)
    if (rule_applications_[k].substitution_target && rule_applications_[k].depth == rule_applications_[i].depth + 1 &&
        rule_applications_[k].before.is(Op::RANGE))
      targets[rule_applications_[k].before.id()].push_back(rule_applications_[k].substitution_target);
  if (targets.empty()) return {};
  const RangeSet after = ranges_in(rule_applications_[i].after);
  RangeMap out;
  for (UOp u : ranges_in(rule_applications_[i].before)) {
    if (after.contains(u) || !targets.contains(u.id())) continue;
    UOp to = resolve_range(u, targets, after, 0);
    // a loop around the node must keep its index
    if (!to || is_inside_range(rule_applications_[i].before, u)) return {};
    out.emplace_back(u, to);
  }
  return out;
}

const TopLevelRewrite& RewriteListProver::top_rewrite_of(size_t i) const {
  return *std::ranges::find_if(
      graph_rewrites_, [&](const TopLevelRewrite& t) { return std::ranges::binary_search(t.application_indices, i); });
}

// Decides whether the store `after` has the same effect as all stores that the stage replaced by it, together.
RewriteProof RewriteListProver::decide_stores(const TopLevelRewrite& top, UOp after) {
  std::vector<UOp> replaced;
  for (size_t k : top.application_indices)
    if (const Rewrite& a = rule_applications_[k]; a.before.is(Op::STORE) && a.after == after)
      replaced.push_back(a.before);
  RewriteProof out = decide(import_sides_({after.graph().group(replaced), after}));
  if (out.kind == Kind::Proven) out.proof_method = "stores";
  return out;
}

RewriteProof RewriteListProver::decide_loops(const TopLevelRewrite& top) {
  auto [it, is_new] = loop_proofs_.try_emplace(&top);
  if (!is_new) return it->second;
  RangeMap map;
  for (size_t k : top.application_indices)
    if (const Rewrite& a = rule_applications_[k]; a.before.is(Op::RANGE) && a.substitution_target)
      map.emplace_back(a.before, a.after);
  RewriteProof& out = it->second;
  out.reason = "the new loops may run over other iterations";
  // a new loop must not be in the graph already, unless it is replaced itself
  const RangeSet there = ranges_in(top.input);
  for (auto& [from, to] : map)
    for (UOp u : ranges_in(to))
      if (there.contains(u) && std::ranges::find(map, u, &std::pair<UOp, UOp>::first) == map.end()) return out;
  std::optional<WrongIteration> wrong;
  if (preserves_iterations(map, wrong)) return out = {.kind = Kind::Proven, .proof_method = "loops"};
  return out = with_wrong_iteration(std::move(out), wrong);
}

}  // namespace tgc
