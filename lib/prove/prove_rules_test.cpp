#include "lib/prove/prove_rules.h"

#include <doctest/doctest.h>

namespace tgc {
namespace {

using namespace pat;
using Kind = RuleProof::Kind;

bool is_small(UOp c) { return c.arg().as_int() < 4; }

TEST_CASE("prove_rule: right and wrong rules of integers") {
  static const RuleSet set("test", {
      rule("right", x.of(dtypes::int32) + 0, x),
      rule("wrong-constant", x.of(dtypes::int32) + 1, x),
      rule("wrong-quotient", (x.of(dtypes::index) / 4) * 4, x),
      rule("right-constants", (x.of(dtypes::index) + c1) + c2, x + (c1 + c2)),
      rule("wrong-operand", (x.of(dtypes::index) + c1) + c2, x + (c1 + c1)),
      rule("guarded", x.of(dtypes::int32) * c, x * c, when<is_small>(c)),
      rule("structural", node(Op::GROUP, x), x),
  });
  ProofCache cache;
  std::map<std::string_view, RuleProof> all;
  for (const Rule* r : set.rules()) all[r->name] = prove_rule(*r, cache);
  CHECK(all["right"].kind == Kind::Proven);
  CHECK(all["wrong-constant"].kind == Kind::Refuted);
  CHECK(all["wrong-constant"].counterexample.contains("before"));
  CHECK(all["wrong-quotient"].kind == Kind::Refuted);
  CHECK(all["right-constants"].kind == Kind::Proven);
  CHECK(all["wrong-operand"].kind == Kind::Refuted);
  CHECK(all["structural"].kind == Kind::Structural);
  CHECK(all["guarded"].kind != Kind::Proven);
  CHECK(rule_proofs_json({all["right"]}).find("\"proven\":1") != std::string::npos);
}

}  // namespace
}  // namespace tgc
