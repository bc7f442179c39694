#include "lib/prove/mutants.h"

#include <doctest/doctest.h>

#include <map>

namespace tgc {
namespace {

using namespace pat;
using Kind = RuleProof::Kind;

bool is_unit(UOp c) { return c.arg().to_const().to_int() == 1; }
bool is_positive(UOp c) { return c.arg().to_const().to_int() > 0; }

class Mutants {
 public:
  explicit Mutants(const Rule& rule) {
    for (Mutant& m : mutants_of(rule)) all_.emplace(m.what, m);
  }
  // Returns the verdict of the mutant; Structural if there is none.
  Kind verdict(const std::string& what) {
    auto it = all_.find(what);
    return it == all_.end() ? Kind::Structural : prove_rule(it->second.rule, cache_).kind;
  }

 private:
  std::map<std::string, Mutant> all_;
  ProofCache cache_;
};

TEST_CASE("mutants: errors of each kind are refuted, right mutants are not") {
  static const RuleSet set("test", {
      rule("mask", x.of(dtypes::int32) % c, x & fold(c - 1), when<is_unit>(c)),
      rule("less", (x.of(dtypes::index) + c) < c, x < 0, when<is_positive>(c)),
      rule("self", x.of(dtypes::ints) / x, const_like(x, 1)),
  });
  for (const Rule* r : set.rules()) {
    ProofCache cache;
    INFO(r->name);
    CHECK(prove_rule(*r, cache).kind != Kind::Refuted);
  }
  Mutants mask(*set.rules()[0]), less(*set.rules()[1]), self(*set.rules()[2]);
  CHECK(mask.verdict("guard is_unit(c) dropped") == Kind::Refuted);
  CHECK(mask.verdict("guard is_unit(c) negated") == Kind::Refuted);
  CHECK(mask.verdict("right side: AND becomes OR") == Kind::Refuted);
  CHECK(mask.verdict("right side: AND becomes its source 0") == Kind::Refuted);
  CHECK(mask.verdict("right side.1: constant plus 1") == Kind::Refuted);
  CHECK(mask.verdict("left side: MOD becomes IDIV") == Kind::Refuted);
  CHECK(less.verdict("guard is_positive(c) dropped") == Kind::Proven);  // it is right for all c
  CHECK(less.verdict("right side: operands of CMPLT exchanged") == Kind::Refuted);
  CHECK(self.verdict("left side: any node for the second x") == Kind::Refuted);
  CHECK(self.verdict("right side: constant minus 1") == Kind::Refuted);
}

}  // namespace
}  // namespace tgc
