#include <algorithm>

#include "lib/prove/live_rules.h"
#include "lib/prove/node_values.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

constexpr size_t kMaxListedInstances = 12;
constexpr const char* kVerdicts[] = {"proven",  "instances", "conditional", "sampled",
                                     "refuted", "unknown",   "structural",  "no instance"};

std::string special_values_text(const LiveRuleProof& r) {
  if (!r.special_counterexample.empty()) return ", but not where " + point_text(r.special_counterexample);
  if (!r.zero_sign_inputs.empty())
    return ", but the sign of zero may differ, e.g. where " + point_text(r.zero_sign_inputs);
  if (r.has_floats && r.sense == FloatSense::ButNan) return ", but the payload of a NaN may differ";
  return "";
}

}  // namespace

std::string live_rule_text(const LiveRuleProof& r) {
  std::string out = r.rule_location + (r.function_name.empty() ? "" : " (" + r.function_name + ")") + ": " + r.verdict;
  const bool is_conditional = r.verdict == "conditional";
  if (is_conditional) out += condition_text(r.condition, r.counterexample);
  if (r.num_instances)
    out += (is_conditional ? "; there, " : ", ") + std::to_string(r.num_proven) + " of " +
           count_text(r.num_instances, "instance") + " proven";
  if (r.num_untried) out += " (no time for " + std::to_string(r.num_untried) + " more)";
  if (r.num_general_proofs) out += ", and for all values of its operands";
  if (r.has_ignored_fp8) out += " but fp8";
  if (r.has_floats) out += ", " + std::string(name_of(r.sense));
  if (r.verdict != "refuted") out += special_values_text(r);
  if (!r.counterexample.empty() && !is_conditional) out += ": " + point_text(r.counterexample);
  else if (!r.reason.empty()) out += ": " + r.reason;
  out += "\n";
  if (!r.missing_cases.empty())
    out += "  right in all instances, but not proven for all operands: " + r.missing_cases + "\n";
  if (!r.unreached_lines.empty()) out += "  not tested, since no instance runs them: lines " + r.unreached_lines + "\n";
  for (size_t i = 0; i < std::min(r.all_instances.size(), kMaxListedInstances); i++) {
    const LiveInstance& one = r.all_instances[i];
    out += "  " + one.verdict + ": " + one.before + " -> " + one.after;
    out += (one.leaf_facts.empty() ? "" : "  with " + one.leaf_facts) + "\n";
  }
  if (r.all_instances.size() > kMaxListedInstances)
    out += "  ... " + std::to_string(r.all_instances.size()) + " in all; --json has each\n";
  if (!r.before.empty()) out += "  " + r.before + "\n  -> " + r.after + "\n";
  for (const std::string& line : r.before_nodes) out += "    -   " + line + "\n";
  for (const std::string& line : r.after_nodes) out += "    +   " + line + "\n";
  return out + r.program.text();
}

std::string live_rules_summary(const std::vector<LiveRuleProof>& all) {
  auto counts = [&](auto&& is_counted) {
    std::string out;
    for (const char* verdict : kVerdicts)
      if (auto n = std::ranges::count_if(all, [&](auto& r) { return r.verdict == verdict && is_counted(r); }))
        out += (out.empty() ? ": " : ", ") + std::to_string(n) + " " + verdict;
    return out + "\n";
  };
  const auto values = size_t(std::ranges::count(all, true, &LiveRuleProof::has_value_root));
  std::string out = count_text(all.size(), "rule") + counts([](auto&) { return true; });
  if (values && values < all.size())
    out += "of these, " + std::to_string(values) + " of values" + counts([](auto& r) { return r.has_value_root; });
  return out;
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
            json.member("rule", r.rule_location);
            if (!r.function_name.empty()) json.member("function", r.function_name);
            json.member("verdict", r.verdict).member("instances", r.num_instances);
            if (r.num_untried) json.member("untried", r.num_untried);
            json.member("proven", r.num_proven)
                .member("general", r.num_general_proofs)
                .member("values", r.has_value_root);
            if (r.has_ignored_fp8) json.member("without_fp8", true);
            json.member("floats", r.has_floats ? name_of(r.sense) : std::string_view("none"));
            if (!r.condition.empty()) json.member("condition", r.condition);
            if (!r.reason.empty()) json.member("why", r.reason);
            if (!r.before.empty()) json.member("before", r.before).member("after", r.after);
            if (!r.counterexample.empty()) json.member("counterexample", r.counterexample);
            if (!r.special_counterexample.empty()) json.member("special", r.special_counterexample);
            if (!r.zero_sign_inputs.empty()) json.member("zeros", r.zero_sign_inputs);
            if (!r.missing_cases.empty()) json.member("limit", r.missing_cases);
            if (!r.unreached_lines.empty()) json.member("unreached_lines", r.unreached_lines);
            if (!r.before_nodes.empty()) json.member("before_nodes", r.before_nodes);
            if (!r.after_nodes.empty()) json.member("after_nodes", r.after_nodes);
            r.program.add_members(json);
            if (r.all_instances.empty()) return;
            json.key("list").array([&] {
              for (const LiveInstance& one : r.all_instances)
                json.object([&] {
                  json.member("before", one.before).member("after", one.after);
                  json.member("leaves", one.leaf_facts).member("verdict", one.verdict);
                });
            });
          });
      });
    });
  });
}

std::string live_rules_table(const std::vector<LiveRuleProof>& all, const std::string& producer) {
  std::string out = "# Verdicts of `tgc prove --rules --live` for " + producer + "\n";
  out += "Written with `--write-table`; [lib/prove](../lib/prove/README.md) says what the verdicts mean.\n\n";
  out += live_rules_summary(all);
  out += "\n| rule | verdict | instances | floats | counterexample or reason |\n|---|---|---|---|---|\n";
  for (const LiveRuleProof& r : all) {
    if (r.verdict == "structural" || r.verdict == "no instance") continue;
    std::string detail = r.counterexample.empty() ? r.reason : point_text(r.counterexample);
    if (detail.empty() && !r.missing_cases.empty()) detail = "not proven for all operands: " + r.missing_cases;
    if (!r.unreached_lines.empty())
      detail += (detail.empty() ? "" : "; ") + std::string("no instance runs lines ") + r.unreached_lines;
    if (const std::string more = special_values_text(r); !more.empty() && r.counterexample.empty())
      detail += (detail.empty() ? "" : "; ") + more.substr(2);
    for (size_t at = 0; (at = detail.find('|', at)) != detail.npos; at += 2) detail.insert(at, "\\");
    out += "| " + r.rule_location + " | " + r.verdict + " | " + std::to_string(r.num_instances) + " | " +
           (r.has_floats ? std::string(name_of(r.sense)) : "") + " | " + detail + " |\n";
  }
  return out;
}

}  // namespace tgc
