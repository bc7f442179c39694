#include "lib/prove/mutant_verdicts.h"

#include <algorithm>
#include <map>
#include <random>

#include "lib/compilation/rewrite_log.h"
#include "lib/prove/counterexample.h"
#include "lib/prove/random_instances.h"
#include "lib/prove/right_sides.h"
#include "lib/prove/stage_runner.h"
#include "lib/rewrite/matcher.h"
#include "lib/support/deadline.h"

namespace tgc {
namespace {

// The errors of a rule that is not mutated. Only an error that its rule does not have refutes a mutant.
struct RuleErrors {
  bool has_value = false;
  bool has_special = false;
  std::optional<bool> is_exact = {};  // the rule is proven to the last bit; nullopt until this is known
};

RuleErrors find_rule_errors(const Rule& rule) {
  RuleErrors out;
  for_each_instance(rule, [&](UOp before, UOp after, const PatternMatch&) {
    SideIsolator isolator(before.graph(), memory_sizes(before));
    for (const ComparedValues& v : isolator.expressions_of({before, after}).compared_values)
      out.has_special |= !out.has_special && find_special_float_witness(isolator.isolator(), v);
    return !(out.has_value = find_counterexample(isolator, {before, after}, 0).has_value());
  });
  if (out.has_value) return out;
  RuleProof proof{.rule = &rule};
  refute_rule(rule, 100, proof);
  return out.has_value = proof.kind == RuleProof::Kind::Refuted, out;
}

// Returns true if no node of the pattern stands for a constant of any value.
bool binds_no_constants(const pat::PatNode* n) {
  const bool is_constant = !n->ops.empty() && OpSet{Op::CONST, Op::VCONST}.contains_all(n->ops) && !n->has_arg;
  return !is_constant && std::ranges::all_of(n->children, binds_no_constants);
}

// Returns the number of instances if, for each, the right sides of the mutant and of its rule are proven equal for all
// values, except for the payload of NaNs; else 0.
size_t count_equal_instances(const RuleMutant& mutant, ProofCache& cache) {
  const Rule& rule = *mutant.right->original;
  if (!binds_no_constants(mutant.rule.left) || are_shapes_needed(mutant.rule)) return 0;
  const Matcher original({&rule});
  size_t out = 0;
  auto is_proven = [&](const RewriteSides& sides) {
    SideIsolator isolator(sides.before.graph(), memory_sizes(sides.before));
    SideExpressions e = isolator.expressions_of(sides);
    if (e.kind == SideExpressions::Kind::Same) return true;
    if (e.kind != SideExpressions::Kind::Values) return false;
    // do not use IEEE arithmetic for long expressions, because it takes minutes
    const bool is_short = toposort(sides.before).size() + toposort(sides.after).size() < 100;
    Prover prover(isolator.isolator(), cache, {.ieee_rlimit = 200'000});
    return std::ranges::all_of(e.compared_values, [&](const ComparedValues& v) {
      if (find_special_float_witness(isolator.isolator(), v)) return false;
      ProofOutcome proof = prover.prove_values(v, !is_short);
      return proof.kind == ProofOutcome::Kind::Proven && proof.sense <= FloatSense::Exact;
    });
  };
  const bool are_all = for_each_instance(mutant.rule, [&](UOp before, UOp after, const PatternMatch&) {
    RuleHit hit;
    UOp right = original.rewrite(before, nullptr, nullptr, hit);
    // prove both directions, so that both sides are defined for the same values
    const bool is_equal = right && (right == after || (is_proven({right, after}) && is_proven({after, right})));
    out = is_equal ? out + 1 : 0;
    return is_equal;
  });
  return are_all ? out : 0;
}

std::optional<Counterexample> find_mutant_error(const RuleMutant& mutant, const std::function<bool()>& is_rule_exact) {
  const Matcher original({mutant.right->original});
  std::optional<Counterexample> out;
  for_each_instance(mutant.rule, [&](UOp before, UOp after, const PatternMatch&) {
    RuleHit hit;
    UOp right = original.rewrite(before, nullptr, nullptr, hit);
    if (right == after || (!right && (!dtypes::is_float(before.dtype()) || !is_rule_exact()))) return true;
    SideIsolator isolator(before.graph(), memory_sizes(before));
    SideExpressions wrong_values = isolator.expressions_of({before, after});
    SideExpressions right_values = right ? isolator.expressions_of({before, right}) : SideExpressions();
    if (wrong_values.compared_values.size() == 1 && (!right || right_values.compared_values.size() == 1))
      out = find_larger_error(isolator.isolator(), wrong_values.compared_values[0],
                              right ? &right_values.compared_values[0] : nullptr);
    return !out;
  });
  return out;
}

}  // namespace

MutantReport prove_mutants(const MutantOptions& o, const std::function<void(const std::string&)>& print) {
  ProofCache cache;
  std::vector<RuleMutant> all;
  for (const CatalogRule& r : catalog_rules())
    if (is_rewrite(*r.rule) && is_value_rule(*r.rule))
      for (RuleMutant& m : mutants_of_rule(*r.rule)) all.push_back(std::move(m));
  MutantReport out{.num_candidates = all.size()};
  std::mt19937_64 random(o.seed);
  for (size_t i = all.size(); i > 1; i--) std::swap(all[i - 1], all[random() % i]);
  std::map<const Rule*, RuleErrors> errors;
  for (const RuleMutant& m : all) {
    if (out.num_drawn() == o.num_mutants_to_draw) break;
    const Rule& original = *m.right->original;
    std::string line = std::string(original.name) + "  " + location_of_rule(original) + "  " + m.change_text;
    auto occurs = [&](const std::string& text) { return line.find(text) != line.npos; };
    if (!o.name_filters.empty() && std::ranges::none_of(o.name_filters, occurs)) continue;
    const double begin = thread_seconds();
    auto [it, is_new] = errors.try_emplace(&original);
    if (is_new) it->second = find_rule_errors(original);
    if (it->second.has_value) continue;  // skip the rule, because its own error could refute a mutant
    RuleProof proof{.rule = &m.rule};
    const size_t same = count_equal_instances(m, cache);
    if (!same)
      if (auto done = catch_failures([&] { return proof = prove_rule(m.rule, cache), true; }); !done)
        proof.reason = done.diag().message;
    const size_t equal = proof.kind == RuleProof::Kind::Proven ? proof.num_instances : same;
    auto is_rule_exact = [&, &rule = it->second] {
      if (!rule.is_exact) {
        const RuleProof own = prove_rule(original, cache);
        rule.is_exact = own.kind == RuleProof::Kind::Proven && own.sense <= FloatSense::Exact;
      }
      return *rule.is_exact;
    };
    std::string_view verdict = "refuted";
    if (!proof.counterexample.empty()) out.num_refuted++;
    else if (auto own = same ? std::nullopt : find_mutant_error(m, is_rule_exact);
             own || (!proof.special_inputs.empty() && !it->second.has_special)) {
      out.num_refuted++, out.num_refuted_beside_rule++, verdict = "refuted beside its rule";
      proof.counterexample = own ? own->point : proof.special_inputs;
    } else if (equal) out.num_equivalent++, verdict = "equivalent";
    else out.num_open++, verdict = "open";
    line += ": " + std::string(verdict);
    if (verdict == "equivalent") line += " in " + std::to_string(equal) + " instances";
    if (verdict == "open") line += ", " + proof.reason;
    for (auto& [name, value] : proof.counterexample) line += ", " + name + " = " + value;
    print(line);
    if (o.name_filters.empty()) continue;
    if (!proof.before.empty()) print(proof.before + "\n  ->\n" + proof.after);
    print(std::to_string(thread_seconds() - begin) + " s");
  }
  return out;
}

}  // namespace tgc
