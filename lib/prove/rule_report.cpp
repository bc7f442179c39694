#include <algorithm>

#include "lib/prove/node_values.h"
#include "lib/prove/prove_rules.h"
#include "lib/support/json_writer.h"
#include "lib/compilation/rewrite_log.h"

namespace tgc {

using Kind = RuleProof::Kind;

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::Proven: return "proven";
    case Kind::Conditional: return "conditional";
    case Kind::Refuted: return "refuted";
    case Kind::Instances: return "instances";
    case Kind::Structural: return "structural";
    case Kind::Unknown: return "unknown";
  }
  return "";
}

std::string_view sense_name(const RuleProof& r) {
  if (!r.has_floats) return "none";
  return name_of(r.sense);
}

std::string rule_proof_text(const RuleProof& r) {
  std::string out = std::string(r.rule->name) + ": " + std::string(name_of(r.kind));
  const bool is_conditional = r.kind == Kind::Conditional;
  if (is_conditional) out += condition_text(r.condition, r.counterexample);
  if (r.num_instances) out += (is_conditional ? "; there, " : ", ") + std::to_string(r.num_instances) + " instances";
  if (r.has_floats && r.num_instances) out += ", " + std::string(sense_name(r));
  if (r.has_assumed_bounds) out += ", by bounds";
  if (r.is_by_specification) out += ", by specification";
  if (!r.reason.empty()) out += ": " + r.reason;
  if (!r.counterexample.empty() && !is_conditional) out += ", " + point_text(r.counterexample);
  out += "  " + location_of_rule(*r.rule) + "\n";
  if (!r.before.empty()) out += r.before + "\n  ->\n" + r.after + "\n";
  return out;
}

std::string rule_proofs_summary(const std::vector<RuleProof>& all) {
  std::string out = std::to_string(all.size()) + " rules";
  for (Kind kind : {Kind::Proven, Kind::Conditional, Kind::Refuted, Kind::Instances, Kind::Unknown, Kind::Structural})
    if (auto n = std::ranges::count(all, kind, &RuleProof::kind))
      out += ", " + std::to_string(n) + " " + std::string(name_of(kind));
  return out + "\n";
}

std::string rule_proofs_json(const std::vector<RuleProof>& all) {
  return json_text([&](JsonWriter& json) {
    json.object([&] {
      auto count = [&](Kind kind) { return std::ranges::count(all, kind, &RuleProof::kind); };
      json.member("rules", all.size()).member("proven", count(Kind::Proven));
      json.member("conditional", count(Kind::Conditional)).member("refuted", count(Kind::Refuted));
      json.member("instances", count(Kind::Instances)).member("structural", count(Kind::Structural));
      json.member("unknown", count(Kind::Unknown));
      json.key("list").array([&] {
        for (const RuleProof& r : all)
          json.object([&] {
            json.member("rule", r.rule->name).member("set", r.rule->rule_set_name).member("verdict", name_of(r.kind));
            json.member("location", location_of_rule(*r.rule)).member("instances", r.num_instances);
            json.member("floats", sense_name(r));
            if (!r.condition.empty()) json.member("condition", r.condition);
            if (r.has_assumed_bounds) json.member("by_bounds", true);
            if (r.is_by_specification) json.member("by_specification", true);
            if (!r.reason.empty()) json.member("why", r.reason);
            if (!r.before.empty()) json.member("before", r.before).member("after", r.after);
            if (!r.counterexample.empty()) json.member("counterexample", r.counterexample);
            if (!r.special_inputs.empty()) json.member("special", r.special_inputs);
            json.key("seconds").number(r.proof_seconds, "%.3f");
          });
      });
    });
  });
}

}  // namespace tgc
