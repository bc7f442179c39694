#include "lib/prove/prove_rules.h"

#include <algorithm>

#include "lib/prove/counterexample.h"
#include "lib/prove/random_instances.h"
#include "lib/prove/rule_instances.h"
#include "lib/rewrite/matcher.h"
#include "lib/rewrite/rewrite.h"
#include "lib/rules/rule_sources.h"
#include "lib/support/clocks.h"
#include "lib/support/json_writer.h"
#include "lib/trace/applications.h"
#include "lib/validate/side_expressions.h"

namespace tgc {
namespace {

using Kind = RuleProof::Kind;

class RuleProver {
 public:
  RuleProver(const Rule& rule, ProofCache& cache, RuleProof& out)
      : rule_(rule), cache_(cache), out_(out), matcher_({&rule}) {}

  // Returns whether all instances were made and decided before the deadline.
  bool run(bool symbolic, double most_seconds) {
    constexpr size_t kSampled = 100;  // REF evaluates so many instances before Z3 is asked
    RuleProof before_sampling = out_;
    (void)decide_all(symbolic, most_seconds, kSampled, true);
    if (out_.kind == Kind::Refuted) return true;
    out_ = before_sampling;
    return decide_all(symbolic, most_seconds, kMostInstances, false);
  }

 private:
  static constexpr size_t kMostInstances = 3000;

  bool decide_all(bool symbolic, double most_seconds, size_t most, bool only_sampled) {
    auto begin = Clock::now();
    RuleInstances instances(rule_, symbolic);
    for (size_t i = 0; i < most; i++) {
      if (seconds_since(begin) > most_seconds) return false;
      Graph graph;
      std::optional<UOp> before;
      UOp after;
      // A choice may make a node that the graph or the rule refuses.
      auto made = catch_failures([&] {
        before = instances.next(graph);
        if (before && *before) after = apply(*before, symbolic, instances);
        return true;
      });
      if (made && !before) return true;
      if (!made || !*before || !after || after == *before) continue;
      decide(graph, *before, after, only_sampled);
      if (out_.kind == Kind::Refuted) return true;
    }
    return false;
  }

  UOp apply(UOp before, bool symbolic, const RuleInstances& instances) {
    if (symbolic) {
      Match match{before, instances.captured().data(), nullptr, nullptr};
      return apply_rule(rule_, match);
    }
    Hit hit;
    return matcher_.rewrite(before, nullptr, nullptr, hit);
  }

  // Proves or refutes an instance. With `only_sampled`, does nothing if REF computes the same at a few points.
  void decide(Graph& graph, UOp before, UOp after, bool only_sampled) {
    std::map<int64_t, int64_t> sizes;
    for (UOp u : toposort(before))
      if (u.is(Op::DEFINE_GLOBAL)) sizes[u.arg().small_int()] = 64;
    SideIsolator isolator(graph, sizes);
    const Sides sides{before, after};
    SideExpressions e = isolator.of(sides);
    bool proven = e.kind == SideExpressions::Kind::Same || !e.values.empty();
    std::string why =
        e.kind == SideExpressions::Kind::Unlike ? "the sides have different dtypes" : "no values to compare";
    std::optional<Counterexample> found;
    if (only_sampled && !(found = find_counterexample(isolator, sides, 0))) return;
    Prover prover(isolator.isolator(), cache_, {.rlimit = 300'000});
    // Floats may differ by rounding alone, so Z3 is asked first.
    if (found && !dtypes::is_float(before.dtype())) why = "REF computes different values", proven = false;
    for (size_t i = 0; i < e.values.size() && proven; i++) {
      const ComparedValues& v = e.values[i];
      ProofOutcome one = prover.prove(v);
      if (one.kind != ProofOutcome::Kind::Proven) {
        proven = false, why = one.why;
        continue;
      }
      out_.has_floats |= one.has_floats;
      out_.sense = std::max(out_.sense, one.sense);
      if (one.sense >= FloatSense::Finite && out_.special.empty())
        if (auto found = find_special_counterexample(isolator.isolator(), v)) out_.special = found->point;
    }
    if (proven) {
      out_.instances++;
      return;
    }
    if (!found) found = find_counterexample(isolator, sides);
    if (found || out_.why.empty()) out_.before = describe(before), out_.after = describe(after), out_.why = why;
    if (!found) return;
    out_.kind = Kind::Refuted;
    out_.counterexample = found->point;
  }

  const Rule& rule_;
  ProofCache& cache_;
  RuleProof& out_;
  const Matcher matcher_;
};

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::Proven: return "proven";
    case Kind::Refuted: return "refuted";
    case Kind::Instances: return "instances";
    case Kind::Structural: return "structural";
    case Kind::Unknown: return "unknown";
  }
  return "";
}

bool is_value_rule(const Rule& rule) {
  return !rule.left->ops.empty() && ops::Elementwise.contains_all(rule.left->ops);
}

RuleProof prove_rule(const Rule& rule, ProofCache& cache, double most_seconds) {
  auto begin = Clock::now();
  RuleProof out{.rule = &rule};
  if (!is_value_rule(rule)) return out.kind = Kind::Structural, out;
  if (rule.uses_ctx) return out.why = "the rule reads the context of its rewrite", out;
  bool symbolic = has_constants(rule) && takes_symbolic_constants(rule);
  bool is_whole = RuleProver(rule, cache, out).run(symbolic, most_seconds / 2);
  if (symbolic && out.kind == Kind::Unknown && !out.why.empty()) {  // some constants may be decided where all are not
    out = {.rule = &rule}, symbolic = false;
    is_whole = RuleProver(rule, cache, out).run(symbolic, most_seconds / 2);
  }
  const bool is_general = right_kind(rule) == RightKind::Algebra && (symbolic || !has_constants(rule));
  if (out.kind != Kind::Refuted && out.why.empty()) {
    if (!out.instances) out.why = "no instance of the pattern could be made";
    else out.kind = is_whole && is_general ? Kind::Proven : Kind::Instances;
  }
  constexpr size_t kRandomInstances = 300;
  if (out.kind == Kind::Instances || out.kind == Kind::Unknown) refute_rule(rule, kRandomInstances, out);
  out.seconds = seconds_since(begin);
  return out;
}

namespace {

std::string_view sense_name(const RuleProof& r) {
  if (!r.has_floats) return "none";
  return r.sense <= FloatSense::Exact ? "bit-exact" : r.sense == FloatSense::Finite ? "but-nan" : "reals";
}

}  // namespace

std::string rule_proofs_text(const std::vector<RuleProof>& all) {
  std::string out;
  std::map<std::string_view, size_t> counts;
  for (const RuleProof& r : all) {
    counts[name_of(r.kind)]++;
    if (r.kind == Kind::Structural) continue;
    out += std::string(r.rule->name) + ": " + std::string(name_of(r.kind));
    if (r.instances) out += ", " + std::to_string(r.instances) + " instances";
    if (r.has_floats && r.instances) out += ", " + std::string(sense_name(r));
    if (r.kind == Kind::Unknown) out += ": " + r.why;
    for (auto& [name, value] : r.counterexample) out += ", " + name + " = " + value;
    out += "  " + location_of(*r.rule) + "\n";
    if (!r.before.empty()) out += r.before + "\n  ->\n" + r.after + "\n";
  }
  out += std::to_string(all.size()) + " rules";
  for (auto& [name, n] : counts) out += ", " + std::to_string(n) + " " + std::string(name);
  return out + "\n";
}

std::string rule_proofs_json(const std::vector<RuleProof>& all) {
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      auto count = [&](Kind kind) { return std::ranges::count(all, kind, &RuleProof::kind); };
      json.member("rules", all.size()).member("proven", count(Kind::Proven)).member("conditional", 0);
      json.member("refuted", count(Kind::Refuted)).member("instances", count(Kind::Instances));
      json.member("structural", count(Kind::Structural)).member("unknown", count(Kind::Unknown));
      json.key("list").array([&] {
        for (const RuleProof& r : all)
          json.object([&] {
            json.member("rule", r.rule->name)
                .member("verdict", name_of(r.kind))
                .member("location", location_of(*r.rule));
            json.member("instances", r.instances).member("floats", sense_name(r));
            if (!r.why.empty()) json.member("why", r.why);
            if (!r.before.empty()) json.member("before", r.before).member("after", r.after);
            if (!r.counterexample.empty()) json.member("counterexample", r.counterexample);
            if (!r.special.empty()) json.member("special", r.special);
            json.key("seconds").number(r.seconds, "%.3f");
          });
      });
    });
  });
}

}  // namespace tgc
