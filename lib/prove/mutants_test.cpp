#include "lib/prove/mutant_verdicts.h"

#include <doctest/doctest.h>

#include <map>

#include "lib/prove/prove_rules.h"
#include "lib/compilation/rewrite_log.h"

namespace tgc {
namespace {

using namespace pat;
using Kind = RuleProof::Kind;

bool is_unit(UOp c) { return c.arg().to_const().to_int() == 1; }
bool is_positive(UOp c) { return c.arg().to_const().to_int() > 0; }

class Mutants {
 public:
  explicit Mutants(const Rule& rule) {
    for (RuleMutant& m : mutants_of_rule(rule)) all_.emplace(m.change_text, m);
  }
  Kind verdict(const std::string& what) {
    auto it = all_.find(what);
    return it == all_.end() ? Kind::Structural : prove_rule(it->second.rule, cache_).kind;
  }

 private:
  std::map<std::string, RuleMutant> all_;
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
  CHECK(less.verdict("guard is_positive(c) dropped") == Kind::Proven);  // the rule is right for all c
  CHECK(less.verdict("right side: operands of CMPLT exchanged") == Kind::Refuted);
  CHECK(self.verdict("left side: any node for the second x") == Kind::Refuted);
  CHECK(self.verdict("right side: constant minus 1") == Kind::Refuted);
}

MutantReport report_of(const std::string& name, const std::string& what) {
  const Rule* rule = nullptr;
  for (const CatalogRule& r : catalog_rules())
    if (r.rule->name == name) rule = r.rule;
  REQUIRE(rule);
  return prove_mutants({.name_filters = {name + "  " + location_of_rule(*rule) + "  " + what}},
                       [](const std::string&) {});
}

TEST_CASE("mutants: rules that stay right are equivalent, another dtype is not") {
  static const RuleSet set("test", {rule("equal", x.of(dtypes::bool_) != y, x ^ y)});
  Mutants equal(*set.rules()[0]);
  CHECK(equal.verdict("left side: any dtype for x:bool") == Kind::Refuted);
  CHECK(report_of("commutative-order", "guard out_of_order(y, x) negated").num_equivalent == 1);
  CHECK(report_of("not-and-not", "right side: CMPNE becomes CMPLT").num_equivalent == 1);
}

TEST_CASE("mutants: errors of single floats are refuted beside the rule") {
  // the mutant turns a NaN with the bits 0x7f810001 into an infinity
  CHECK(report_of("float-to-bf16", "right side.0.0.0.2.1: OR becomes XOR").num_refuted_beside_rule == 1);
}

}  // namespace
}  // namespace tgc
