// RandomInstances makes nodes that the pattern of a rule matches, with small random expressions for its names, and
// random constants.
#pragma once
#include <random>

#include "lib/prove/prove_rules.h"
#include "lib/prove/rule_instances.h"

namespace tgc {

class RandomInstances : public RuleInstances {
 public:
  RandomInstances(const Rule& rule, uint64_t seed) : RuleInstances(rule, false), random_engine_(seed) {}
  // Makes the next instance. Returns the empty UOp if the random choices make no valid node.
  UOp make_instance(Graph& graph);

 protected:
  size_t pick_alternative(size_t n) override { return random_engine_() % n; }
  UOp make_leaf(DType d) override { return make_expression(d, int(random_engine_() % 3)); }
  Const make_number(DType d) override;

 private:
  UOp make_expression(DType d, int depth);
  bool draw_one_in(size_t n) { return random_engine_() % n == 0; }

  std::mt19937_64 random_engine_;
  std::vector<Int> rule_constants_;
};

// Evaluates up to `count` random instances of the rule in REF. If the sides of one differ, sets out.kind to Refuted,
// and adds the instance and the counterexample.
void refute_rule(const Rule& rule, size_t count, RuleProof& out);

}  // namespace tgc
