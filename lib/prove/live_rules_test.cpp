#include "lib/prove/live_rules.h"

#include <doctest/doctest.h>

#include "lib/prove/instance_of.h"
#include "lib/uop/graph.h"

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

TEST_CASE("live rules: an instance of sides that are proven for all operands") {
  Graph g;
  auto element = [&](int64_t number, DType d) {
    const UOp memory = g.node(Op::DEFINE_GLOBAL, d.ptr(16), {}, number);
    return memory.index_ptr(g.constant(dtypes::index, Const(int64_t(3)))).replace({.dtype = d});
  };
  auto sum = [&](UOp a, UOp b) { return Rewrite{.before = a + b, .after = b + a}; };
  const UOp x = element(1, dtypes::int32), y = element(2, dtypes::int32);
  const UOp a = element(3, dtypes::int32), b = element(4, dtypes::int32);
  CHECK(is_instance_of(sum(a * b, a), sum(x, y)));
  CHECK(is_instance_of(sum(a, a), sum(x, x)));
  CHECK_FALSE(is_instance_of(sum(a, b), sum(x, x)));
  CHECK_FALSE(is_instance_of(Rewrite{.before = a + b, .after = a + b}, sum(x, y)));
  CHECK_FALSE(is_instance_of(Rewrite{.before = x + x, .after = y}, Rewrite{.before = x + x, .after = x}));
  CHECK_FALSE(is_instance_of(sum(g.constant(dtypes::int32, Const::invalid()), a), sum(x, y)));
  // an int32 that is cast to an index does not have the values of all indices
  const UOp i = g.variable("i", Const(int64_t(0)), Const(int64_t(1) << 40)), wide = element(5, dtypes::int64);
  auto of_index = [&](UOp u) { return Rewrite{.before = u + u, .after = u * 2}; };
  CHECK(is_instance_of(of_index(i), of_index(wide.cast(dtypes::index))));
  CHECK_FALSE(is_instance_of(of_index(i), of_index(x.cast(dtypes::index))));
}
