#include "lib/prove/prove_rules.h"

#include <algorithm>
#include <functional>

#include "lib/compilation/rewrite_log.h"
#include "lib/prove/counterexample.h"
#include "lib/prove/random_instances.h"
#include "lib/prove/right_sides.h"
#include "lib/prove/rule_instances.h"
#include "lib/prove/rule_specs.h"
#include "lib/prove/stage_runner.h"
#include "lib/rewrite/matcher.h"
#include "lib/rewrite/rewrite.h"
#include "lib/support/deadline.h"
#include "lib/target/target.h"
#include "lib/validate/side_expressions.h"

namespace tgc {
namespace {

using Kind = RuleProof::Kind;
using CapturedNodes = std::array<UOp, pat::kNumCaptures>;

// A condition on the operands under which a refuted rule may be right, such as x >= 0.
struct RuleCondition {
  std::string text;
  // Returns the condition for an instance, as a bool; null if it cannot be stated for this instance.
  std::function<UOp(UOp before, UOp after, const CapturedNodes&)> make_test;
};

std::vector<RuleCondition> candidate_conditions(const Rule& rule) {
  std::vector<RuleCondition> out;
  for (bool is_exact : {true, false})
    out.push_back({"no integer overflows", [is_exact](UOp before, UOp after, const CapturedNodes&) {
                     return no_overflow_condition(before, is_exact) & no_overflow_condition(after, is_exact);
                   }});
  std::vector<int> names;
  std::function<void(const pat::PatNode*)> visit = [&](const pat::PatNode* n) {
    bool is_leaf = n->ops.empty() || (n->children.empty() && n->ops.intersects({Op::CONST, Op::VCONST}));
    if (is_leaf && n->capture >= 0 && std::ranges::find(names, n->capture) == names.end()) names.push_back(n->capture);
    for (const pat::PatNode* c : n->children) visit(c);
  };
  visit(rule.left);
  auto each = [&](const std::string& test, std::function<UOp(UOp)> of) {
    auto bounded = [of](UOp u) { return dtypes::is_bool(u.dtype()) || !u.dtype().is_value() ? UOp() : of(u); };
    for (int name : names)
      out.push_back({std::string(pat::name_of_capture(name)) + test, [=](UOp, UOp, const CapturedNodes& captured) {
                       return captured[size_t(name)] ? bounded(captured[size_t(name)]) : UOp();
                     }});
  };
  each(" != 0", [](UOp u) { return u.ne(0); });
  each(" >= 0", [](UOp u) { return u.lt(0).logical_not(); });
  each(" > 0", [](UOp u) { return u.gt(0); });
  return out;
}

RewriteSides restrict_sides(UOp before, UOp after, UOp when) {
  if (!when) return {before, after};
  UOp zero = before.const_like(0);
  return {when.where(before, zero), when.where(after, zero)};
}

// Casts scalar sides of different dtypes to float64 or, if none is a float, to an index, to compare their numbers.
RewriteSides cast_to_common_dtype(const RewriteSides& s) {
  const DType a = s.before.dtype(), b = s.after.dtype();
  if (a == b || a.count() > 1 || b.count() > 1 || !a.is_value() || !b.is_value()) return s;
  const DType d = dtypes::is_float(a) || dtypes::is_float(b) ? dtypes::float64 : dtypes::index;
  return {s.before.cast(d), s.after.cast(d)};
}

// Returns true if the bounds of an index in `u` exceed 64 bits, so that REF cannot compute it.
bool has_index_over_64_bits(UOp u) {
  return std::ranges::any_of(toposort(u), [](UOp n) {
    if (!n.dtype().is(Scalar::Index) || n.is_invalid() || !n.vmin().is_integral() || !n.vmax().is_integral())
      return false;
    return std::max(n.vmin().to_int().abs(), n.vmax().to_int().abs()).bit_length() > 63;
  });
}

class RuleProver {
 public:
  RuleProver(const Rule& rule, ProofCache& cache, const RuleLimits& limits)
      : rule_(rule), cache_(cache), limits_(limits) {
    proof_.rule = &rule;
  }

  RuleProof run() {
    std::vector<const Rule*> specs = specifications_of(rule_);
    proof_.is_by_specification = !specs.empty();
    if (right_side_kind(rule_) == RightSideKind::Algebra) specs = {&rule_};
    const bool is_general =
        !specs.empty() && std::ranges::all_of(specs, [&](const Rule* s) { return prove_symbolic_instances(*s, {}); });
    const std::string open = proof_.reason;
    // Run the C++ code on instances. If the rule is proven, and its data describe the code, the sides of an instance
    // can only differ because bounds (vmin, vmax) are wrong, or the assumption assumption_text_ does not hold.
    const bool is_covered = run_instances(specs, is_general);
    if (proof_.kind == Kind::Refuted) {
      if (is_covered) find_condition(specs, is_general);
    } else if (is_general && is_covered && assumption_text_.empty()) {
      proof_.kind = Kind::Proven, proof_.reason.clear(), proof_.before.clear(), proof_.after.clear();
      proof_.has_assumed_bounds = std::ranges::any_of(specs, [](const Rule* s) { return has_bounds_guard(*s); });
    } else if (num_open_ || !proof_.num_instances) {
      if (!proof_.num_instances && proof_.reason.empty()) proof_.reason = "no instance of the pattern could be made";
    } else {
      proof_.kind = Kind::Instances;
      proof_.reason = specs.empty()       ? "the right side is a function"
                 : !open.empty()     ? open
                 : !num_applied_         ? "the code applies to no instance that was made"
                 : !is_covered       ? "the data of the rule differ from its code"
                                     : "proven for " + assumption_text_ + " only";
    }
    if (proof_.kind != Kind::Proven && proof_.kind != Kind::Conditional) proof_.is_by_specification = false;
    return std::move(proof_);
  }

 private:
  static constexpr size_t kMaxTriedInstances = 30'000;

  struct ProofAnswer {
    bool is_proven = false;
    std::string open_reason = {};
  };

  // With `notes_special`, also searches for special values for which a proof that is not bit-exact does not hold.
  ProofAnswer prove(Graph& graph, const RewriteSides& sides, bool notes_special = false) {
    SideIsolator isolator(graph, memory_sizes(sides.before));
    SideExpressions e = isolator.expressions_of(sides);
    if (e.kind == SideExpressions::Kind::Same) return {true};
    if (e.kind == SideExpressions::Kind::Unlike) return {false, "the sides have different dtypes"};
    if (e.compared_values.empty()) return {false, "no values to compare"};
    if (std::ranges::none_of(toposort(sides.before), [](UOp u) { return u.in({Op::LOAD, Op::INDEX, Op::DEFINE_VAR}); }))
      return compare_constant_sides(sides);
    const uint64_t rlimit = is_symbolic_ ? limits_.symbolic_rlimit : limits_.rlimit;
    Prover prover(isolator.isolator(), cache_,
                  {.bits_rlimit = rlimit, .numbers_rlimit = rlimit, .ieee_rlimit = limits_.ieee_rlimit});
    for (const ComparedValues& v : e.compared_values) {
      ProofOutcome one = prover.prove_values(v);
      if (one.kind != ProofOutcome::Kind::Proven) return {false, one.open_reason};
      proof_.has_floats |= one.has_floats;
      proof_.sense = std::max(proof_.sense, one.sense);
      if (notes_special && one.sense >= FloatSense::ButNan && proof_.special_inputs.empty())
        if (auto found = find_special_float_witness(isolator.isolator(), v)) proof_.special_inputs = found->point;
    }
    return {true};
  }

  std::optional<Counterexample> search_counterexample(Graph& graph, const RewriteSides& sides, uint64_t rlimit) {
    auto found = catch_failures([&] {
      SideIsolator isolator(graph, memory_sizes(sides.before));
      return find_counterexample(isolator, sides, rlimit);
    });
    return found ? *found : std::nullopt;
  }

  // Two sides without leaves have one value each. They count as equal if the left one is undefined.
  ProofAnswer compare_constant_sides(const RewriteSides& sides) {
    const UOp defined = defined_condition(sides.before);
    const RewriteSides checked = defined.is_const() ? sides : restrict_sides(sides.before, sides.after, defined);
    auto results = compare_sides({&checked, 1}, {}, {}, 1);
    if (!results) return {false, "REF cannot evaluate the sides: " + results.diag().message};
    const EquivalenceResult& r = (*results)[0];
    if (r.kind != EquivalenceResult::Kind::Same) return {false, "the numbers differ"};
    if (dtypes::is_float(sides.before.dtype())) {
      proof_.has_floats = true;
      proof_.sense = std::max(proof_.sense, r.is_exact ? FloatSense::Exact : FloatSense::Rounding);
    }
    return {true};
  }

  // Returns true if a bool may be true: REF finds values for which it is, or Z3 cannot prove that it never is.
  bool may_be_true(Graph& graph, UOp test) {
    if (test.is_const()) return test.arg().to_const().truthy();
    RewriteSides never{test.cast(dtypes::int32), test.cast(dtypes::int32).const_like(0)};
    if (search_counterexample(graph, never, 0)) return true;
    auto sense = proof_.sense;
    bool denied = prove(graph, never).is_proven && proof_.sense <= FloatSense::Exact;
    proof_.sense = sense;
    return !denied;
  }

  // Tries to prove all instances with unknown values in place of constants, under `condition` if it is not null.
  // Returns false at the first instance that is not proven, and if none could be made.
  bool prove_symbolic_instances(const Rule& spec, const RuleCondition* condition) {
    RuleInstances instances(spec, true);
    size_t proven = 0, made = 0;
    is_symbolic_ = true;
    auto fails = [&](const std::string& why, UOp before, UOp after) {
      if (proof_.reason.empty()) {
        proof_.reason = why;
        if (before) proof_.before = describe(before);
        if (after) proof_.after = describe(after);
      }
      return false;
    };
    for (;;) {
      Graph graph;
      std::optional<UOp> before = instances.next_instance(graph);
      if (!before) break;
      if (!*before) continue;
      if (++made > limits_.max_symbolic_instances) return fails("the pattern has too many instances", {}, {});
      std::optional<std::vector<RightSide>> sides;
      auto built = catch_failures([&] {
        sides = right_sides_of(spec, *before, instances.captured_nodes().data());
        return true;
      });
      if (!built) continue;
      if (!sides) return fails("a guard or the right side is a function", {}, {});
      for (const RightSide& side : *sides) {
        if (side.right_node == *before) {
          proven++;
          continue;
        }
        UOp when = side.condition;
        if (condition) {
          UOp more = condition->make_test(*before, side.right_node, instances.captured_nodes());
          if (!more) return false;
          when = conjunction_of(when, more);
        }
        UOp defined = defined_condition(*before);
        if ((when || !defined.is_const()) && !may_be_true(graph, conjunction_of(when, defined))) continue;
        if (side.right_node.dtype() != before->dtype())
          return fails("the sides have different dtypes", *before, side.right_node);
        ProofAnswer answer = prove(graph, restrict_sides(*before, side.right_node, when), !condition);
        if (!answer.is_proven) return fails(answer.open_reason, *before, side.right_node);
        if (!side.assumption_text.empty()) assumption_text_ = side.assumption_text;
        proven++;
      }
    }
    proof_.num_instances += proven;
    return proven || fails("no instance of the pattern could be made", {}, {});
  }

  UOp apply_matcher(const Matcher& matcher, UOp before) {
    RuleHit hit;
    if (!rule_.is_ctx_used) return matcher.rewrite(before, nullptr, nullptr, hit);
    // the context of rules in the stages of a kernel is the target
    static const Target target = std::move(parse_target("CPU:CLANG", Settings()).value_or_throw());
    return matcher.rewrite(before, const_cast<Target*>(&target), type_key<Target>(), hit);
  }

  // If the right side is data, builds it from `captured`, the nodes that the instance bound to the names: the matcher
  // might bind other nodes.
  UOp apply_rule_code(const Matcher& own, UOp before, const CapturedNodes& captured) {
    if (right_side_kind(rule_) != RightSideKind::Algebra) return apply_matcher(own, before);
    PatternMatch match{before, captured.data(), nullptr, nullptr};
    return apply_rule(rule_, match);
  }

  // Runs the C++ code on instances with constants. Returns true if the rule's data describe the results of the code.
  // Sets proof_.kind to Refuted if REF refutes an instance.
  bool run_instances(const std::vector<const Rule*>& specs, bool is_general) {
    const bool is_data = right_side_kind(rule_) == RightSideKind::Algebra;
    const bool has_shapes = !is_data || are_shapes_needed(rule_);
    const Matcher own({&rule_}), data(specs);
    is_symbolic_ = false;
    const std::vector<size_t> chosen = choose_instances(own, has_shapes);
    RuleInstances instances(rule_, false, has_shapes);
    bool covers = !chosen.empty();
    num_applied_ = chosen.size();
    size_t number = 0;
    for (size_t wanted : chosen) {
      Graph graph;
      std::optional<UOp> before;
      for (; number <= wanted; number++) before = instances.next_instance(graph);
      UOp after = apply_rule_code(own, *before, instances.captured_nodes());
      // if the data differ from the code once, the proof of the data is useless, and all instances must be proven
      bool agrees = covers && (is_data ? data_describes_result(graph, *before, after, instances.captured_nodes())
                               : !specs.empty() && specifies_same_result(graph, data, *before, after));
      if (!agrees && is_general && is_rewritten_by_earlier_rule(*before)) continue;
      if (!agrees && covers && is_general) proof_.before = describe(*before), proof_.after = describe(after);
      covers &= agrees;
      if (is_general && agrees && !has_bounds_guard(rule_)) continue;
      decide_instance(graph, *before, after, !is_general || !agrees);
      if (proof_.kind == Kind::Refuted) return covers;
      if (num_open_ > limits_.max_open_instances) break;
    }
    return covers;
  }

  std::vector<size_t> choose_instances(const Matcher& own, bool has_shapes) {
    std::vector<size_t> all;
    RuleInstances instances(rule_, false, has_shapes);
    size_t number = 0;
    for (bool more = true; more;) {
      Graph graph;
      for (int i = 0; i < 64 && more; i++, number++) {
        std::optional<UOp> before = instances.next_instance(graph);
        more = before.has_value() && number < kMaxTriedInstances;
        if (!more || !*before) continue;
        auto applies = catch_failures([&] {
          UOp after = apply_rule_code(own, *before, instances.captured_nodes());
          return after && after != *before;
        });
        if (applies && *applies) all.push_back(number);
        else if (all.empty()) works_on_vectors_ = works_on_vectors_ || applies_to_vectors(own, *before);
      }
    }
    if (all.size() <= limits_.max_instances) return all;
    std::vector<size_t> out;
    for (size_t i = 0; i < limits_.max_instances; i++)
      out.push_back(all[i * all.size() / limits_.max_instances]);
    return out;
  }

  bool data_describes_result(Graph& graph, UOp before, UOp after, const CapturedNodes& captured) {
    std::optional<std::vector<RightSide>> sides;
    auto built = catch_failures([&] {
      sides = right_sides_of(rule_, before, captured.data());
      return true;
    });
    if (!built || !sides) return false;
    auto sense = proof_.sense;
    bool found = std::ranges::any_of(*sides, [&](const RightSide& side) {
      if (side.right_node == after) return true;
      if (side.right_node.dtype() != after.dtype()) return false;
      if (side.condition && side.condition.simplify().is_const() &&
          !side.condition.simplify().arg().to_const().truthy())
        return false;
      return prove(graph, restrict_sides(after, side.right_node, side.condition)).is_proven;
    });
    proof_.sense = sense;
    return found;
  }

  // Returns true if a specification makes `after` of `before`, or a node that is proven equal in FloatSense::Exact.
  bool specifies_same_result(Graph& graph, const Matcher& data, UOp before, UOp after) {
    UOp specified;
    auto made = catch_failures([&] {
      RuleHit hit;
      specified = data.rewrite(before, nullptr, nullptr, hit);
      return true;
    });
    if (!made || !specified) return false;
    if (specified == after) return true;
    auto sense = std::exchange(proof_.sense, FloatSense::Uninterpreted);
    bool same = prove(graph, {after, specified}).is_proven && proof_.sense <= FloatSense::Exact;
    proof_.sense = sense;
    return same;
  }

  // Returns true if the rule also applies to the same op on vectors.
  bool applies_to_vectors(const Matcher& matcher, UOp before) {
    if (before.dtype().count() != 1) return false;
    auto made = catch_failures([&] {
      for (int64_t n : {2, 4, 8}) {
        std::vector<UOp> src;
        for (UOp s : before.src()) src.push_back(s.broadcast(n));
        UOp wide = before.graph().node(before.op(), before.dtype().vec(n), src, before.arg());
        if (UOp after = apply_matcher(matcher, wide); after && after != wide) return true;
      }
      return false;
    });
    return made && *made;
  }

  void decide_instance(Graph& graph, UOp before, UOp after, bool must_prove) {
    // compare only where the left side is defined: elsewhere, the right side may have any value
    UOp defined = defined_condition(before);
    const RewriteSides numbers = cast_to_common_dtype({before, after});
    RewriteSides sides = restrict_sides(numbers.before, numbers.after, defined.is_const() ? UOp() : defined);
    const bool can_compare = !has_index_over_64_bits(before) && !has_index_over_64_bits(after);
    constexpr size_t kSampled = 40;
    std::optional<Counterexample> found;
    if (can_compare && (!must_prove || num_open_ || num_decided_++ < kSampled))
      found = search_counterexample(graph, sides, 0);
    ProofAnswer answer;
    // ask Z3 about floats even if they differ in REF, because rounding may be the cause
    if (must_prove && (!found || dtypes::is_float(before.dtype()))) {
      if (num_open_) answer.open_reason = proof_.reason;  // the rule is not proven in any case, so do not ask Z3
      else if ((answer = prove(graph, {before, after}, true)).is_proven) {
        proof_.num_instances++;
        return;
      } else if (can_compare && !found) found = search_counterexample(graph, sides, limits_.rlimit);
    }
    if (!can_compare) return;
    const bool differs = found.has_value();
    if (!differs && !must_prove) return;
    if (is_rewritten_by_earlier_rule(before)) return;
    if (differs || !num_open_)
      proof_.before = describe(before), proof_.after = describe(after), proof_.reason = answer.open_reason;
    if (!differs) {
      num_open_++;
      return;
    }
    proof_.kind = Kind::Refuted, proof_.reason.clear();
    proof_.counterexample = found->point;
  }

  // Returns true if an earlier rule of the set rewrites the node, so that this rule is not applied to it.
  bool is_rewritten_by_earlier_rule(UOp before) const {
    std::vector<const Rule*> earlier;
    for (uint32_t rule_id = rule_.rule_id; rule_id-- > 0;) {
      const Rule* r = rule_of_id(rule_id);
      if (!r || r->rule_set_name != rule_.rule_set_name || r->is_ctx_used) break;
      earlier.push_back(r);
    }
    if (earlier.empty() || rule_of_id(rule_.rule_id) != &rule_) return false;
    auto taken = catch_failures([&] {
      RuleHit hit;
      UOp u = Matcher(earlier).rewrite(before, nullptr, nullptr, hit);
      return u && u != before;
    });
    return taken && *taken;
  }

  // Searches for a condition under which the refuted rule is proven.
  void find_condition(const std::vector<const Rule*>& specs, bool is_proven_by_bounds) {
    if (is_proven_by_bounds && assumption_text_.empty()) {
      proof_.kind = Kind::Conditional, proof_.condition = "the bounds of its operands are right",
      proof_.has_assumed_bounds = true;
      return;
    }
    if (is_proven_by_bounds) {
      proof_.kind = Kind::Conditional, proof_.condition = assumption_text_;
      return;
    }
    if (specs.empty()) return;
    RuleProof refuted = proof_;
    for (const RuleCondition& c : candidate_conditions(*specs[0])) {
      proof_.num_instances = 0, proof_.sense = {}, proof_.has_floats = false, proof_.reason = {};
      if (std::ranges::all_of(specs, [&](const Rule* s) { return prove_symbolic_instances(*s, &c); })) {
        proof_.kind = Kind::Conditional, proof_.condition = c.text;
        if (!assumption_text_.empty()) proof_.condition += ", " + assumption_text_;
        proof_.before = refuted.before, proof_.after = refuted.after, proof_.reason = {};
        return;
      }
      if (refuted.reason.empty()) refuted.reason = "even if " + c.text + ": " + proof_.reason;
    }
    proof_ = refuted;
  }

 public:
  bool works_on_vectors() const { return works_on_vectors_; }

 private:
  const Rule& rule_;
  ProofCache& cache_;
  const RuleLimits limits_;
  RuleProof proof_;
  std::string assumption_text_;
  size_t num_open_ = 0, num_applied_ = 0, num_decided_ = 0;
  bool works_on_vectors_ = false, is_symbolic_ = false;
};

}  // namespace

bool is_value_rule(const Rule& rule) {
  return !rule.left->ops.empty() && ops::Elementwise.contains_all(rule.left->ops) && has_values_only(rule) &&
         !rule.is_ctx_changed;
}

bool is_rewrite(const Rule& rule) { return rule.list_foldings != nullptr && !rule.function; }

RuleProof prove_rule(const Rule& rule, ProofCache& cache, const RuleLimits& limits) {
  auto begin = Clock::now();
  RuleProof out{.rule = &rule};
  if (!is_value_rule(rule)) return out.kind = Kind::Structural, out;
  RuleProver prover(rule, cache, limits);
  if (auto proof = catch_failures([&] { return prover.run(); })) out = *proof;
  else out.reason = proof.diag().message.substr(0, 200);
  if (out.kind == Kind::Unknown && !out.num_instances && prover.works_on_vectors()) {
    out = {.rule = &rule};
    out.kind = Kind::Structural;
  }
  constexpr size_t kRandomInstances = 300;
  if ((out.kind == Kind::Instances || out.kind == Kind::Unknown) && !rule.is_ctx_used)
    refute_rule(rule, kRandomInstances, out);
  out.proof_seconds = seconds_since(begin);
  return out;
}

}  // namespace tgc
