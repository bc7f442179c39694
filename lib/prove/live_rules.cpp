#include "lib/prove/live_rules.h"

#include <algorithm>

#include "lib/compilation/pipeline.h"
#include "lib/import/import_sides.h"
#include "lib/support/json_writer.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

// Returns whether the node has a constant, of which the instances are only some.
bool has_constant(UOp root) {
  return std::ranges::any_of(toposort(root), [](UOp u) { return u.is(Op::CONST); });
}

std::string text_of(UOp u) {
  constexpr size_t kMost = 400;
  std::string out = render(u);
  return out.size() > kMost ? out.substr(0, kMost) + "..." : out;
}

std::string counterexample_text(const std::map<std::string, std::string>& values) {
  std::string out;
  for (auto& [name, value] : values) out += (out.empty() ? "" : ", ") + name + " = " + value;
  return out;
}

constexpr const char* kVerdicts[] = {"proven", "refuted", "instances", "unknown", "structural"};

}  // namespace

std::vector<LiveRuleProof> prove_live_rules(const InputGraph& in, ProofCache& cache) {
  const auto pipeline = recorded_pipeline(in);
  SidesImporter importer(in.graph->settings());
  SidesProver prover(importer.graph(), {}, cache);
  std::vector<LiveRuleProof> out;
  std::map<std::string, size_t> of;  // index of `out` by place
  auto rule_at = [&](const std::string& place) -> LiveRuleProof& {
    auto [it, is_new] = of.try_emplace(place, out.size());
    if (is_new) out.push_back({.place = place, .verdict = "structural"});
    return out[it->second];
  };
  for (const GoldenMetadata& m : in.record->metadata) (void)rule_at(m.name);
  for (const Pipeline::Row& row : pipeline->rows().value_or_throw())
    for (const Rewrite& m : row.rewrites) {
      LiveRuleProof& rule = rule_at(m.place);
      if (rule.verdict == "refuted") continue;
      auto both = importer.import(m.before, m.after);
      if (!both || both->pairs.empty()) continue;
      SidePairs pairs;
      for (auto [before, after] : both->pairs) pairs.push_back({before, after, both->tolerance});
      RewriteProof proof = prover.decide(pairs);
      if (proof.kind == Kind::Unknown) {
        RewriteProof* open = &proof;
        const SidePairs* sides = &pairs;
        prover.sample({&open, 1}, {&sides, 1});
      }
      rule.instances++, rule.proven += proof.kind == Kind::Proven;
      if (rule.verdict == "structural") rule.verdict = "proven";
      if (proof.kind == Kind::Proven) {
        rule.has_floats |= proof.has_floats, rule.sense = std::max(rule.sense, proof.sense);
        if (rule.verdict == "proven" && has_constant(pairs[0].before)) rule.verdict = "instances";
        continue;
      }
      rule.verdict = proof.kind == Kind::Refuted ? "refuted" : "unknown";
      rule.before = text_of(pairs[0].before), rule.after = text_of(pairs[0].after);
      rule.why = proof.why, rule.counterexample = proof.counterexample;
    }
  return out;
}

std::string live_rules_text(const std::vector<LiveRuleProof>& all) {
  std::string out;
  for (const LiveRuleProof& r : all) {
    if (r.verdict == "structural") continue;
    out += r.place + ": " + r.verdict + ", " + std::to_string(r.proven) + " of " + std::to_string(r.instances) +
           " instances";
    if (r.has_floats) out += ", " + std::string(name_of(r.sense));
    if (!r.counterexample.empty()) out += ": " + counterexample_text(r.counterexample);
    else if (!r.why.empty()) out += ": " + r.why;
    out += "\n";
    if (!r.before.empty()) out += "  " + r.before + "\n  -> " + r.after + "\n";
  }
  out += std::to_string(all.size()) + " rules";
  for (const char* verdict : kVerdicts)
    if (auto n = std::ranges::count(all, verdict, &LiveRuleProof::verdict))
      out += ", " + std::to_string(n) + " " + verdict;
  return out + "\n";
}

std::string live_rules_json(const std::vector<LiveRuleProof>& all) {
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      json.member("rules", all.size());
      for (const char* verdict : kVerdicts)
        json.member(verdict, std::ranges::count(all, verdict, &LiveRuleProof::verdict));
      json.key("list").array([&] {
        for (const LiveRuleProof& r : all)
          json.object([&] {
            json.member("rule", r.place).member("verdict", r.verdict).member("instances", r.instances);
            json.member("floats", r.has_floats ? name_of(r.sense) : std::string_view("none"));
            if (!r.why.empty()) json.member("why", r.why);
            if (!r.before.empty()) json.member("before", r.before).member("after", r.after);
            if (!r.counterexample.empty()) json.member("counterexample", r.counterexample);
          });
      });
    });
  });
}

std::string live_rules_table(const std::vector<LiveRuleProof>& all, const std::string& producer) {
  std::string out = "# Rules of " + producer + "\n\n" +
                    "| rule | verdict | instances | floats | counterexample or reason |\n|---|---|---|---|---|\n";
  for (const LiveRuleProof& r : all) {
    if (r.verdict == "structural") continue;
    std::string detail = r.counterexample.empty() ? r.why : counterexample_text(r.counterexample);
    for (size_t at = 0; (at = detail.find('|', at)) != detail.npos; at += 2) detail.insert(at, "\\");
    out += "| " + r.place + " | " + r.verdict + " | " + std::to_string(r.instances) + " | " +
           (r.has_floats ? std::string(name_of(r.sense)) : "") + " | " + detail + " |\n";
  }
  return out;
}

}  // namespace tgc
