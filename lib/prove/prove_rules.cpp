#include "lib/prove/prove_rules.h"

#include <algorithm>
#include <random>

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

// Values of all sizes for the memories of an instance: data1, data2, ...
Arrays memories_of(UOp before) {
  Arrays out;
  std::mt19937_64 random(1);
  for (UOp u : toposort(before)) {
    if (!u.is(Op::DEFINE_GLOBAL)) continue;
    DType d = u.dtype().base();
    Array a(d, {64});
    for (int64_t i = 0; i < 64; i++) {
      uint64_t bits = random(), small = random() % 9;
      if (dtypes::is_bool(d)) bits &= 1;
      else if (i % 2) bits = i % 4 == 1 ? small : uint64_t(0) - small;
      if (d.is(Scalar::Float32)) a.as<float>()[size_t(i)] = float(int64_t(random() % 4001) - 2000) / 16;
      else if (d.is(Scalar::Float64)) a.as<double>()[size_t(i)] = double(int64_t(random() % 4001) - 2000) / 16;
      else if (d.is(Scalar::Float16) || d.is(Scalar::BFloat16)) {
        double v = double(int64_t(random() % 401) - 200) / 16;
        a.as<uint16_t>()[size_t(i)] = d.is(Scalar::Float16) ? float_to_half_bits(v) : float_to_bf16_bits(float(v));
      } else std::memcpy(a.data() + i * d.itemsize(), &bits, size_t(d.itemsize()));
    }
    out.push_back({"data" + std::to_string(u.arg().small_int()), std::move(a)});
  }
  return out;
}

bool is_structural(const Rule& rule) {
  return rule.left->ops.empty() || !ops::Elementwise.contains_all(rule.left->ops);
}

class RuleProver {
 public:
  RuleProver(const Rule& rule, ProofCache& cache, RuleProof& out)
      : rule_(rule), cache_(cache), out_(out), matcher_({&rule}) {}

  // Returns whether all instances were made and decided before the deadline.
  bool run(bool symbolic, double most_seconds) {
    auto begin = Clock::now();
    RuleInstances instances(rule_, symbolic);
    for (size_t i = 0; i < kMostInstances; i++) {
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
      decide(graph, *before, after);
      if (out_.kind == Kind::Refuted) return true;
    }
    return false;
  }

 private:
  static constexpr size_t kMostInstances = 3000;

  UOp apply(UOp before, bool symbolic, const RuleInstances& instances) {
    if (symbolic) {
      Match match{before, instances.captured().data(), nullptr, nullptr};
      return apply_rule(rule_, match);
    }
    Hit hit;
    return matcher_.rewrite(before, nullptr, nullptr, hit);
  }

  void decide(Graph& graph, UOp before, UOp after) {
    std::map<int64_t, int64_t> sizes;
    for (UOp u : toposort(before))
      if (u.is(Op::DEFINE_GLOBAL)) sizes[u.arg().small_int()] = 64;
    SideIsolator isolator(graph, sizes);
    const Sides sides{before, after};
    SideExpressions e = isolator.of(sides);
    bool proven = e.kind == SideExpressions::Kind::Same || !e.values.empty();
    std::string why =
        e.kind == SideExpressions::Kind::Unlike ? "the sides have different dtypes" : "no values to compare";
    Prover prover(isolator.isolator(), cache_, {.rlimit = 300'000});
    for (const ComparedValues& v : e.values) {
      ProofOutcome one = prover.prove(v);
      if (one.kind != ProofOutcome::Kind::Proven) {
        proven = false, why = one.why;
        break;
      }
      out_.has_floats |= one.has_floats;
      out_.sense = std::max(out_.sense, one.sense);
    }
    if (proven) {
      out_.instances++;
      return;
    }
    auto results = compare_sides({&sides, 1}, memories_of(before), {}, 1);
    const bool differs =
        results && (*results)[0].kind == EquivalenceResult::Kind::Differ && (*results)[0].beyond_rounding;
    if (differs || out_.why.empty()) {
      out_.before = describe(before), out_.after = describe(after), out_.why = why;
      if (!results) out_.why += ", and REF cannot evaluate them: " + results.diag().message;
    }
    if (!differs) return;
    out_.kind = Kind::Refuted;
    out_.counterexample = (*results)[0].point;
    out_.counterexample["before"] = (*results)[0].before, out_.counterexample["after"] = (*results)[0].after;
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

RuleProof prove_rule(const Rule& rule, ProofCache& cache, double most_seconds) {
  auto begin = Clock::now();
  RuleProof out{.rule = &rule};
  if (is_structural(rule)) return out.kind = Kind::Structural, out;
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
            json.key("seconds").number(r.seconds, "%.3f");
          });
      });
    });
  });
}

}  // namespace tgc
