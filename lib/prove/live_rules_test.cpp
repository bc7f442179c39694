#include "lib/prove/live_rules.h"

#include <doctest/doctest.h>

using namespace tgc;

namespace {

LiveRuleProof proof() {
  LiveRuleProof r{.rule_location = "uop/symbolic.py:1", .verdict = "proven"};
  r.num_instances = r.num_proven = 14, r.num_general_proofs = 3;
  return r;
}

}  // namespace

TEST_CASE("live rules: a rule that is wrong in the sign of zero says so") {
  LiveRuleProof r = proof();
  r.has_floats = true, r.sense = FloatSense::Real;
  r.zero_sign_inputs = {{"data1", "-0.0"}, {"before", "0.0"}, {"after", "-0.0"}};
  CHECK(live_rule_text(r).find("but the sign of zero may differ, e.g. where data1 = -0.0") != std::string::npos);
  r.zero_sign_inputs.clear(), r.sense = FloatSense::ButNan;
  CHECK(live_rule_text(r).find("but the payload of a NaN may differ") != std::string::npos);
  r.sense = FloatSense::Exact;
  CHECK(live_rule_text(r).find(" but ") == std::string::npos);
}

TEST_CASE("live rules: a conditional rule is said to be wrong elsewhere, before its proofs are counted") {
  LiveRuleProof r = proof();
  r.verdict = "conditional", r.condition = "no integer overflows", r.num_general_proofs = 0;
  r.counterexample = {{"data1", "1"}, {"data2", "7"}, {"before", "3"}, {"after", "-4"}};
  CHECK(live_rule_text(r) ==
        "uop/symbolic.py:1: conditional: right only if no integer overflows; for data1 = 1, data2 = 7 it gives -4 in "
        "place of 3; there, 14 of 14 instances proven\n");
}

TEST_CASE("live rules: the report lists instances, and why no more is proven") {
  LiveRuleProof r = proof();
  r.verdict = "instances", r.num_general_proofs = 0, r.missing_cases = "it looks at the op of 'x'", r.num_untried = 5;
  for (int i = 0; i < 14; i++) r.all_instances.push_back({"(data1[1]+0)", "data1[1]", "data1 int", "proven"});
  const std::string text = live_rule_text(r), json = live_rules_json({r});
  const std::string limit = "right in all instances, but not proven for all operands: it looks at the op of 'x'";
  CHECK(text.find(limit) != std::string::npos);
  CHECK(text.find("no time for 5 more") != std::string::npos);
  CHECK(text.find("  proven: (data1[1]+0) -> data1[1]  with data1 int\n") != std::string::npos);
  CHECK(text.find("... 14 in all; --json has each") != std::string::npos);
  size_t listed = 0;
  for (size_t at = 0; (at = json.find("\"leaves\"", at)) != json.npos; at++) listed++;
  CHECK(listed == 14);
  CHECK(live_rules_table({r}, "tinygrad").find("not proven for all operands: it looks at the op") != std::string::npos);
}
