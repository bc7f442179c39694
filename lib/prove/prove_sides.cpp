#include "lib/prove/prove_sides.h"

#include <algorithm>
#include <cmath>

#include "lib/prove/contracts.h"
#include "lib/prove/counterexample.h"
#include "lib/prove/launch_contract.h"
#include "lib/prove/side_evaluator.h"
#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"
#include "lib/validate/side_expressions.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

void merge_float_sense(RewriteProof& to, bool has_floats, FloatSense sense) {
  to.has_floats |= has_floats;
  to.sense = std::max(to.sense, sense);
}

// Returns the proof for a value whose terms are added in another order: for floats, only over the reals.
RewriteProof proof_over_reals(UOp before, std::string_view by) {
  RewriteProof out{.kind = Kind::Proven, .has_floats = dtypes::is_float(before.dtype()), .proof_method = by};
  if (out.has_floats) out.sense = FloatSense::Real;
  return out;
}

bool has_no_leaves(UOp u) {
  return std::ranges::all_of(toposort(u), [](UOp x) {
    return x.in(ops::ALU | OpSet{Op::CONST, Op::VCONST, Op::CAST, Op::BITCAST, Op::VECTORIZE, Op::GEP});
  });
}

bool has_reduce(UOp root) {
  return std::ranges::any_of(toposort(root), [](UOp u) { return u.is(Op::REDUCE); });
}

std::vector<UOp> outermost_reduces(UOp root) {
  std::vector<UOp> out;
  for (UOp u : toposort(root, [](UOp x) { return !x.is(Op::REDUCE); }))
    for (UOp s : u.src())
      if (s.is(Op::REDUCE) && std::ranges::find(out, s) == out.end()) out.push_back(s);
  return out;
}

// Returns the relative difference that a few roundings of the dtype explain.
double rounding_tolerance(DType d) {
  return dtypes::is_float(d) ? std::ldexp(4.0, -dtypes::finfo(d.scalar()).mantissa_bits) : 0;
}

}  // namespace

RewriteProof SidesProver::decide_sides(const SidePairs& pairs) {
  if (pairs.size() == 1) return decide_sides(pairs[0]);
  RewriteProof out{.kind = Kind::Proven, .proof_method = "same"};
  for (const RewriteSides& s : pairs) {
    RewriteProof one = decide_sides(s);
    out.rewrite_hash += one.rewrite_hash;
    if (one.kind != Kind::Proven) return one.rewrite_hash = out.rewrite_hash, one;
    merge_float_sense(out, one.has_floats, one.sense);
    if (out.proof_method == "same") out.proof_method = one.proof_method;
  }
  return pairs.empty() ? RewriteProof{.reason = "the sides cannot be compared"} : out;
}

RewriteProof SidesProver::decide_sides(const RewriteSides& s, bool over_reals) {
  if (!s.before || !s.after) return {.reason = "the sides cannot be compared"};
  RewriteProof out{.kind = Kind::Proven, .proof_method = "same"};
  if (s.before == s.after) return out;
  if (lane_forms_.are_same(s.before, s.after)) {
    out.proof_method = "lanes";
    if (has_reduce(s.before) && !ordered_lane_forms_.are_same(s.before, s.after))
      out.has_floats = true, out.sense = FloatSense::Real;
    return out;
  }
  if (is_same_memory(s.before, s.after)) return out.proof_method = "memory", out;
  if (is_loop_split_into_parts(s.before, s.after)) return out.proof_method = "loops", out;
  if (is_reduced_by_groups(s.before, s.after)) return proof_over_reals(s.before, "groups");
  if (is_shared_by_group(s.before, s.after)) return out.proof_method = "groups", out;
  if (is_accumulator_of(s.before, s.after, lane_forms_)) return proof_over_reals(s.before, "accumulator");
  if (auto terms = terms_times_factors(s.before, s.after)) return prove_equal_sums(terms->first, terms->second);
  if (auto terms = terms_over_same_loops(s.before, s.after)) {
    RewriteProof proof = decide_sides(RewriteSides{terms->first, terms->second}, over_reals);
    if (dtypes::is_float(s.before.dtype()) && !have_same_loop_order(s.before, s.after))
      merge_float_sense(proof, true, FloatSense::Real);
    if (proof.kind == Kind::Proven) return proof.proof_method = "terms", proof;
  }
  if (const SelectedTerm term = select_term(s.before); term.value) {
    RewriteProof proof = decide_sides(RewriteSides{term.value, s.after}, over_reals);
    const FloatSense weakest = term.needs_finite_terms ? FloatSense::Finite : FloatSense::ButNan;
    // the sum 0 + -0 is 0, but the term is -0
    if (dtypes::is_float(s.before.dtype())) merge_float_sense(proof, true, weakest);
    if (proof.kind == Kind::Proven) return proof.proof_method = "terms", proof;
  }
  if (dtypes::is_float(s.before.dtype()) && has_no_leaves(s.before) && has_no_leaves(s.after))
    // evaluate_constants() may decide it later
    return {.proof_method = "constants", .reason = "constants that differ"};
  SideExpressions e = side_isolator_.expressions_of(s);
  switch (e.kind) {
    case SideExpressions::Kind::Same: return out;
    case SideExpressions::Kind::Unlike: return {.reason = "the sides have different dtypes"};
    case SideExpressions::Kind::Open: return decide_by_parts(s);
    default: break;
  }
  out.proof_method = "values";
  for (const ComparedValues& v : e.compared_values) {
    ProofOutcome one = prover_.prove_values(v, over_reals);
    merge_float_sense(out, one.has_floats, one.sense);
    out.rewrite_hash += one.question_hash;
    if (one.kind != ProofOutcome::Kind::Proven)
      return {.proof_method = "values", .reason = one.open_reason, .rewrite_hash = out.rewrite_hash};
  }
  return out;
}

RewriteProof SidesProver::prove_equal_sums(UOp before, UOp after) {
  RewriteProof terms = decide_sides(RewriteSides{before, after}, true);
  return terms.kind == Kind::Proven ? proof_over_reals(before, "terms") : terms;
}

// Decides nodes without values: ENDs of the same loops by the nodes inside, SINKs and GROUPs source by source, and
// other nodes by decide_around_reduces().
RewriteProof SidesProver::decide_by_parts(const RewriteSides& s) {
  RewriteProof out{.kind = Kind::Proven, .proof_method = "stores"}, open{.reason = "no values to compare"};
  if (are_ends_of_same_loops(s.before, s.after))
    return decide_sides(RewriteSides{remove_ends(s.before), remove_ends(s.after)});
  const bool holds =
      s.before.in({Op::SINK, Op::GROUP}) && s.before.op() == s.after.op() && s.before.num_src() == s.after.num_src();
  if (!holds) return decide_around_reduces(s);
  for (size_t i = 0; i < s.before.num_src(); i++) {
    RewriteProof one = decide_sides(RewriteSides{s.before.src(i), s.after.src(i)});
    if (one.kind != Kind::Proven) return open.reason = one.reason, open;
    merge_float_sense(out, one.has_floats, one.sense);
  }
  return out;
}

// Decides sides with REDUCEs that cannot be evaluated. If each outermost REDUCE of one side is proven equal to one of
// the other side, to the last bit, replaces both by one unknown value.
RewriteProof SidesProver::decide_around_reduces(const RewriteSides& s) {
  constexpr size_t kMost = 16;
  const RewriteProof open{.reason = "no values to compare"};
  if (s.before.is(Op::REDUCE) || s.after.is(Op::REDUCE)) return open;
  const std::vector<UOp> before = outermost_reduces(s.before);
  std::vector<UOp> after = outermost_reduces(s.after);
  if (before.empty() || before.size() != after.size() || before.size() > kMost) return open;
  Substitution of_before, of_after;
  for (UOp b : before) {
    auto is_equal = [&](UOp a) {
      if (a.dtype() != b.dtype()) return false;
      const RewriteProof proof = decide_sides(RewriteSides{b, a});
      return proof.kind == Kind::Proven && (!proof.has_floats || proof.sense == FloatSense::Uninterpreted);
    };
    auto a = std::ranges::find_if(after, is_equal);
    if (a == after.end()) return open;
    Graph& graph = b.graph();
    const UOp value = graph.node(Op::CUSTOM, b.dtype(), {}, graph.str("reduce " + std::to_string(of_before.size())));
    of_before.emplace_back(b, value), of_after.emplace_back(*a, value);
    after.erase(a);
  }
  RewriteProof rest = decide_sides(RewriteSides{substitute(s.before, of_before), substitute(s.after, of_after)});
  // a proof for finite values is not enough, because the unknown values may be infinite
  return rest.kind == Kind::Proven && rest.has_floats && rest.sense == FloatSense::Finite ? open : rest;
}

std::optional<double> SidesProver::largest_error_of(const SidePairs& pairs) {
  std::optional<double> out;
  for (const RewriteSides& s : pairs)
    if (const auto error = s.before && s.after ? largest_error(side_isolator_, s) : std::nullopt)
      out = std::max(out.value_or(0), *error);
  return out;
}

std::map<std::string, std::string> SidesProver::special_counterexample(const SidePairs& pairs) {
  for (const RewriteSides& s : pairs)
    if (s.before && s.after)
      if (auto found = find_special_float_witness(side_isolator_, s)) return found->point;
  return {};
}

std::string SidesProver::cache_key_of(const SidePairs& pairs) {
  std::string out;
  for (const RewriteSides& s : pairs) {
    if (!s.before || !s.after) return "";
    for (const Sha256* key : {&node_keys_.key_of(s.before), &node_keys_.key_of(s.after)})
      out.append(reinterpret_cast<const char*>(key->data()), key->size());
  }
  if (has_infinities_ && !out.empty()) out += "may be infinite";
  return out.empty() ? out : hash_of_text(out);
}

void SidesProver::evaluate_open_rewrites(std::span<RewriteProof* const> open, std::span<const SidePairs* const> pairs,
                                         bool asks_z3) {
  std::vector<RewriteSides> constants, all;
  std::vector<RewriteProof*> of_constants, of;
  for (size_t i = 0; i < open.size(); i++) {
    auto are_closed = [](const RewriteSides& s) {
      return s.before && s.after && has_no_leaves(s.before) && has_no_leaves(s.after);
    };
    const bool is_constant = !pairs[i]->empty() && std::ranges::all_of(*pairs[i], are_closed);
    for (RewriteSides s : *pairs[i]) {
      all.push_back(s), of.push_back(open[i]);
      if (!is_constant) continue;
      s.tolerance = rounding_tolerance(s.before.dtype());
      constants.push_back(s), of_constants.push_back(open[i]);
    }
  }
  evaluate_constants(constants, of_constants);
  if (all.empty()) return;
  auto results = compare_in_batches(all, {}, {}, 1);
  if (!results) return;
  std::map<RewriteProof*, bool> is_open;
  for (size_t i = 0; i < of.size(); i++) {
    const EquivalenceResult& e = (*results)[i];
    RewriteProof& r = *of[i];
    const bool differs = e.kind == EquivalenceResult::Kind::Differ;
    is_open[&r] |= (e.kind != EquivalenceResult::Kind::Same && !differs) || is_bounds_comparison(all[i]);
    if (r.kind == Kind::Refuted) continue;
    if (differs && !e.is_beyond_rounding) continue;
    // prefer this counterexample to the sample point, because it is easier to read
    if (auto found =
        asks_z3 ? find_counterexample(side_isolator_, all[i]) : find_counterexample(side_isolator_, all[i], 0)) {
      r.kind = Kind::Refuted, r.counterexample = found->point;
    } else if (differs) {
      r.kind = Kind::Refuted, r.counterexample = e.witness;
      r.counterexample["before"] = e.before, r.counterexample["after"] = e.after;
    }
  }
  for (size_t i = 0; i < of.size(); i++) {  // a sum of Invalid terms is Invalid, but the import replaces them by 0
    RewriteProof& r = *of[i];
    if (r.kind != Kind::Refuted || r.counterexample["after"] != "Invalid" || !has_reduce(all[i].before)) continue;
    r.kind = Kind::Unknown, r.reason = "its sides differ in a sum of Invalid terms", r.counterexample.clear();
  }
  for (auto [r, is_unknown] : is_open)
    if (r->kind == Kind::Unknown && !is_unknown) r->kind = Kind::Sampled, r->counterexample.clear();
}

// Returns true if only the first and the last index of the loop can be compared.
bool SidesProver::is_bounds_comparison(const RewriteSides& s) {
  if (!s.before || !s.before.is(Op::RANGE) || s.before == s.after) return false;
  return std::ranges::any_of(side_isolator_.expressions_of(s).compared_values, &ComparedValues::is_bounds_comparison);
}

// Proves those rewrites of constants for which REF computes the same value up to rounding: a folded constant is rounded
// once, and the expression in each op.
void SidesProver::evaluate_constants(std::span<const RewriteSides> sides, std::span<RewriteProof* const> of) {
  if (sides.empty()) return;
  auto results = compare_in_batches(sides, {}, {}, 1);
  if (!results) return;
  std::map<RewriteProof*, RewriteProof> proofs;
  for (size_t i = 0; i < of.size(); i++) {
    const EquivalenceResult& e = (*results)[i];
    const RewriteProof proven{.kind = Kind::Proven, .proof_method = "constants"};
    RewriteProof& proof = proofs.try_emplace(of[i], proven).first->second;
    if (e.kind != EquivalenceResult::Kind::Same) proof.kind = Kind::Unknown;
    merge_float_sense(proof, dtypes::is_float(sides[i].before.dtype()),
                      e.is_exact ? FloatSense::Uninterpreted : FloatSense::Rounding);
  }
  for (auto& [r, proof] : proofs)
    if (proof.kind == Kind::Proven)
      proof.application_index = r->application_index, proof.rewrite_hash = r->rewrite_hash, *r = proof;
}

}  // namespace tgc
