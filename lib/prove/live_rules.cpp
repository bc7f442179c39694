#include "lib/prove/live_rules.h"

#include <algorithm>
#include <unordered_map>

#include "lib/compilation/pipeline.h"
#include "lib/import/import_sides.h"
#include "lib/prove/instance_of.h"
#include "lib/prove/node_values.h"
#include "lib/prove/proof_time.h"
#include "lib/prove/right_sides.h"
#include "lib/prove/rule_sides.h"
#include "lib/prove/side_text.h"
#include "lib/rewrite/rewrite.h"
#include "lib/support/deadline.h"
#include "lib/text/graph_json.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

std::string shortened_first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

constexpr std::string_view kFunctionMark = "function:";  // in a recording, precedes the name of a rule's function
constexpr std::string_view kUnreachedMark = "unreached:";
constexpr std::string_view kReasonMark = "because:";

std::string word_after(const std::string& words, std::string_view key) {
  const size_t at = words.find(key);
  return at == words.npos ? "" : words.substr(at + key.size(), words.find(' ', at) - at - key.size());
}

// in a recording, marks a rule with LiveRuleProof::has_double_rounding
constexpr std::string_view kDoubleRoundingMark = "rounds-twice";

constexpr double kRuleSeconds = 30;
constexpr size_t kMaxShownSidesLength = 160;
constexpr size_t kMaxSplitBools = 3;     // most bools whose two values are decided separately (decide_cases)
// a high ProofLimits::max_expanded_nodes, because both sides contain the guards of the rule
constexpr size_t kMaxExpandedNodes = 250;
// number of instances to evaluate at NaN and infinities even if the time is over
constexpr size_t kMinSpecialTrials = 4;
constexpr size_t kMaxSpecialSearches = 24;  // number of proven instances up to which find_special_values() is called

class LiveRulesProver {
 public:
  LiveRulesProver(const Settings& settings, std::string producer, const LiveRuleOptions& options, ProofCache& cache)
      : producer_(std::move(producer)),
        max_refuted_(options.max_refuted),
        lists_instances_(options.lists_instances),
        importer_(settings),
        prover_(importer_.graph(), {}, cache, {.max_expanded_nodes = kMaxExpandedNodes}) {}

  // `general` has the sides of the rule with unknown values in place of all operands.
  void decide_rule(LiveRuleProof& rule, std::span<const Rewrite*> instances, std::span<const Rewrite* const> general) {
    if (instances.empty()) return (void)(rule.verdict = "no instance");
    move_refuted_first(instances);
    rule.verdict = "structural";
    size_t open = 0, sampled = 0, number = 0;
    std::vector<const Rewrite*> undecided, weak;
    for (const Rewrite* m : instances) {
      if (rule.num_instances && is_time_over()) break;
      number++;
      SidePairs pairs;
      auto proof = catch_failures([&] { return decide_instance(*m, pairs, general); });
      const bool is_decided = proof && (proof->kind == Kind::Proven || proof->kind == Kind::Refuted);
      if (is_time_over() && rule.num_instances && !is_decided) {
        number--;
        break;
      }
      if (proof && pairs.empty()) {
        list_instance(rule, *m, pairs, "structural");
        continue;
      }
      if (proof && proof->kind == Kind::Sampled && is_nan_of_constants(pairs)) {
        rule.has_floats = true, rule.sense = std::max(rule.sense, FloatSense::Finite);
        list_instance(rule, *m, pairs, "a NaN of constants");
        find_special_values(rule, pairs);
        continue;
      }
      rule.num_instances++;
      if (!proof) proof = RewriteProof{.reason = shortened_first_line(proof.diag().message)};
      if (proof->kind == Kind::Unknown && is_time_over()) proof->reason = "there was no time to decide it";
      if (proof->kind == Kind::Refuted) {
        const auto point = proof->counterexample;
        classify_refutation(rule, pairs, *proof);
        const bool is_conditional = proof->kind == Kind::Proven || proof->kind == Kind::Sampled;
        if (is_conditional && rule.conditional_instances.size() < max_refuted_)
          rule.conditional_instances.emplace_back(graph_json_of(*m), point);
      }
      list_instance(rule, *m, pairs, verdict_text(*proof));
      const Kind kind = proof->kind;
      if (kind == Kind::Proven) {
        rule.num_proven++;
        rule.has_floats |= proof->has_floats, rule.sense = std::max(rule.sense, proof->sense);
        const bool is_weak = proof->has_floats && proof->sense > FloatSense::ButNan;
        if (is_weak) weak.push_back(m);
        if (is_weak && weak.size() <= kMinSpecialTrials && is_refuted_by_specials(rule, {&m, 1})) return;
        const bool is_exact = !proof->has_floats || proof->sense < FloatSense::ButNan;
        if (!is_exact && rule.num_proven <= kMaxSpecialSearches) find_special_values(rule, pairs);
        continue;
      }
      open += kind == Kind::Unknown, sampled += kind == Kind::Sampled;
      undecided.push_back(m);
      const bool is_first = (rule.reason.empty() && rule.condition.empty()) || (kind == Kind::Unknown && open == 1);
      if (is_first || kind == Kind::Refuted) {
        rule.reason = proof->reason, rule.counterexample = proof->counterexample;
        set_shown_sides(rule, pairs);
      }
      if (kind == Kind::Refuted) {
        rule.refuted_instances.emplace_back(graph_json_of(*m), proof->counterexample);
        add_refuted(rule, instances.subspan(number));
        return (void)(rule.verdict = "refuted");
      }
    }
    if (number < instances.size()) rule.num_untried = instances.size() - number;
    // include instances that are proven in a weak sense: a float may be finite on one side only
    undecided.insert(undecided.end(), weak.begin(), weak.end());
    if (rule.num_instances == 0 || is_refuted_by_specials(rule, undecided)) return;
    rule.verdict = open                      ? "unknown"
                   : !rule.condition.empty() ? "conditional"
                   : sampled                 ? "sampled"
                                             : "instances";
  }

  // If all instances of the rule are proven, tries to prove its sides with unknown values in place of operands.
  void prove_general_sides(LiveRuleProof& rule, std::span<const Rewrite* const> sides) {
    if (rule.verdict != "instances" || sides.empty()) return;
    for (const Rewrite* m : sides) {
      if (is_time_over()) {
        rule.missing_cases = "there was no time for all of its dtypes and ops";
        return (void)(rule.num_general_proofs = 0);
      }
      SidePairs pairs;
      auto proof = catch_failures([&] { return decide_instance(*m, pairs); });
      const bool is_open = proof && !pairs.empty() && proof->kind != Kind::Proven && proof->kind != Kind::Refuted;
      if (is_open && has_node_where(pairs, [](UOp u) { return dtypes::fp8s.contains(u.dtype()); })) {
        rule.has_ignored_fp8 = true;
        continue;
      }
      if (!proof || proof->kind != Kind::Proven) {
        rule.missing_cases = "with unknown values in place of operands and constants, " +
                     (!proof                         ? shortened_first_line(proof.diag().message)
                      : pairs.empty()                ? "the sides have no values to compare"
                      : proof->kind == Kind::Sampled ? "the sides are equal at sample points only"
                      : proof->kind == Kind::Refuted ? "the sides differ, perhaps where the rule does not apply"
                                                     : proof->reason);
        if (!pairs.empty()) {
          std::string sides = text_of(pairs[0].before) + " -> " + text_of(pairs[0].after);
          if (sides.size() <= kMaxShownSidesLength) rule.missing_cases += ": " + sides;
        }
        return (void)(rule.num_general_proofs = 0);
      }
      rule.num_general_proofs++;
      rule.has_floats |= proof->has_floats, rule.sense = std::max(rule.sense, proof->sense);
    }
    if (rule.num_general_proofs == 0) return;
    rule.verdict = "proven", rule.missing_cases.clear();
    if (rule.has_double_rounding) rule.has_floats = true, rule.sense = std::max(rule.sense, FloatSense::Rounding);
  }

 private:
  // Returns a bool that chooses a value in the sides and is read from memory.
  static UOp loaded_condition_in(const SidePairs& pairs) {
    for (const RewriteSides& s : pairs)
      for (UOp side : {s.before, s.after})
        for (UOp u : toposort(side))
          if (u.is(Op::WHERE) && u.src(0).in({Op::LOAD, Op::INDEX})) return u.src(0);
    return {};
  }

  // Decides the sides separately for false and true in place of each of up to `most` loaded bools that choose a value.
  RewriteProof decide_cases(const SidePairs& pairs, size_t most) {
    const UOp choice = loaded_condition_in(pairs);
    if (!choice || most == 0) return prover_.decide_sides(pairs);
    RewriteProof out{.kind = Kind::Proven};
    for (bool value : {false, true}) {
      const Substitution of_choice{{choice, graph().constant(dtypes::bool_, value)}};
      SidePairs one;
      for (const RewriteSides& s : pairs)
        one.push_back({substitute(s.before, of_choice), substitute(s.after, of_choice), s.tolerance});
      const RewriteProof proof = decide_cases(one, most - 1);
      if (proof.kind != Kind::Proven) return proof;
      out.has_floats |= proof.has_floats, out.sense = std::max(out.sense, proof.sense);
    }
    return out;
  }

  Graph& graph() { return importer_.graph(); }

  static std::string verdict_text(const RewriteProof& proof) {
    switch (proof.kind) {
      case Kind::Proven: return proof.has_floats ? "proven, " + std::string(name_of(proof.sense)) : "proven";
      case Kind::Sampled: return "sampled";
      case Kind::Refuted: return "refuted";
      case Kind::Unknown: break;
    }
    return "unknown: " + proof.reason;
  }
  void list_instance(LiveRuleProof& rule, const Rewrite& m, const SidePairs& pairs, std::string verdict) const {
    if (!lists_instances_) return;
    const UOp before = pairs.empty() ? m.before : pairs[0].before, after = pairs.empty() ? m.after : pairs[0].after;
    rule.all_instances.push_back({text_of(before), text_of(after), leaf_bounds_text(before), std::move(verdict)});
  }

  void find_special_values(LiveRuleProof& rule, const SidePairs& pairs) {
    if (!rule.special_counterexample.empty()) return;
    auto found = prover_.special_counterexample(pairs);
    if (differs_in_zero_sign(found))
      rule.zero_sign_inputs = rule.zero_sign_inputs.empty() ? std::move(found) : rule.zero_sign_inputs;
    else rule.special_counterexample = std::move(found);
  }
  // Returns true if the left side is a float expression of constants whose value is NaN or infinite, and the right side
  // differs.
  bool is_nan_of_constants(const SidePairs& pairs) {
    if (pairs.size() != 1 || !dtypes::is_float(pairs[0].before.dtype())) return false;
    const auto point = prover_.special_counterexample(pairs);
    const auto before = point.find("before");
    return point.size() == 2 && before != point.end() && is_nan_or_infinity(*before);
  }
  static bool differs_in_zero_sign(const std::map<std::string, std::string>& point) {
    auto is_zero = [&](const char* side) {
      const auto it = point.find(side);
      return it != point.end() && (it->second == "0.0" || it->second == "-0.0");
    };
    return is_zero("before") && is_zero("after");
  }
  static bool is_nan_or_infinity(const std::pair<const std::string, std::string>& value) {
    return value.second.ends_with("nan") || value.second.ends_with("inf");
  }
  std::string graph_json_of(const Rewrite& m) const { return graph_to_json(m.before, {.producer = producer_}); }

  bool is_refuted_by_specials(LiveRuleProof& rule, std::span<const Rewrite* const> undecided) {
    for (size_t tried = 0; const Rewrite* m : undecided) {
      if (rule.has_context || rule.refuted_instances.size() >= max_refuted_ ||
          (tried++ >= kMinSpecialTrials && is_time_over()))
        break;
      const SidePairs pairs = sides_of(*m);
      RewriteProof proof;
      proof.counterexample = difference_of_specials(pairs);
      if (!proof.counterexample.empty()) proof.kind = Kind::Refuted, classify_refutation(rule, pairs, proof);
      if (proof.kind != Kind::Refuted) continue;
      rule.refuted_instances.emplace_back(graph_json_of(*m), proof.counterexample);
      if (rule.refuted_instances.size() > 1) continue;
      rule.verdict = "refuted", rule.counterexample = proof.counterexample;
      set_shown_sides(rule, pairs);
    }
    return !rule.refuted_instances.empty();
  }

  // Moves the instances that REF refutes, at points found without Z3, to the front.
  void move_refuted_first(std::span<const Rewrite*> instances) {
    size_t num_wrong = 0;
    for (const Rewrite*& m : instances) {
      if (is_time_over()) return;
      const auto is_wrong = catch_failures([&] {
        const SidePairs pairs = sides_of(*m);
        return !pairs.empty() && evaluate_sides(pairs, {}, false).kind == Kind::Refuted;
      });
      if (is_wrong && *is_wrong) std::swap(m, instances[num_wrong++]);
    }
  }

  void add_refuted(LiveRuleProof& rule, std::span<const Rewrite* const> instances) {
    for (const Rewrite* m : instances) {
      if (rule.refuted_instances.size() >= max_refuted_ || is_time_over()) return;
      (void)catch_failures([&] {
        SidePairs pairs = sides_of(*m);
        LiveRuleProof copy;  // classify_refutation() writes to this copy, not to `rule`
        RewriteProof proof = pairs.empty() ? RewriteProof{} : evaluate_with_definedness(pairs);
        if (proof.kind == Kind::Refuted) classify_refutation(copy, pairs, proof);
        if (proof.kind == Kind::Refuted) rule.refuted_instances.emplace_back(graph_json_of(*m), proof.counterexample);
        return Unit{};
      });
    }
  }

  static void set_shown_sides(LiveRuleProof& rule, const SidePairs& pairs) {
    if (pairs.empty()) return;
    const RewriteSides& s = pairs[0];
    rule.before = text_of(s.before), rule.after = text_of(s.after);
    rule.before_nodes.clear(), rule.after_nodes.clear();
    const auto a = rule.counterexample.find("before"), b = rule.counterexample.find("after");
    if (a == rule.counterexample.end() || b == rule.counterexample.end()) return;
    rule.before_nodes = node_values(s.before, rule.counterexample, a->second);
    rule.after_nodes = node_values(s.after, rule.counterexample, b->second);
  }

  // `proof` refutes an instance. If its counterexample does not show that the rule is wrong, changes the kind of
  // `proof`: to Unknown, or to the kind under a condition, which is then stored in `rule`.
  void classify_refutation(LiveRuleProof& rule, const SidePairs& pairs, RewriteProof& proof) {
    auto set_unknown = [&](std::string why) {
      proof.kind = Kind::Unknown, proof.reason = std::move(why), proof.counterexample.clear();
    };
    if (rule.has_context) return set_unknown("its sides differ, but the rule reads a context or tags");
    if (proof.counterexample["before"] == "Invalid") {
      const bool are_indices = pairs[0].before.dtype().scalar().is(Scalar::Index);
      if (!are_indices)
        return add_condition(rule, pairs, proof, decide_valid_sides(pairs),
                             "nothing is stored where the value is Invalid");
      SidePairs numbers;  // casts of the indices: where the left one is Invalid, the right one may have any value
      for (const RewriteSides& s : pairs)
        numbers.push_back({s.before.cast(dtypes::int64), s.after.cast(dtypes::int64)});
      return add_condition(rule, pairs, proof, decide_valid_sides(numbers),
                           "nothing is read or stored at an Invalid index");
    }
    if (has_node_where(pairs, is_float_of_bits))
      return set_unknown("its sides differ, perhaps in the payload of a NaN alone");
    SidePairs restricted;
    for (const RewriteSides& s : pairs) {
      if (!dtypes::is_int(s.before.dtype()) && !dtypes::is_bool(s.before.dtype())) return;
      const UOp a = no_overflow_condition(s.before, true, false), b = no_overflow_condition(s.after, true, false);
      const UOp when = a && b ? a & b : a ? a : b;
      if (!when || when.is_const()) return;
      const UOp zero = s.before.const_like(0);
      restricted.push_back({when.where(s.before, zero), when.where(s.after, zero)});
    }
    // the condition is only for overflows, and not for a NaN or an infinity
    if (std::ranges::any_of(proof.counterexample, is_nan_or_infinity)) return;
    add_condition(rule, pairs, proof, decide_valid_sides(restricted), "no integer overflows");
  }

  // `under` is the proof under `condition` of an instance that `proof` refutes. If it is proven or sampled, adds the
  // condition to `rule`, and changes the kind of `proof`.
  void add_condition(LiveRuleProof& rule, const SidePairs& pairs, RewriteProof& proof, const RewriteProof& under,
                     const char* condition) {
    if (under.kind != Kind::Proven && under.kind != Kind::Sampled) return;
    if (rule.condition.empty()) {
      rule.condition = condition, rule.counterexample = proof.counterexample;
      set_shown_sides(rule, pairs);
    } else if (rule.condition.find(condition) == std::string::npos) {
      rule.condition += std::string(" and ") + condition;
    }
    proof.kind = under.kind, proof.has_floats = under.has_floats, proof.sense = under.sense;
  }

  // Decides the sides, and whether the right one is Invalid where the left one is: a store of Invalid does nothing.
  RewriteProof decide_with_invalid(const SidePairs& pairs) {
    RewriteProof proof = decide_valid_sides(pairs);
    const SidePairs sides = invalid_sides(pairs);
    if (sides.empty() || proof.kind == Kind::Refuted || proof.kind == Kind::Unknown) return proof;
    RewriteProof invalid = decide_valid_sides(sides);
    if (invalid.kind == Kind::Refuted) invalid.counterexample["after"] = "a value";
    return invalid.kind == Kind::Proven ? proof : invalid;
  }

  // Decides the sides where the left one is not an Invalid value.
  RewriteProof decide_valid_sides(const SidePairs& pairs) {
    RewriteProof proof = prover_.decide_sides(pairs);
    if (proof.kind == Kind::Unknown) proof = evaluate_with_definedness(pairs, std::move(proof));
    if (proof.kind == Kind::Proven || proof.kind == Kind::Refuted || !loaded_condition_in(pairs)) return proof;
    RewriteProof by_cases = decide_cases(pairs, kMaxSplitBools);
    return by_cases.kind == Kind::Proven ? by_cases : proof;
  }

  // Refutes sides that are equal in REF if `after` is undefined at a point at which `before` is defined. Prefers points
  // at which `before` is not 0: devices often compute 0 where C leaves a result undefined. Skips pairs whose `after`
  // casts floats to integers.
  void refute_where_undefined(const SidePairs& pairs, RewriteProof& proof) {
    for (bool of_any_value : {false, true}) {
      SidePairs changed;  // where only `after` is undefined, it becomes 0 or, with of_any_value, other than `before`
      for (const RewriteSides& s : pairs) {
        const UOp is_right = defined_condition(s.after);
        if (is_right.is_const() || has_node_where(s.after, is_cast_of_float)) continue;
        const UOp zero = s.before.const_like(0), is_zero = s.before.ne(zero).logical_not();
        const UOp other = of_any_value ? is_zero.where(s.before.const_like(1), zero) : zero;
        changed.push_back({s.before, (defined_condition(s.before).logical_not() | is_right).where(s.before, other)});
      }
      if (changed.empty()) return;
      RewriteProof found = evaluate_sides(changed);
      if (found.kind != Kind::Refuted) continue;
      proof = std::move(found);
      proof.counterexample["after"] = "undefined";
      return;
    }
  }

  // Evaluates the sides in REF. Also refutes sides of which only `after` is undefined at some point.
  RewriteProof evaluate_with_definedness(const SidePairs& pairs, RewriteProof proof = {}) {
    proof = evaluate_sides(pairs, std::move(proof));
    if (proof.kind == Kind::Sampled) refute_where_undefined(pairs, proof);
    return proof;
  }
  RewriteProof evaluate_sides(const SidePairs& pairs, RewriteProof proof = {}, bool asks_z3 = true) {
    RewriteProof* open = &proof;
    const SidePairs* sides = &pairs;
    prover_.evaluate_open_rewrites({&open, 1}, {&sides, 1}, asks_z3);
    return proof;
  }

  // Returns a point at which the sides differ in every sense of floats: integers or bools differ for a NaN or an
  // infinity, or a float is finite on one side and too large for a narrower dtype on the other.
  std::map<std::string, std::string> difference_of_specials(const SidePairs& pairs) {
    auto any = [&](auto is) { return std::ranges::any_of(pairs, [&](const RewriteSides& s) { return is(s.before); }); };
    auto has_narrowing = [](UOp root) { return has_node_where(root, is_float_narrowing); };
    const bool is_of_floats = any([](UOp u) { return dtypes::is_float(u.dtype()); });
    if (is_of_floats && !any(has_narrowing)) return {};
    auto found = prover_.special_counterexample(pairs);
    auto is_result = [](auto& value) { return value.first == "before" || value.first == "after"; };
    const auto specials = std::ranges::count_if(found, is_nan_or_infinity);
    const auto results = std::ranges::count_if(found, [&](auto& v) { return is_nan_or_infinity(v) && is_result(v); });
    if (is_of_floats ? results != 1 || specials != 1 : specials <= results) found.clear();
    return found;
  }

  // Returns the pairs of nodes to compare; none if the sides cannot be imported or compared.
  SidePairs sides_of(const Rewrite& m) {
    SidePairs out;
    if (const auto both = importer_.import(m.before, m.after))
      for (auto [before, after] : both->pairs) out.push_back({before, after, both->tolerance});
    return out;
  }

  static bool is_proven(const RewriteProof& proof) { return proof.kind == Kind::Proven; }

  RewriteProof decide_instance(const Rewrite& m, SidePairs& pairs, std::span<const Rewrite* const> general = {}) {
    pairs = sides_of(m);
    if (pairs.empty()) return {};
    if (const auto known = general_proofs_.find(&m); known != general_proofs_.end() && is_proven(known->second))
      return known->second;
    const auto of = std::ranges::find_if(general, [&](const Rewrite* g) { return is_instance_of(m, *g); });
    // the unknown values of general sides have 64 bits
    if (of == general.end() || has_node_where(pairs, is_index_over_64_bits)) return decide_with_invalid(pairs);
    const auto [known, is_new] = general_proofs_.try_emplace(*of);
    if (is_new) {
      SidePairs sides;
      if (auto proof = catch_failures([&] { return decide_instance(**of, sides); })) known->second = *proof;
    }
    return is_proven(known->second) ? known->second : decide_with_invalid(pairs);
  }

  const std::string producer_;
  const size_t max_refuted_;
  const bool lists_instances_;
  SidesImporter importer_;
  SidesProver prover_;
  std::unordered_map<const Rewrite*, RewriteProof> general_proofs_;
};

}  // namespace

std::vector<LiveRuleProof> prove_live_rules(const InputGraph& in, ProofCache& cache, const LiveRuleOptions& options) {
  const auto pipeline = make_recorded_pipeline(in);
  // at a rule's location, its instances; at "LOCATION*", its sides with unknown values in place of all operands
  std::map<std::string, std::vector<const Rewrite*>> instances;
  const auto rows = pipeline->rows().value_or_throw();
  for (const Pipeline::StageData& row : rows)
    for (const Rewrite& m : row.rewrites) instances[std::string(m.source_location)].push_back(&m);
  LiveRulesProver prover(in.graph->settings(), in.info.producer, options, cache);
  std::vector<LiveRuleProof> out;
  const StopScope stop(options.should_stop);
  const auto num_rules = std::ranges::count_if(in.record->metadata, [](auto& m) { return !m.name.empty(); });
  for (const GoldenMetadata& m : in.record->metadata) {
    if (m.name.empty()) continue;
    if (options.on_begin) options.on_begin(m.name, out.size() + 1, size_t(num_rules));
    LiveRuleProof& rule = out.emplace_back(LiveRuleProof{.rule_location = m.name, .verdict = {}});
    rule.function_name = word_after(m.call_place, kFunctionMark),
    rule.unreached_lines = word_after(m.call_place, kUnreachedMark);
    rule.has_value_root = m.call_place.find("values") != m.call_place.npos;
    rule.has_context = m.call_place.find("context") != m.call_place.npos;
    rule.has_double_rounding = m.call_place.find(kDoubleRoundingMark) != m.call_place.npos;
    const size_t because = m.call_place.find(kReasonMark);
    if (because != m.call_place.npos) rule.missing_cases = m.call_place.substr(because + kReasonMark.size());
    const DeadlineScope limit(options.limit_seconds.value_or(0));
    const double work = options.limit_seconds ? std::numeric_limits<double>::infinity() : kRuleSeconds;
    const ProcessorTimeLimit of_rule(work);
    {
      const ProcessorTimeLimit of_instances(work / 2);
      auto done = catch_failures([&] {
        prover.decide_rule(rule, instances[m.name], instances[m.name + "*"]);
        return Unit{};
      });
      if (!done) rule.verdict = "unknown", rule.reason = shortened_first_line(done.diag().message);
    }
    prover.prove_general_sides(rule, instances[m.name + "*"]);
    if (rule.verdict != "instances") rule.missing_cases.clear();
    if (rule.verdict == "proven" || rule.verdict == "refuted") rule.unreached_lines.clear();
    if (StopScope::is_stopped()) throw Failure("cancelled");
    if (options.on_rule) options.on_rule(rule);
  }
  return out;
}

std::string missing_rules_error(const InputGraph& in) {
  for (const GoldenMetadata& m : in.record->metadata)
    if (m.name.empty()) return m.call_place;
  return "";
}

}  // namespace tgc
