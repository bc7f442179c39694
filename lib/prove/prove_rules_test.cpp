#include "lib/prove/prove_rules.h"

#include <doctest/doctest.h>

#include "lib/rules/rule_catalog.h"

namespace tgc {
namespace {

using namespace pat;
using Kind = RuleProof::Kind;

UOp twice(UOp x) { return x * Const(2); }
bool is_small(UOp c) { return c.arg().as_int() < 4; }

TEST_CASE("prove_rule: right and wrong rules of integers") {
  static const RuleSet set("test", {
      rule("right", x.of(dtypes::int32) + 0, x),
      rule("wrong-constant", x.of(dtypes::int32) + 1, x),
      rule("wrong-quotient", (x.of(dtypes::index) / 4) * 4, x),
      rule("right-constants", (x.of(dtypes::index) + c1) + c2, x + (c1 + c2)),
      rule("guarded", x.of(dtypes::int32) * c, x * c, when<is_small>(c)),
      rule("needs-sign", x.of(dtypes::int32) / 4, x >> 2),
      rule("overflows", (x.of(dtypes::int32) + 1) < (y + 1), x < y),
      rule("products", (x.of(dtypes::index) * c1.scalar()) * c2.scalar(), x * fold(c1 * c2)),
      rule("function", x.of(dtypes::int32) + x, with<twice>(x)),
      rule("structural", node(Op::GROUP, x), x),
      rule("not-bit-exact", x.of(dtypes::float32) + 0, x),
  });
  static const RuleSet other("other test", {
      rule("wrong-operand", (x.of(dtypes::index) + c1) + c2, x + (c1 + c1)),
  });
  ProofCache cache;
  std::map<std::string_view, RuleProof> all;
  for (const RuleSet* s : {&set, &other})
    for (const Rule* r : s->rules()) all[r->name] = prove_rule(*r, cache);
  CHECK(all["right"].kind == Kind::Proven);
  CHECK(all["wrong-constant"].kind == Kind::Refuted);
  CHECK(all["wrong-constant"].counterexample.contains("before"));
  CHECK(all["wrong-quotient"].kind == Kind::Refuted);
  CHECK(all["right-constants"].kind == Kind::Proven);
  CHECK(all["wrong-operand"].kind == Kind::Refuted);
  CHECK(all["structural"].kind == Kind::Structural);
  CHECK(all["guarded"].kind != Kind::Proven);
  CHECK(all["needs-sign"].kind == Kind::Conditional);
  CHECK(all["needs-sign"].condition == "x >= 0");
  CHECK(all["needs-sign"].counterexample.contains("before"));
  CHECK(all["overflows"].kind == Kind::Conditional);
  CHECK(all["overflows"].condition == "no integer overflows");
  CHECK(all["products"].kind == Kind::Proven);
  CHECK(all["function"].kind == Kind::Instances);
  const std::string text = rule_proof_text(all["overflows"]);
  CHECK(text.find("conditional: right only if no integer overflows; for data1 = ") != std::string::npos);
  CHECK(text.find(" in place of ") < text.find("; there, "));
  CHECK(rule_proofs_json({all["right"]}).find("\"proven\":1") != std::string::npos);
  CHECK(all["not-bit-exact"].sense == FloatSense::ButNan);
  CHECK(rule_proofs_json({all["not-bit-exact"]}).find("\"special\":{\"after\":\"-0.0\"") != std::string::npos);
}

TEST_CASE("prove_rule: rules have the verdicts of the table") {
  ProofCache cache;
  size_t number = 0;
  for (const CatalogRule& r : catalog_rules()) {
    if (!is_rewrite(*r.rule) || !ops::Elementwise.contains_all(r.rule->left->ops) || number++ % 29) continue;
    INFO(describe(*r.rule));
    CHECK(name_of(prove_rule(*r.rule, cache).kind) == rule_verdict(*r.rule));
  }
}

}  // namespace
}  // namespace tgc
